"""memproto diff and the Markdown of reports: what changed, and that no text of a provider acts."""

import pytest

from memproto import cli, spec
from memproto.report import comparing
from memproto.report.formats import markdown
from memproto.testing.evidence import Differs
from memproto.testing.outcomes import Outcome, Result
from tests.made_reports import built, changed, judged, saved

RULE = "MP-TURN-002"


def compared(before: dict, after: dict, **facts) -> comparing.Comparison:
    return comparing.compare(built(judged(**before), **facts), built(judged(**after), **facts))


@pytest.mark.parametrize(
    ("before", "after", "kind", "is_worse"),
    [
        ("pass", "fail", "red", True),
        ("untestable", "fail", "red", True),
        ("waived", "fail", "red", True),
        ("fail", "kit_error", "changed", False),
        ("pass", "kit_error", "red", True),
        ("fail", "pass", "green", False),
        ("fail", "untestable", "changed", False),
        ("pass", "untestable", "changed", False),
        ("pass", "warn", "changed", False),
        ("warn", "pass", "changed", False),
    ],
)
def test_a_change_is_of_one_kind(before, after, kind, is_worse):
    found = compared({"MP_TURN_002": before}, {"MP_TURN_002": after})
    [change] = found.changes
    assert (change.id, change.kind) == (RULE, kind)
    assert (change.before, change.after) == (before, after)
    assert found.is_worse is is_worse


def test_a_class_that_is_lost_or_won_has_a_line_of_its_own():
    name = "provider " + built(judged())["reports"][0]["target"]
    fell = compared({"MP_TURN_003": "pass"}, {"MP_TURN_003": "fail"})
    assert fell.classes == {name: ("shared", "core")}
    assert f"{name}: class shared -> core" in comparing.as_text(fell).splitlines()
    assert "class shared -&#62; core" in markdown.comparison(fell)
    rose = compared({"MP_TURN_001": "fail"}, {"MP_TURN_001": "pass"})
    assert comparing.class_lines(rose) == [f"{name}: class none -> shared"]


def test_a_class_that_stays_and_a_narrowed_run_have_none():
    assert compared({"MP_TURN_003": "fail"}, {"MP_STORE_001": "fail"}).classes == {}
    old, new = built(judged()), built(judged(MP_TURN_003="fail"))
    assert comparing.compare(old, changed(new, selected=True)).classes == {}


def test_nothing_changed_where_the_outcomes_are_the_same():
    assert compared({"MP_TURN_002": "fail"}, {"MP_TURN_002": "fail"}).changes == []


def test_a_warning_is_red_in_a_strict_run():
    found = compared({}, {"MP_RECALL_005": "warn"}, strict=True)
    assert [change.kind for change in found.changes] == ["red"]
    assert compared({}, {"MP_RECALL_005": "warn"}).is_worse is False


def test_a_requirement_that_is_gone_makes_it_worse_and_a_new_one_does_not():
    old = built(judged())
    rows = [row for row in old["reports"][0]["results"] if row["id"] != RULE]
    new = changed(old, results=rows)
    gone, came = comparing.compare(old, new), comparing.compare(new, old)
    assert [(change.kind, change.id) for change in gone.changes] == [("disappeared", RULE)]
    assert [(change.kind, change.id) for change in came.changes] == [("appeared", RULE)]
    assert (gone.is_worse, came.is_worse) == (True, False)


def test_a_requirement_that_appears_red_makes_it_worse():
    new = built(judged(MP_TURN_002="fail"))
    rows = [row for row in new["reports"][0]["results"] if row["id"] != RULE]
    assert comparing.compare(changed(new, results=rows), new).is_worse


@pytest.mark.parametrize("strict", [True, False])
def test_a_requirement_that_appears_with_a_warning_makes_a_strict_run_worse(strict):
    new = built(judged(MP_RECALL_005="warn"), strict=strict)
    rows = [row for row in new["reports"][0]["results"] if row["id"] != "MP-RECALL-005"]
    assert comparing.compare(changed(new, results=rows), new).is_worse is strict


def test_targets_are_paired_by_side_and_name_and_those_of_one_name_by_order():
    old = built(judged("a", MP_TURN_002="fail"), judged("b"), judged("b", MP_TURN_002="fail"))
    new = built(judged("b"), judged("b"), judged("a", MP_TURN_002="fail"))
    found = comparing.compare(old, new)
    assert [(change.target, change.kind) for change in found.changes] == [
        ("provider b #2", "green")
    ]
    assert found.verdicts["provider b #2"] == ("NON-CONFORMANT", "CONFORMANT")


def test_a_target_that_is_gone_makes_it_worse():
    found = comparing.compare(built(judged("a"), judged("b")), built(judged("a")))
    assert found.is_worse
    assert found.verdicts["provider b"] == ("CONFORMANT", None)


def test_the_command_ends_with_1_where_something_turned_red(tmp_path, capsys):
    good = saved(tmp_path / "good.json", built(judged()))
    bad = saved(tmp_path / "bad.json", built(judged(MP_TURN_002="fail")))
    assert cli.main(["diff", str(good), str(bad)]) == 1
    said = capsys.readouterr().out
    assert "provider mine: CONFORMANT -> NON-CONFORMANT" in said
    assert "turned red: 1\n  MP-TURN-002 (provider mine): pass -> fail: seen" in said
    assert cli.main(["diff", str(bad), str(good)]) == 0
    assert "turned green: 1" in capsys.readouterr().out
    assert cli.main(["diff", str(bad), str(bad), "--markdown"]) == 0
    assert "Nothing changed." in capsys.readouterr().out
    assert cli.main(["diff", str(good), str(tmp_path / "no.json")]) == 4


# -- Markdown --------------------------------------------------------------------------------------

#: Text that would be markup, a link, a mention, a table's edge, HTML or a hidden direction.
HOSTILE = (
    "<script>alert(1)</script> | x | [a](https://evil) @somebody `code` **b** ~~s~~ #12 "
    "www.evil.example ![i](x)\n| - | - |\n::error::x\u202egnp\x1b[31m &amp; </code></details>"
)


def test_no_text_of_a_provider_is_markup():
    shown = markdown.text(HOSTILE)
    assert not set(shown) & set("<>|[]@`*~!\n\x1b\u202e\\")
    assert " #12 " not in shown
    assert "www." not in shown
    assert "://" not in shown
    assert "&amp;" not in shown


def test_a_hostile_finding_stays_in_its_cell():
    result = Result(RULE, Outcome.FAIL, Differs(wanted=HOSTILE, seen=HOSTILE), HOSTILE)
    text = markdown.summary(built(judged(HOSTILE, MP_TURN_002=result)))
    [row] = [line for line in text.splitlines() if "MP-TURN-002" in line]
    assert row.count("|") == 7
    assert "script>" not in text
    assert "somebody" in text
    assert "@somebody" not in text


def test_the_summary_has_verdicts_failures_and_what_is_open():
    found = built(judged(MP_TURN_002="fail", MP_TURN_003="untestable"), judged("b", side="host"))
    text = markdown.summary(found)
    assert "❌ NON-CONFORMANT" in text
    assert "✅ CONFORMANT" in text
    assert "<code>MP-TURN-002</code> | fail | Recording a turn MUST" in text
    assert "<details><summary>1 not decided, or waived, of mine</summary>" in text


def test_the_summary_against_a_former_report_says_what_changed(tmp_path, capsys):
    old = saved(tmp_path / "old.json", built(judged(MP_TURN_002="fail")))
    new = saved(tmp_path / "new.json", built(judged(MP_TURN_003="fail")))
    assert cli.main(["summary", str(new), "--against", str(old)]) == 0
    said = capsys.readouterr().out
    assert "### Changes" in said
    assert "**turned red: 1**" in said
    assert "| <code>MP-TURN-003</code> | provider mine | pass | fail |" in said
    assert "**turned green: 1**" in said


def test_a_table_ends_where_nobody_reads_on():
    fails = {item.id.replace("-", "_"): "fail" for item in spec.select([], "provider")}
    text = markdown.summary(built(judged(**fails)))
    more = len(fails) - markdown.MOST_ROWS
    assert f"... and {more} more, see the report." in text
