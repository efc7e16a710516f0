"""Runs that must be red, or at least not green, and must end, whatever the target does."""

import sys

import pytest

from tests.kit_runs import kit, outcomes, reported, write

pytestmark = pytest.mark.once

FATAL = {
    "tests.hostile.hanging:HoldsTheInterpreter": "MP-THR-002",
    "tests.hostile.ending:Exits": "MP-ISO-003",
    "tests.hostile.ending:EndsTheProcessLater": "MP-ISO-003",
}


#: Chapters that have something to say about each of them; the gallery is judged by all.
SOME = [f"--memproto-clause=MP-{area}" for area in ("CAP", "RECALL", "TURN", "THR", "ISO")]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    words = [f"--memproto={target}" for target in ("builtin", *FATAL)]
    return reported(directory, *words, *SOME, "-n", "2")


def test_providers_that_end_or_freeze_the_process_are_red_under_the_rule_they_break(together):
    for report in together["reports"][1:]:
        assert report["verdict"] == "NON-CONFORMANT"
        assert outcomes(report)[FATAL[report["target"]]] == "fail"


def test_what_a_hostile_provider_breaks_is_one_rule_and_the_rest_is_open(together):
    for report in together["reports"][1:]:
        found = outcomes(report)
        red = {key for key, outcome in found.items() if outcome in ("fail", "kit_error")}
        assert red == {FATAL[report["target"]]}


def test_a_good_provider_in_the_same_run_keeps_its_verdict(together):
    counts = together["reports"][0]["counts"]
    assert counts["pass"] > counts["not_applicable"]
    assert not counts["fail"] + counts["untestable"] + counts["inconclusive"]
    assert together["exit_code"] == 1


@pytest.mark.parametrize("target", FATAL)
def test_a_hostile_provider_gets_its_verdict(tmp_path, target):
    # The machine decides how long it takes; one that never ended is cut off by `kit`.
    found = reported(tmp_path, f"--memproto={target}", *SOME)
    assert found["reports"][0]["verdict"] == "NON-CONFORMANT"


def test_a_provider_that_does_nothing_is_not_conformant_and_is_told_what_to_do(tmp_path):
    done = kit(tmp_path, "--memproto=tests.hostile.does_nothing:DoesNothing", *SOME)
    assert done.returncode == 1
    assert "MP-CAP-003" in done.stdout
    assert "Store in on_turn_complete" in done.stdout


def test_a_provider_that_hangs_at_first_contact_ends_under_its_gate(tmp_path):
    found = reported(
        tmp_path, "--memproto=tests.hostile.hanging:HangsInInitialize", MEMPROTO_TIME_SCALE="0.1"
    )
    report = found["reports"][0]
    assert report["verdict"] == "NON-CONFORMANT"
    assert outcomes(report)["MP-INIT-001"] == "fail"
    assert report["counts"]["fail"] == 1


def test_a_declared_extension_that_is_not_served_is_red(tmp_path):
    target = "--memproto=tests.hostile.declares_unserved:DeclaresUnserved"
    found = reported(tmp_path, target, "--memproto-clause=MP-CAP")
    assert outcomes(found["reports"][0])["MP-CAP-002"] == "fail"


@pytest.mark.skipif(sys.platform != "linux", reason="children have a parent of their own on Linux")
def test_a_provider_that_kills_its_parent_ends_neither_the_run_nor_the_verdict_of_another(tmp_path):
    names = ("MP-NAME-001", "MP-TEXT-002", "MP-SHUT-001")
    found = reported(
        tmp_path,
        "--memproto=tests.hostile.kills_parent:KillsParent",
        "--memproto=tests.good.journal:Journal",
        *(f"--memproto-clause={name}" for name in names),
    )
    killer, good = map(outcomes, found["reports"])
    assert killer["MP-SHUT-001"] == good["MP-SHUT-001"] == "pass"
    assert "kit_error" not in {*killer.values(), *good.values()}


LOADING = {
    "hangs": "import time\ntime.sleep(3600)\n",
    "exits": "import os\nos._exit(0)\n",
    "is_killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


@pytest.mark.parametrize("fault", LOADING)
def test_a_target_that_hangs_or_dies_while_it_loads_is_red_and_the_others_are_judged(
    tmp_path, fault
):
    write(tmp_path, **{f"{fault}__py": LOADING[fault]})
    found = reported(
        tmp_path,
        f"--memproto={fault}",
        "--memproto=tests.good.journal:Journal",
        "--memproto-clause=MP-LOAD",
        "--memproto-clause=MP-NAME",
        MEMPROTO_TIME_SCALE="0.1",
    )
    dead, good = found["reports"]
    assert dead["verdict"] == "NON-CONFORMANT"
    assert outcomes(dead)["MP-LOAD-001"] == "fail"
    assert outcomes(dead)["MP-NAME-002"] == "untestable"
    assert outcomes(good)["MP-NAME-002"] == "pass"


def test_a_provider_whose_later_instances_cannot_be_built_is_not_green(tmp_path):
    write(
        tmp_path,
        mine__py="from tests.good.journal import Journal\nbuilt = []\n"
        "class Mine(Journal):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        built.append(1)\n"
        "        if len(built) > 3: raise RuntimeError('licence used up')\n",
    )
    found = reported(tmp_path, "--memproto=mine", *SOME)
    assert found["reports"][0]["verdict"] == "NON-CONFORMANT"
    assert "licence used up" in found["run"].stdout


def test_everything_untestable_is_not_green(tmp_path):
    write(
        tmp_path,
        mine__py="from tests.good.journal import Journal\n"
        "class Mine(Journal):\n"
        "    def capabilities(self): return {**super().capabilities(), 'stores': []}\n",
    )
    found = reported(tmp_path, "--memproto=mine", *SOME)
    assert found["run"].returncode == 6
    assert found["reports"][0]["verdict"] == "INCOMPLETE"
