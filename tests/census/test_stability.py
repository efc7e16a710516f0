"""Requirements become stable by the kept outcomes and readings of the census."""

import dataclasses

import pytest

from census import commands, entries, outcomes, readings, stability
from census.entries import Entry, Unusable
from census.outcomes import Found, Red
from census.readings import Reading
from memproto import spec
from memproto.report.stability import NEEDED, Ledger

pytestmark = pytest.mark.once

#: A requirement that these tests read about.
RULE = "MP-TURN-001"


needs_drafts = pytest.mark.usefixtures("only_drafts")


def field(count, *, red=0, version="1.0"):
    """So many targets that were judged by the rule, of which the first `red` ones violate it."""
    known, found = {}, {}
    for number in range(count):
        name = f"provider-{number}"
        known[name] = Entry(name, name, version, "hermes", name)
        rows = (Red(RULE, "MUST", "seen", ""),) if number < red else ()
        passed = "" if number < red else RULE
        blank = Found(name, version, "judged", "", "2026-11-28", 1.0, "", "", "")
        found[name] = dataclasses.replace(blank, red=rows, passed=passed)
    return known, found


def state(known, found, read=(), ledger=None):
    rows = {(one.target, one.id): one for one in read}
    standings = stability.standings(known, found, rows, ledger or Ledger())
    return next(one.state for one in standings if one.item.id == RULE)


def reading(said):
    return Reading("provider-0", "1.0", RULE, said, "module.py:1", "It does.")


@needs_drafts
def test_ten_targets_make_a_requirement_ready_and_nine_do_not():
    assert state(*field(NEEDED)) == "ready"
    assert state(*field(NEEDED - 1)) == "short"


@needs_drafts
def test_the_authors_own_targets_and_forks_do_not_count():
    assert state(*field(NEEDED, version=entries.CHECKOUT)) == "short"
    assert state(*field(NEEDED), ledger=Ledger(fork={"provider-1": "provider-0"})) == "short"


@needs_drafts
@pytest.mark.parametrize(
    ("said", "expected"), [("true", "ready"), ("debatable", "disputed"), ("refuted", "refuted")]
)
def test_a_red_line_counts_as_it_was_read(said, expected):
    assert state(*field(NEEDED, red=1), read=[reading(said)]) == expected


@needs_drafts
def test_a_red_line_that_nobody_read_leaves_a_draft():
    assert state(*field(NEEDED, red=1)) == "short"


def test_a_mark_stands_below_the_id_and_is_made_once():
    text = '[[requirement]]\nid = "MP-TURN-001"\nlevel = "MUST"\n'
    marked = stability.mark(text, (RULE,))
    assert marked == '[[requirement]]\nid = "MP-TURN-001"\nstatus = "stable"\nlevel = "MUST"\n'
    with pytest.raises(Unusable, match="no draft MP-TURN-001"):
        stability.mark(marked, (RULE,))


def test_each_stable_requirement_of_the_catalogue_meets_the_rule():
    stable = [one for one in commands.standings() if one.item.status == "stable"]
    assert len(stable) >= 60
    short = {one.item.id: len(one.judged) for one in stable if len(one.judged) < NEEDED}
    assert short == {}
    lines = readings.read()
    wrong = {
        (name, row.id): lines[name, row.id].reading if (name, row.id) in lines else "not read"
        for name, found in outcomes.read().items()
        for row in found.red
        if spec.requirement(row.id).status == "stable"
        and ((name, row.id) not in lines or lines[name, row.id].reading != "true")
    }
    assert wrong == {}
