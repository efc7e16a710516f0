"""Every survivor that was read has a class, a reason, and what its class asks for."""

import tomllib

import pytest

from tests.mutation.keys import Key
from tests.mutation.survivors import Survivor, Unreasoned, read, row_of, stale, template

ROW = {
    "subject": "complete",
    "where": "examples/complete.py:Complete._drop",
    "was": "return len(entries)",
    "now": "return None",
    "class": "equivalent",
    "reason": "Nobody reads it.",
}
KEY = Key(ROW["subject"], ROW["where"], ROW["was"], ROW["now"])


def written(folder, **changed):
    file = folder / "survivors.toml"
    row = {key: value for key, value in {**ROW, **changed}.items() if value is not None}
    lines = [f"{key} = {value!r}" for key, value in row.items()]
    file.write_text("\n".join(["[[survivor]]", *lines]) + "\n", "utf-8")
    return file


def test_every_kept_row_has_its_reason_and_stands_in_the_source():
    assert stale(read()) == []


def test_a_row_is_read(tmp_path):
    (row,) = read(written(tmp_path))
    assert (row.kind, row.reason, row.nth) == ("equivalent", "Nobody reads it.", 1)
    assert row.holds(KEY)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reason": None}, "has no reason"),
        ({"reason": "  "}, "has no reason"),
        ({"class": None}, "class is none of"),
        ({"class": ""}, "class is none of"),
        ({"class": "harmless"}, "class is none of"),
        ({"subject": "nothing"}, "subject or where is missing"),
        ({"where": None}, "subject or where is missing"),
        ({"class": "no promise"}, "allowed_by is missing"),
        ({"class": "hole of a check"}, "violates is no requirement"),
        ({"class": "hole of a check", "violates": "MP-NO-001"}, "violates is no requirement"),
        ({"was": None}, "now without was"),
        ({"note": "x"}, "is no field"),
    ],
)
def test_a_survivor_without_what_its_class_asks_for_is_refused(tmp_path, changed, said):
    with pytest.raises(Unreasoned, match=said):
        read(written(tmp_path, **changed))


def test_the_row_that_is_printed_for_a_survivor_is_refused_as_it_is(tmp_path):
    file = tmp_path / "survivors.toml"
    file.write_text(template(KEY), "utf-8")
    with pytest.raises(Unreasoned, match="class is none of"):
        read(file)


@pytest.mark.parametrize("text", ["a 'b'", 'a "b"', "a\nb 'c'", "'''", "a\\n"])
def test_a_printed_row_holds_any_text(text):
    (row,) = tomllib.loads(template(Key("complete", "x.py:f", text, text, 2)))["survivor"]
    assert (row["was"], row["now"], row["nth"]) == (text, text, 2)


def survivor(was="", now="", nth=1):
    return Survivor(KEY.subject, KEY.where, was, now, nth, "equivalent", "x")


def test_the_most_exact_row_is_that_of_a_change():
    exact, line, definition = survivor(KEY.was, KEY.now), survivor(KEY.was), survivor()
    assert row_of(KEY, [definition, line, exact]) is exact
    assert row_of(KEY, [definition, line]) is line
    assert row_of(KEY, [definition]) is definition
    assert row_of(KEY, [survivor("another"), survivor(KEY.was, "another")]) is None
    assert row_of(KEY, [survivor(KEY.was, KEY.now, nth=2)]) is None


def test_a_row_whose_line_is_gone_is_stale():
    assert stale([survivor("return len(entries)")]) == []
    assert stale([survivor("return len(entrances)")]) != []
