"""The table of broken providers behind `memproto serve`: three rows of it, and its data."""

import pytest

from memproto import spec
from memproto.bindings import WIRE
from tests.broken.marks import load_all
from tests.wire import behind_serve

pytestmark = pytest.mark.once

MUTANTS = load_all()


@pytest.mark.parametrize(
    "name",
    ["recall:RecallGivesAList", "turns:RemoveDoesNothing", "shutdown:ShutdownNeedsInitialize"],
)
def test_a_broken_provider_dies_by_the_same_requirement_behind_serve(name):
    target = f"tests.broken.provider.{name}"
    done = behind_serve.row(MUTANTS[target])
    assert (done.state, done.why) == ("dies", "")


def test_a_requirement_that_does_not_cross_says_why_without_a_run():
    mutants = [mutant for mutant in MUTANTS.values() if mutant.kills in WIRE.out_of_reach]
    rows = [behind_serve.row(mutant) for mutant in mutants]
    assert {row.state for row in rows} == {"apart"}
    assert [row.why for row in rows] == [WIRE.out_of_reach[mutant.kills] for mutant in mutants]


def test_a_fault_that_stays_is_one_of_a_requirement_that_crosses():
    named = {target: MUTANTS[target] for target in behind_serve.STAYS}
    assert [target for target, mutant in named.items() if behind_serve.apart(mutant.kills)] == []
    assert all(behind_serve.is_served(mutant) for mutant in named.values())


def test_a_requirement_of_which_no_broken_provider_dies_is_told():
    rows = [
        behind_serve.Row(mutant, "dies" if mutant.kills == "MP-RECALL-001" else "stays", "why")
        for mutant in MUTANTS.values()
        if mutant.kills in ("MP-RECALL-001", "MP-RECALL-006")
    ]
    assert behind_serve.robbed(rows) == ["MP-RECALL-006"]


def test_hosts_and_servers_are_not_put_behind_serve():
    served = {m.kills for m in MUTANTS.values() if behind_serve.is_served(m)}
    assert not any(name.startswith(("MP-HOST-", "MP-WIRE-")) for name in served)
    assert served <= set(spec.requirements())
