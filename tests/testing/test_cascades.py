"""One fault is told once: what is open behind a violated rule waits for it, and needs no other."""

import datetime as dt

import pytest
from jsonschema import Draft202012Validator

from memproto import spec
from memproto.report import findings, merging
from memproto.testing import cascades
from memproto.testing.evidence import NotRecalled, Raised
from memproto.testing.needs import LATER, MORE, READ_BACK, DependsOn, depends_on, of_row
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.waivers import Book, Waiver
from tests.broken.marks import load_all
from tests.made_reports import built, judged, row

TURN = Result("MP-TURN-001", Outcome.FAIL, NotRecalled(texts=("My dog is Rex.",)), "a.py:3")
BEHIND = (DependsOn("MP-TURN-001", "violated"),)


def lost(requirement, *needs, outcome=Outcome.UNTESTABLE):
    return Result(requirement, outcome, reason="a fact was lost", needs=needs)


def resolved(*results):
    return cascades.resolved({item.id: item for item in results})


def passed(requirement):
    return Result(requirement, Outcome.PASS)


def test_an_open_result_that_rests_on_a_violated_rule_waits_for_it_and_needs_no_setting():
    found = lost("MP-RECALL-004", *depends_on("MP-TURN-001", "MP-WRITE-001"), *LATER)
    said = resolved(TURN, passed("MP-WRITE-001"), found)["MP-RECALL-004"]
    assert said.needs == BEHIND
    assert said.reason == "a fact was lost; waits for MP-TURN-001, which is violated"
    assert said.outcome is Outcome.UNTESTABLE


@pytest.mark.parametrize("outcome", [Outcome.UNTESTABLE, Outcome.INCONCLUSIVE])
def test_a_rule_behind_another_that_is_open_waits_for_the_last_in_the_row(outcome):
    between = lost("MP-INIT-001", *BEHIND, outcome=outcome)
    found = lost("MP-RECALL-004", DependsOn("MP-INIT-001", "untestable"))
    assert resolved(TURN, between, found)["MP-RECALL-004"].needs == BEHIND


def test_rules_that_wait_for_each_other_are_left_as_they_are():
    one = lost("MP-TURN-001", *depends_on("MP-WRITE-001"))
    other = lost("MP-WRITE-001", *depends_on("MP-TURN-001"))
    assert resolved(one, other) == {item.id: item for item in (one, other)}


def test_a_rule_by_which_a_check_ended_stands_before_one_on_which_it_rests():
    raised = Result("MP-TURN-002", Outcome.FAIL, TURN.evidence)
    ended = (*depends_on("MP-TURN-001"), DependsOn("MP-TURN-002", "violated"))
    said = resolved(TURN, raised, lost("MP-RECALL-004", *ended))["MP-RECALL-004"]
    assert said.needs == (DependsOn("MP-TURN-002", "violated"),)


def test_a_store_that_was_seen_to_be_fresh_in_time_needs_room_and_no_setting_that_waits_for_it():
    found = lost("MP-RECALL-004", *depends_on("MP-TURN-001", "MP-WRITE-001"), *LATER)
    away = Result("MP-WRITE-001", Outcome.NOT_APPLICABLE)
    assert resolved(passed("MP-TURN-001"), away, found)["MP-RECALL-004"].needs == MORE
    undecided = lost("MP-TURN-001")
    said = resolved(undecided, away, found)["MP-RECALL-004"]
    assert said.needs == (*depends_on("MP-TURN-001"), *LATER)


def test_a_setting_for_something_else_stays_where_no_rule_is_violated():
    found = lost("MP-DATA-001", *depends_on("MP-TURN-001"), *READ_BACK)
    assert resolved(passed("MP-TURN-001"), found)["MP-DATA-001"].needs == READ_BACK


def test_a_report_tells_the_rows_behind_a_rule_as_data():
    one = lost("MP-RECALL-004", *depends_on("MP-TURN-001"), *LATER)
    other = lost("MP-RECALL-005", *depends_on("MP-TURN-001"), *LATER)
    found = built(judged(MP_TURN_001=TURN, MP_RECALL_004=one, MP_RECALL_005=other))
    Draft202012Validator(spec.schema("report")).validate(found)
    assert found["reports"][0]["behind"] == {"MP-TURN-001": ["MP-RECALL-004", "MP-RECALL-005"]}
    said = row(found, "MP-RECALL-004")
    assert of_row(said) == BEHIND
    assert "settle" not in said["reason"]


def test_a_rule_that_most_wait_for_is_the_first():
    raised = Result("MP-SHUT-001", Outcome.FAIL, TURN.evidence)
    rows = [lost("MP-RECALL-004", *depends_on("MP-TURN-001"))]
    rows += [lost(f"MP-DATA-00{n}", DependsOn("MP-SHUT-001", "violated")) for n in (1, 2)]
    named = {item.id.replace("-", "_"): item for item in (TURN, raised, *rows)}
    assert [*built(judged(**named))["reports"][0]["behind"]] == ["MP-SHUT-001", "MP-TURN-001"]


def test_a_waiver_hides_no_fault_from_the_rules_behind_it():
    end = dt.date(2027, 1, 31)
    waiver = Waiver("MP-TURN-001", "soon", "#1", "me", end, "memproto.toml:1")
    book = Book(valid={"MP-TURN-001": waiver}, today=dt.date(2026, 11, 23))
    found = built(
        judged(
            MP_TURN_001=TURN,
            MP_RECALL_004=lost("MP-RECALL-004", *depends_on("MP-TURN-001")),
            waivers=book,
        )
    )
    assert row(found, "MP-TURN-001")["outcome"] == "waived"
    assert found["reports"][0]["behind"] == {"MP-TURN-001": ["MP-RECALL-004"]}
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("INCOMPLETE", 0)


def test_a_waiver_covers_nothing_that_is_open_for_another_reason():
    end = dt.date(2027, 1, 31)
    waiver = Waiver("MP-TURN-001", "soon", "#1", "me", end, "memproto.toml:1")
    book = Book(valid={"MP-TURN-001": waiver}, today=dt.date(2026, 11, 23))
    late = lost("MP-RECALL-004", *LATER)
    found = built(judged(MP_TURN_001=TURN, MP_RECALL_004=late, waivers=book))
    assert found["exit_code"] == 6


def test_shards_that_know_the_rule_and_what_waits_for_it_are_merged_with_both():
    one = built(judged(only=("MP-TURN",), MP_TURN_001=TURN), narrowed=True)
    late = lost("MP-RECALL-004", *depends_on("MP-TURN-001"), *LATER)
    other = built(judged(only=("MP-RECALL",), MP_RECALL_004=late), narrowed=True)
    assert other["reports"][0]["behind"] == {}
    merged = merging.merge([("one", one), ("other", other)]).document
    assert merged["reports"][0]["behind"] == {"MP-TURN-001": ["MP-RECALL-004"]}


# -- violations that follow from another one -------------------------------------------------------

GONE = NotRecalled(texts=("My cat is Tom.",))


def violated(requirement, seen=GONE, *, outcome=Outcome.FAIL, where="a.py:9 in A.f", **more):
    return Result(requirement, outcome, seen, where, **more)


def follows(*results):
    return {key: item.follows for key, item in resolved(*results).items() if item.follows}


def raised(requirement, where="a.py:9 in A.f", shown="ValueError('x')", **more):
    seen = Raised(hook="initialize", error="ValueError", shown=shown, who="initialize")
    return violated(requirement, seen, where=where, **more)


def test_a_missed_text_follows_from_the_violated_rule_by_which_it_should_have_come_back():
    missed = violated("MP-ISO-004", rests_on=("MP-TURN-001", "MP-TURN-003"))
    assert follows(TURN, missed) == {"MP-ISO-004": "MP-TURN-001"}
    assert follows(passed("MP-TURN-001"), missed) == {}


def test_a_rule_that_the_catalogue_entails_follows_over_any_number_of_others():
    missed = violated("MP-ISO-004", rests_on=("MP-TURN-003",))
    found = follows(missed, violated("MP-TURN-003", where="b.py:1 in B"), TURN)
    assert found == {"MP-TURN-003": "MP-TURN-001", "MP-ISO-004": "MP-TURN-001"}


def test_the_same_exception_of_the_same_line_is_one_fault_and_the_first_rule_its_root():
    one, other = raised("MP-SHUT-003"), raised("MP-SHUT-001")
    assert follows(one, other) == {"MP-SHUT-003": "MP-SHUT-001"}
    assert follows(one, raised("MP-SHUT-001", where="a.py:8 in A.f")) == {}
    assert follows(one, raised("MP-SHUT-001", shown="ValueError('y')")) == {}


def test_an_exception_that_one_hook_swallows_and_another_lets_out_is_one_fault():
    out = Raised(error="ValueError", shown="ValueError('x')", who="it", place="a.py:4 in insert")
    swallowed = ("ValueError('x')", "a.py:4 in insert", "a.py:6 in _work")
    found = follows(violated("MP-TURN-001", swallowed=swallowed), violated("MP-WRITE-002", out))
    assert found == {"MP-WRITE-002": "MP-TURN-001"}


def test_texts_that_are_missed_where_one_line_raised_what_was_swallowed_are_one_fault():
    swallowed = ("ValueError('x')", "a.py:4 in _work", "a.py:6 in _work")
    another = ("KeyError('x')", "a.py:5 in _work", "a.py:6 in _work")
    first = violated("MP-TURN-001", swallowed=swallowed)
    missed = violated("MP-TIME-002", swallowed=swallowed)
    assert follows(first, missed) == {"MP-TIME-002": "MP-TURN-001"}
    assert follows(first, violated("MP-TIME-002", swallowed=another)) == {}


def test_a_warning_is_the_root_of_no_failure():
    warned = violated("MP-TURN-001", outcome=Outcome.WARN)
    missed = violated("MP-ISO-004", rests_on=("MP-TURN-001",))
    assert follows(warned, missed) == {}
    assert follows(TURN, violated("MP-ISO-004", outcome=Outcome.WARN, rests_on=("MP-TURN-001",)))


def test_rules_that_name_each_other_have_one_root():
    one = violated("MP-TURN-001", rests_on=("MP-WRITE-001",))
    other = violated("MP-WRITE-001", rests_on=("MP-TURN-001",))
    assert len(follows(one, other)) == 1


def test_what_the_catalogue_entails_is_what_broken_providers_show_and_has_no_circle():
    shown = {(m.kills, key) for m in load_all().values() for key in m.also}
    known = spec.requirements()
    assert {(item.id, key) for item in known.values() for key in item.entails} == shown
    for start in known:
        seen, ahead = set(), list(known[start].entails)
        while ahead:
            seen.add(ahead.pop())
            ahead += [key for name in seen for key in known[name].entails if key not in seen]
        assert start not in seen


def test_merged_reports_say_what_follows_across_shards():
    document = built(judged(MP_TURN_001="fail", MP_TURN_003="fail"))
    assert row(document, "MP-TURN-003")["follows"] == "MP-TURN-001"
    rows = [{**item, "follows": None} for item in document["reports"][0]["results"]]
    (found,) = [x for x in cascades.resolved_rows(rows) if x["id"] == "MP-TURN-003"]
    assert found["follows"] == "MP-TURN-001"


def test_roots_stand_before_what_follows_and_the_one_that_hides_most_is_the_first():
    rows = built(judged(MP_SHUT_001="fail", MP_TURN_003="fail", MP_TURN_001="fail"))
    document = rows["reports"][0]["results"]
    waits = {"outcome": "untestable", "needs": [BEHIND[0].as_dict()]}
    hiding = [{**x, **waits} if x["id"] == "MP-RECALL-004" else x for x in document]
    assert [x["id"] for x in findings.in_order(hiding)] == [
        "MP-TURN-001",
        "MP-TURN-003",
        "MP-SHUT-001",
    ]
