"""The course of a visit as a child keeps it, and lines that no visit left."""

import json

import pytest

from memproto.measure import player
from memproto.testing.provider import visits
from memproto.testing.provider.visits import Played, Visit

COURSE = Played(
    3,
    times=[("open", 0.25), ("recall", 0.0)],
    texts={0: "the tug é", 1: None},
    items={2: ["one", ""]},
    faults={Played.END: "close: OSError('full')"},
)


def lined(**changed):
    return json.dumps({**vars(COURSE), **changed})


def test_a_course_is_read_as_it_was_kept():
    assert Played.from_dict(json.loads(lined())) == COURSE


def test_a_begin_and_an_end_are_no_step_that_was_refused():
    course = Played(0, faults={4: "second", Played.BEGIN: "x", 1: "first", Played.END: "y"})
    assert course.refusals == ["first", "second"]


@pytest.mark.parametrize(
    "changed",
    [
        {"number": True},
        {"number": "3"},
        {"times": [["open"]]},
        {"times": [["open", -1.0]]},
        {"times": [["open", float("nan")]]},
        {"times": [["open", float("inf")]]},
        {"times": [["open", "0.5"]]},
        {"times": None},
        {"texts": {"0": 5}},
        {"texts": {"first": "x"}},
        {"texts": ["x"]},
        {"items": {"0": "x"}, "texts": {"0": b"x".hex(), "1": ["x"]}},
        {"items": {"0": [None]}},
        {"faults": {"0": None}},
    ],
)
def test_values_of_another_form_are_no_visit(changed):
    with pytest.raises(ValueError, match=r"."):
        Played.from_dict(json.loads(lined(**changed)))


def test_a_line_that_no_visit_left_takes_no_other_one_with_it(tmp_path):
    foreign = ["", "[]", "{}", "[" * 100_000, '"\udc80']
    file = tmp_path / "kept"
    file.write_text("\n".join([*foreign, lined()]), "utf-8", "replace")
    assert list(player._kept(file)) == [COURSE]


def test_a_file_that_leads_elsewhere_or_is_gone_holds_no_visit(tmp_path):
    (tmp_path / "real").write_text(lined())
    (tmp_path / "kept").symlink_to(tmp_path / "real")
    assert list(player._kept(tmp_path / "kept")) == []
    assert list(player._kept(tmp_path / "gone")) == []


def test_a_script_holds_a_line_for_each_visit_with_its_number(tmp_path):
    odd = "half \ud83d of a pair,\nand a line"
    told = [Visit("s1", "p1", [("write", odd)]), Visit("s2", "p1", [])]
    visits.write(tmp_path / "script", told, 7)
    rows = [json.loads(line) for line in (tmp_path / "script").read_text("ascii").splitlines()]
    assert rows == [
        {"number": 7, "session": "s1", "user": "p1", "steps": [["write", odd]]},
        {"number": 8, "session": "s2", "user": "p1", "steps": []},
    ]
