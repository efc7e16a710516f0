"""The evidence of a finding as a table: wanted and seen as a diff, and no fact told twice."""

import pytest

from memproto.report import view
from memproto.report.formats import exhibits
from memproto.report.formats.exhibits import Line
from memproto.testing import evidence, wording
from memproto.testing.evidence import (
    KINDS,
    Differs,
    Froze,
    Late,
    Misordered,
    NotRecalled,
    Unfit,
)

FRAMES = tuple(f"acme/core.py:{line} in step_{line}" for line in (41, 52, 63))


def shown(found, **changed):
    row = {
        "expected": wording.expected(found),
        "observed": wording.observed(found),
        "evidence": evidence.as_dict(found),
    }
    return exhibits.table({**row, **changed})


def test_the_wanted_and_the_seen_are_a_diff():
    assert shown(Differs(wanted="three turns", seen="two")) == [
        Line("expected", "three turns", "-"),
        Line("observed", "two", "+"),
    ]


def test_frames_are_lines_and_not_a_part_of_the_sentence():
    found = Froze(hook="enrich_turn", held_s=5.1, ended=True, at=FRAMES)
    assert FRAMES[0] in wording.observed(found)
    _, observed, *stack = shown(found)
    assert observed.text == "enrich_turn held the interpreter for 5.1 s, and the process was ended"
    labels = ("stopped at", "", "")
    assert stack == [Line(*pair) for pair in zip(labels, FRAMES, strict=True)]


def test_a_frame_that_is_told_as_the_place_is_not_told_again():
    late = Late(hook="recall", took_s=9, budget_s=5, state="ended", at=FRAMES[:1])
    assert [line.sign for line in shown(late, where=FRAMES[0])] == ["-", "+"]
    assert shown(late, where="acme/hooks.py:3 in recall")[-1] == Line("stopped at", FRAMES[0])


def test_a_hook_that_still_runs_keeps_the_place_in_its_sentence():
    late = Late(hook="shutdown", took_s=9, budget_s=5, state="running", at=FRAMES)
    lines = [line.text for line in shown(late)]
    assert lines[1] == f"it had not returned after 9 s; it is at {FRAMES[0]}"
    assert lines[2:] == list(FRAMES[1:])


def test_texts_that_the_sentence_holds_are_not_told_again():
    one, two = "Ori's tea is green.", "Ida likes tea."
    lines = shown(NotRecalled(wanted="all turns", texts=(one, two), of=3))
    assert one in lines[1].text
    assert lines[2:] == [Line("text", two)]


def test_many_texts_are_counted_behind_the_first():
    texts = tuple(f"fact {number:02}" for number in range(30))
    lines = shown(NotRecalled(wanted="all", texts=texts, of=30))
    assert [line.text for line in lines[2:]] == [*texts[1:9], "and 21 more"]


def test_an_order_is_shown_as_the_difference_from_the_one_that_was_due():
    lines = shown(Misordered(wanted="one order", due=("a", "b", "c"), calls=("b", "a", "c")))
    assert lines[0] == Line("expected", "one order", "-")
    signs = [(line.sign, line.text) for line in lines[1:]]
    assert signs == [("+", "b"), ("", "a"), ("-", "b"), ("", "c")]


def test_a_place_in_a_document_is_no_frame():
    lines = shown(Unfit(at="", fault="no name")) + shown(Unfit(at="tools[0]", fault="no name"))
    assert [line.text for line in lines] == ["no name", "tools[0]: no name"]


@pytest.mark.parametrize("data", [None, {}, {"type": "of_tomorrow", "x": 1}, ["late"], "late"])
def test_a_report_without_evidence_that_is_known_shows_its_two_sentences(data):
    lines = shown(Differs(wanted="a", seen="b"), evidence=data)
    assert [(line.sign, line.text) for line in lines] == [("-", "a"), ("+", "b")]


def test_a_row_without_a_finding_has_no_table():
    assert exhibits.table({"expected": None, "observed": None, "evidence": None}) == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_no_line_of_any_kind_repeats_another(kind):
    texts = dict.fromkeys(("text", "error", "shown", "value", "fault", "kind_of", "subject"), "a1")
    more = {"difference": "d", "ending": "e", "place": "p", "about": "f", "name": "n", "seen": "s"}
    lists = dict.fromkeys(("texts", "keys", "names", "paths", "at", "calls"), ("l1", "l2"))
    numbers = {"times": 1, "chars": 2, "limit": 1, "took_s": 1.5, "held_s": 1.5, "deed": "file"}
    known = texts | more | lists | numbers
    if kind.kind == "acted":
        known["seen"] = ("s1", "s2")
    if kind.kind == "left":
        known["kind_of"] = "thread"
    if kind.kind == "unfit":
        known["at"] = "place"
    names = kind.__dataclass_fields__
    found = kind(**{key: value for key, value in known.items() if key in names})
    lines = [line.text for line in shown(found, evidence=view.clean(evidence.as_dict(found)))]
    assert lines
    assert len(lines) == len(set(lines))
