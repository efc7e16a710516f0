"""The table of families of faults: each rule, broken provider and good one in it is there."""

import collections
import re

import pytest

from memproto import loading, spec
from scripts import decisions
from tests import matrix
from tests.broken.marks import MUTANTS, load_all
from tests.good.unusual import test_unusual
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

RECORD = next((ROOT / decisions.FOLDER).glob("*-families-of-faults.md"))
COLUMNS = 5

#: Hosts that are judged as good ones elsewhere, in `tests/testing/host`.
HOSTS = {
    "memproto:MemoryProviderRegistry",
    "memproto:AsyncMemoryProviderRegistry",
    "memproto.testing.agent:Agent",
}


def rows() -> list[tuple[str, list[str]]]:
    """Family and cells of each row."""
    found = []
    for part in RECORD.read_text("utf-8").split("\n### ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        found += [(part.splitlines()[0], line[1:-1].split("|")) for line in lines[2:]]
    return [(family, [cell.strip() for cell in cells]) for family, cells in found]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


ROWS = rows()
RULED = [(family, cells) for family, cells in ROWS if cells[1] != "none"]
BY_RULE = pytest.mark.parametrize("cells", [cells for _, cells in RULED], ids=lambda c: c[0])


def test_each_row_is_whole():
    assert len(ROWS) > 50, "the table is read"
    assert [cells[0] for _, cells in ROWS if len(cells) != COLUMNS] == []


@BY_RULE
def test_each_rule_is_one_of_the_specification(cells):
    for rule in cells[1].split(", "):
        assert spec.requirement(rule).id == rule


@BY_RULE
def test_each_broken_one_is_there_for_a_rule_of_its_row(cells):
    load_all()
    killed = {}
    for name in named(cells[2]):
        targets = [target for target in MUTANTS if target.endswith(f":{name}")]
        assert len(targets) == 1, f"{name}: {targets}"
        killed[name] = MUTANTS[targets[0]].kills
    rules = set(cells[1].split(", "))
    assert set(killed.values()) == rules, f"{killed} for {sorted(rules)}"


@BY_RULE
def test_each_good_one_is_judged_as_one(cells):
    judged = {*matrix.GOOD, *test_unusual.FEW, *test_unusual.OTHERS, *HOSTS}
    assert named(cells[3]), "nobody has the shape and not the fault"
    assert set(named(cells[3])) <= judged


@pytest.mark.parametrize("target", sorted({t for _, c in RULED for t in named(c[3])} - HOSTS))
def test_each_good_one_loads(target):
    assert loading.load(target)


def test_each_family_has_two_broken_ones():
    shown = collections.defaultdict(set)
    for family, cells in RULED:
        shown[family] |= set(named(cells[2]))
    assert {family: names for family, names in shown.items() if len(names) < 2} == {}
    assert set(shown) == {family for family, _ in ROWS}


def test_a_member_without_a_rule_has_the_sentence_that_lets_it():
    for _, cells in ROWS:
        if cells[1] == "none":
            assert (cells[2], cells[3]) == ("", ""), cells[0]
            assert "spec/v1/" in cells[4] or re.search(r"\bMP-[A-Z]+-\d{3}\b", cells[4]), cells[0]
