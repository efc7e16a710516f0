"""`memproto explain`: what is behind a requirement, however its id was typed."""

import dataclasses
import io
import json
import sys
from importlib import resources

import pytest

from memproto import cli, explain, spec
from memproto.errors import MissingPackage, NoSuchRequirement
from memproto.mutants import FILE, as_data, mutants
from tests.broken.marks import load_all
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

CHECKED = [item for item in spec.requirements().values() if not item.unchecked]


def test_what_is_read_of_the_shelf_is_what_is_on_it():
    """The reader imports nothing, so it might see other marks than those that count."""
    read = {
        (
            f"{one.file.removesuffix('.py').removesuffix('/__init__')}:{one.name}",
            one.kills,
            one.says,
        )
        for those in mutants().values()
        for one in those
    }
    shelf = {(one.target.replace(".", "/"), one.kills, one.says) for one in load_all().values()}
    assert read == shelf


def test_the_data_of_the_wheel_are_those_of_the_folder(tmp_path, monkeypatch):
    (tmp_path / FILE).write_text(as_data(ROOT), "utf-8")
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    assert mutants.__wrapped__() == mutants()


def test_a_package_with_neither_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "files", lambda package: tmp_path / "spec")
    with pytest.raises(FileNotFoundError, match=r"tests/broken: no broken providers, and no mut"):
        mutants.__wrapped__()


def test_every_checked_requirement_has_a_mutant_to_show():
    assert [item.id for item in CHECKED if item.id not in mutants()] == []


def test_every_source_has_a_title():
    sources = {name for item in spec.requirements().values() for name in item.sources}
    assert sources - {"seed"} <= set(explain.classes())


def test_a_requirement_is_shown_with_rule_intent_causes_fix_reports_command_and_mutant():
    shown = explain.explained("MP-TURN-003")
    item = spec.requirement("MP-TURN-003")
    for text in (item.text, item.intent, item.fix, item.clause):
        assert text in " ".join(shown.split())
    assert "  causes    - last turn stays in the batch" in shown
    assert "A7: turns that wait in a batch are lost at the end" in shown
    assert "  run       pytest --memproto=TARGET --memproto-clause=MP-TURN-003\n" in shown
    assert "    class LastTurnStaysInTheBatch(Journal):" in shown


def test_what_a_requirement_needs_is_shown():
    shown = explain.explained("MP-PREWARM-003")
    assert "  needs     the extension `prewarm`\n" in shown
    assert (
        "            a text that is stored through turns or writes or tools and comes back" in shown
    )
    assert "  needs " not in explain.explained("MP-NAME-001")


def test_without_the_packages_of_the_kit_the_rest_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "memproto.testing", None)
    monkeypatch.delattr("memproto.testing", raising=False)
    shown = explain.explained("MP-TURN-003")
    assert "  needs     is shown after pip install 'memproto[kit]'" in shown
    assert "  fix  " in shown
    with pytest.raises(MissingPackage):
        explain.as_json("MP-TURN-003")


def test_json_holds_the_row_and_what_it_needs(capsys):
    assert cli.main(["explain", "--json", "prewarm", "3"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    item = spec.requirement("MP-PREWARM-003")
    assert (row["id"], row["text"], row["clause"]) == (item.id, item.text, item.clause)
    assert row["needs"][0] == {"kind": "extension", "name": "prewarm"}
    assert {"kind": "stores", "any_of": ["turns", "writes", "tools"]} in row["needs"]


def test_json_of_an_area_holds_each_of_its_rows():
    rows = json.loads(explain.as_json("MP-TURN"))
    assert [row["id"] for row in rows] == [item.id for item in spec.select(["MP-TURN"], "provider")]


def test_a_disputed_requirement_says_where_and_that_it_only_warns():
    item = dataclasses.replace(spec.requirement("MP-SHUT-002"), disputed="https://x.example/7")
    assert "  disputed  https://x.example/7; until that is decided it warns" in explain._one(
        item, 96
    )
    assert "disputed" not in explain.explained("MP-SHUT-002")


def test_what_the_chapter_adds_is_shown():
    shown = " ".join(explain.explained("MP-WRITE-005").split())
    assert "not asked a particular class among the named errors." in shown
    assert "example A store of 2,200 characters that is full raises WriteRefused" in shown


def test_prose_fits_a_narrow_terminal():
    for item in CHECKED:
        rows = explain.explained(item.id, 60).partition("\n\n")[0].splitlines()
        prose = [row for row in rows[1:] if not row.startswith(("  clause", "  run"))]
        # A single word that is longer than a line stays whole.
        assert [row for row in prose if len(row) > 60 and len(row[12:].split()) > 1] == []


@pytest.mark.parametrize(
    "typed", ["MP-SHUT-002", "mp-shut-002", "mp shut 2", "SHUT-002", "shut_2", "Shut002", "MPSHUT2"]
)
def test_an_id_is_known_however_it_is_typed(typed):
    assert explain.explained(typed).startswith("MP-SHUT-002 (")


@pytest.mark.parametrize("typed", ["MP-SHUT", "shut", "mp shut"])
def test_an_area_lists_its_requirements(typed):
    ids = [row.split()[0] for row in explain.explained(typed, 200).splitlines()]
    assert ids == [item.id for item in spec.select(["MP-SHUT"], "provider")]


def test_the_beginning_of_a_number_lists_too():
    rows = explain.explained("MP-TOOL-01", 200).splitlines()
    assert {row[: len("MP-TOOL-01")] for row in rows} == {"MP-TOOL-01"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("MP-SHTU-002", "MP-SHUT-002"),
        ("recal", "MP-RECALL"),
        ("recal 2", "MP-RECALL-002"),
        ("MP-HOST-RECAL-004", "MP-HOST-RECALL-004"),
    ],
)
def test_a_misspelt_id_gets_a_suggestion(typed, meant):
    with pytest.raises(NoSuchRequirement, match=f"did you mean '{meant}'"):
        explain.explained(typed)


@pytest.mark.parametrize("typed", ["", "-", "ł", "1234", "MP", "MP-", "everything else"])
def test_what_is_no_id_at_all_is_one_message_and_exit_code_4(typed, capsys):
    assert cli.main(["explain", "--", typed]) == 4
    assert capsys.readouterr().err.startswith("memproto explain: ")


def test_several_words_are_one_id(capsys):
    assert cli.main(["explain", "mp", "shut", "2"]) == 0
    assert capsys.readouterr().out.startswith("MP-SHUT-002 (")


def test_a_terminal_without_unicode_does_not_stop_it(monkeypatch):
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", file)
    assert all(cli.main(["explain", item.id]) == 0 for item in CHECKED[::9])
