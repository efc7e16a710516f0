"""The letters to authors tell of true lines alone, and hold a stranger's text as text."""

import dataclasses
import tomllib

import pytest

from census import commands, entries, letters, outcomes, readings
from census.entries import Entry
from census.outcomes import Found, Red
from census.readings import Reading

pytestmark = pytest.mark.once

ENTRY = Entry("nook", "nook-memory", "1.2", "hermes", "nook", files={"memproto.toml": "x = 1\n"})
RULE = "MP-TURN-001"


def letter(*, said="true", observed="lost", entry=ENTRY):
    blank = Found("nook", "1.2", "judged", "", "2026-11-28", 1.0, "", "", "")
    found = dataclasses.replace(blank, red=(Red(RULE, "MUST", observed, "nook.py:3"),))
    read = {("nook", RULE): Reading("nook", "1.2", RULE, said, "nook.py:3", "It drops the last.")}
    return letters.written({"nook": entry}, {"nook": found}, read).get("nook")


def test_a_letter_has_the_loss_the_place_the_mend_and_the_commands():
    held = letter()
    for part in (
        "## MP-TURN-001",
        "`nook.py:3`: It drops the last.",
        "- A mend: ",
        "- A user's loss: ",
        "pip install nook-memory==1.2",
        "pytest --memproto=nook --memproto-clause=MP-TURN-001",
        "```toml\nx = 1\n```",
    ):
        assert part in held


@pytest.mark.parametrize("said", ["debatable", "refuted"])
def test_a_line_that_is_not_true_is_in_no_letter(said):
    assert letter(said=said) is None


def test_a_provider_of_this_repository_gets_no_letter():
    assert letter(entry=dataclasses.replace(ENTRY, version=entries.CHECKOUT)) is None


def test_a_text_of_the_provider_stays_text():
    held = letter(observed="`</code>\n## Praise | <img src=x> `")
    assert "<" not in held
    assert "\n## Praise" not in held


def test_a_file_with_fences_does_not_leave_its_own():
    entry = dataclasses.replace(ENTRY, files={"memproto.toml": "a = '```'\n"})
    assert "````toml\na = '```'\n````" in letter(entry=entry)


def test_each_package_with_a_true_line_has_its_letter():
    read = readings.read()
    true = {
        name
        for name, one in outcomes.read().items()
        for row in one.red_musts
        if (name, row.id) in read and read[name, row.id].reading == "true"
    }
    known = entries.read_all()
    foreign = {name for name in true if known[name].version != entries.CHECKOUT}
    assert set(commands.written_letters()) == foreign
    assert {path.stem for path in letters.FOLDER.glob("*.md")} == foreign


def test_settings_in_a_letter_are_those_that_were_judged():
    for name, held in commands.written_letters().items():
        if "```toml" in held:
            settings = held.partition("```toml\n")[2].partition("\n```")[0]
            assert tomllib.loads(settings), name
