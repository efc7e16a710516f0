"""
Each output of a run tells the same of each requirement, and what it says to type shows it again.

A result may be about another requirement than the one whose check is running: a hook that raises,
a process that dies, a thread that was left. Such requirements wait until no check runs any more.
"""

import ast
import datetime as dt
import shlex

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.report import message
from memproto.testing.judging import attribution
from memproto.testing.judging.judge import Judge
from memproto.testing.settings import settings, waivers
from memproto.testing.settings.order import Contact, Order
from tests import places
from tests.kit_runs import ROOT, outcomes, write
from tests.report.shown_results import run

pytestmark = pytest.mark.once

SHELF = "tests.conformance.found_elsewhere"

#: Areas whose checks record, recall and end, and share a process.
AREAS = [f"--memproto-clause=MP-{area}" for area in ("RECALL", "TURN", "SHUT-00")]

#: Provider to the rule that it violates.
FOUND = {
    "RaisesInMany": "MP-TURN-002",
    "RaisesUnderANarrowLimit": "MP-SHUT-001",
    "HangsAtFirst": "MP-RECALL-002",
    "DiesByALongText": "MP-ISO-003",
    "DiesLater": "MP-ISO-003",
    "FreezesLater": "MP-THR-002",
    "RaisesFromTheSeventhOn": "MP-RECALL-006",
    "DiesFromTheSeventhOn": "MP-ISO-003",
}

#: Those of which another one fails in the same way, sooner or later.
NIGHTLY = (
    "RaisesUnderANarrowLimit",
    "HangsAtFirst",
    "DiesByALongText",
    "FreezesLater",
    "RaisesFromTheSeventhOn",
)


def reproduced(directory, found, rule):
    """The report of the command that a run says shows a violation again."""
    (row,) = [row for row in found["reports"][0]["results"] if row["id"] == rule]
    again, faults = run(directory, *shlex.split(row["reproduce"], comments=True)[1:])
    assert faults == []
    return outcomes(again["reports"][0])


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [places.nightly(name) if name in NIGHTLY else name for name in FOUND],
)
def test_every_output_tells_the_same_and_the_command_that_is_shown_reproduces_it(tmp_path, name):
    found, faults = run(tmp_path, f"--memproto={SHELF}:{name}", *AREAS)
    assert faults == []
    assert outcomes(found["reports"][0])[FOUND[name]] == "fail", found["run"].stdout
    assert reproduced(tmp_path, found, FOUND[name])[FOUND[name]] == "fail"


@pytest.mark.parametrize(
    "words",
    [
        ["-n2"],
        places.nightly(["-n2", "--dist=loadgroup"]),
        ["-x"],
        places.nightly(["-x", "-n2"]),
    ],
)
@pytest.mark.parametrize(
    "name", ["RaisesInMany", places.nightly("RaisesUnderANarrowLimit"), "DiesLater"]
)
def test_every_output_tells_the_same_with_workers_and_in_a_run_that_ends_early(
    tmp_path, name, words
):
    target = f"--memproto={SHELF}:{name}"
    found, faults = run(tmp_path, target, *AREAS, *words)
    assert faults == []
    assert outcomes(found["reports"][0])[FOUND[name]] == "fail", found["run"].stdout


def test_what_the_only_check_meets_of_another_rule_is_counted_and_shown_as_that_rule(tmp_path):
    words = [f"--memproto={SHELF}:RaisesInMany", "--memproto-clause=MP-SHUT-001"]
    found, faults = run(tmp_path, *words)
    assert faults == []
    rows = outcomes(found["reports"][0])
    assert (rows["MP-SHUT-001"], rows["MP-TURN-002"]) == ("untestable", "fail")
    assert "1 failed, 1 untestable" in found["run"].stdout.splitlines()[-1]


def test_a_run_that_ends_at_the_first_failure_ends_where_another_check_meets_it(tmp_path):
    found, _ = run(tmp_path, f"--memproto={SHELF}:RaisesInMany", *AREAS, "-x")
    counts = found["reports"][0]["counts"]
    assert "stopping after 1 failures" in found["run"].stdout
    assert (counts["fail"], counts["pass"]) == (1, 0)


def test_a_provider_that_loads_only_so_often_is_red_by_as_many_starts(tmp_path):
    count = tmp_path / "count"
    write(
        tmp_path,
        counted__py="from pathlib import Path\nfrom tests.good.journal import Journal\n"
        f"count = Path({str(count)!r})\n"
        # One end of a file for all: processes that start together count as many as they are.
        "with count.open('a') as end: end.write('x')\n"
        # The third start, as a run starts three processes or more, by the speed of the machine.
        "if count.stat().st_size > 2: raise OSError('used up')\n"
        "class Mine(Journal): pass\n",
    )
    found, faults = run(tmp_path, "--memproto=counted:Mine", *AREAS, "--memproto-clause=MP-WRITE")
    assert faults == []
    assert outcomes(found["reports"][0])["MP-LOAD-001"] == "fail"
    count.unlink()
    assert reproduced(tmp_path, found, "MP-LOAD-001")["MP-LOAD-001"] == "fail"


def test_a_waived_rule_that_another_check_meets_is_waived_everywhere(tmp_path):
    end = waivers.today() + dt.timedelta(days=30)
    waiver = f'reason = "until the next release"\nissue = "#1"\nowner = "me"\nexpires = {end}\n'
    write(tmp_path, memproto__toml=f"[waivers.MP-SHUT-001]\n{waiver}")
    found, faults = run(tmp_path, f"--memproto={SHELF}:RaisesUnderANarrowLimit", *AREAS)
    assert faults == []
    assert outcomes(found["reports"][0])["MP-SHUT-001"] == "waived"


def test_every_rule_that_a_check_can_name_beside_its_own_waits_for_the_last_check():
    named: dict[str, set[str]] = {"provider": set(), "host": set()}
    places = [*(ROOT / "conformance").rglob("*.py"), *(ROOT / "memproto/testing").glob("*.py")]
    trees = [ast.parse(place.read_text("utf-8")) for place in places]
    for call in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(call, ast.keyword) and call.arg == "requirement":
            named_ids = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            for key in (item for item in named_ids if str(item).startswith("MP-")):
                named[spec.requirement(key).side].add(key)
    assert named["provider"]
    for side, ids in named.items():
        assert ids <= attribution.found_elsewhere(side), side


def test_a_check_that_was_started_twice_is_shown_again_by_a_whole_run(tmp_path):
    write(tmp_path, mine__py="raise OSError('used up')\n")
    order = Order("mine", directory=tmp_path, settings=settings.read("mine", tmp_path))
    judge = Judge(order, tmp_path, Contact(binding=NATIVE))
    try:
        judge.starters = ["MP-TURN-001", "MP-SHUT-001"]
        once = judge.run(spec.requirement("MP-RECALL-001"))
        judge.starters = ["MP-TURN-001", "MP-TURN-001"]
        twice = judge.run(spec.requirement("MP-RECALL-001"))
    finally:
        judge.close()
    clauses = "--memproto-clause=MP-TURN-001 --memproto-clause=MP-SHUT-001"
    shown = [message.reproduce(item, order) for item in (once[-1], twice[-1])]
    assert shown == [
        f"pytest --memproto=mine {clauses} --memproto-clause=MP-RECALL-001",
        "pytest --memproto=mine",
    ]
