"""TARGET `wire:...`: verdicts, settings, bad commands, and the boundary."""

import re
import sys

import pytest

from memproto import spec
from memproto.bindings import WIRE
from tests.kit_runs import ROOT, kit, outcomes, reported, write
from tests.wire import crossing

pytestmark = pytest.mark.once

SERVE = f"{sys.executable} -P -m memproto serve"
MINE = "from memproto.reference_providers.builtin import BuiltinMemoryProvider as Mine\n"
CLAUSES = ("--memproto-clause=MP-RECALL", "--memproto-clause=MP-WRITE", "--memproto-clause=MP-WIRE")


@pytest.mark.parametrize("target", ["builtin", "sqlite"])
def test_a_served_provider_has_the_outcomes_of_the_same_process(tmp_path, target):
    (served,) = reported(tmp_path, f"--memproto=wire:{SERVE} {target}", *CLAUSES)["reports"]
    (here,) = reported(tmp_path, f"--memproto={target}", *CLAUSES)["reports"]
    rows = crossing.crossing(here, served)
    assert {name: pair for name, pair in rows.items() if pair[0] != pair[1]} == {}
    assert ("pass", "pass") in rows.values()
    served = outcomes(served)
    wire = {outcome for name, outcome in served.items() if name.startswith("MP-WIRE")}
    assert wire == {"pass"}


def test_what_cannot_cross_is_not_applicable_and_never_green(tmp_path):
    words = ["--memproto-clause=MP-RECALL-003", "--memproto-clause=MP-ISO-002"]
    document = reported(tmp_path, f"--memproto=wire:{SERVE} builtin", *words)
    rows = {row["id"]: row for row in document["reports"][0]["results"] if row["id"] in words[0]}
    assert rows["MP-RECALL-003"]["outcome"] == "not_applicable"
    assert "copies" in rows["MP-RECALL-003"]["reason"]


def test_a_message_that_does_not_fit_is_a_failure_of_its_own_with_the_message(tmp_path):
    target = "--memproto=tests.broken.provider.wire:PrintsInAHook"
    document = reported(tmp_path, target, "--memproto-clause=MP-RECALL-001")
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == "MP-WIRE-001"
    assert "Recalling..." in red["observed"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program", "no program 'no-such-program' is on PATH"),
        ("ls --help", "which is no message"),
        (f"{SERVE} no.such.module", "there is no module"),
        ("", "names no command"),
        ("'", "is no command line"),
    ],
)
def test_a_command_that_gives_no_server_ends_the_run_with_one_message(tmp_path, command, said):
    done = kit(tmp_path, f"--memproto=wire:{command}")
    assert done.returncode == 4
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_settings_give_a_command_and_its_directory(tmp_path):
    words = f'command = ["{sys.executable}", "-P", "-m", "memproto", "serve", "mine:Mine"]'
    write(
        tmp_path,
        memproto__toml=f'[target."wire:mine"]\n{words}\ncwd = "apart"\n',
    )
    (tmp_path / "apart").mkdir()
    write(tmp_path / "apart", mine__py=MINE)
    done = kit(tmp_path, "--memproto=wire:mine", "--memproto-clause=MP-NAME-001")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_settings_of_a_command_are_for_the_wire(tmp_path):
    write(tmp_path, memproto__toml='command = ["node"]\n')
    done = kit(tmp_path, "--memproto=builtin", "--memproto-clause=MP-NAME-001")
    assert done.returncode == 4
    assert "memproto.toml:1: command: is for a target wire:" in done.stderr


def test_the_page_names_what_is_out_of_reach():
    page = (ROOT / "docs" / "wire.md").read_text("utf-8").partition("## The boundary")[2]
    assert set(re.findall(r"MP-[A-Z]+-\d{3}", page)) == set(WIRE.out_of_reach)
    assert set(WIRE.out_of_reach) <= set(spec.requirements())


def test_a_reason_names_requirements_that_there_are():
    named = {name for why in WIRE.out_of_reach.values() for name in re.findall(r"MP-WIRE-\d+", why)}
    assert named <= set(spec.requirements())
