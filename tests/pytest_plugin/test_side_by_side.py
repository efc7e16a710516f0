"""Runs in which checks run side by side, beside runs of the same target one after the other."""

import re

import pytest

from tests import places
from tests.kit_runs import kit, outcomes, read_report, write

pytestmark = pytest.mark.once

#: The hooks wait a little longer than those of a provider that is judged one check after the other.
WAITING = """
import os
import threading
import time

from memproto.errors import Unavailable
from memproto.reference_providers.builtin import BuiltinMemoryProvider


def waits(hook):
    def waiting(self, *arguments, **keywords):
        time.sleep(0.025)
        return hook(self, *arguments, **keywords)

    return waiting


class Good(BuiltinMemoryProvider):
    initialize = waits(BuiltinMemoryProvider.initialize)
    shutdown = waits(BuiltinMemoryProvider.shutdown)
    enrich_turn = waits(BuiltinMemoryProvider.enrich_turn)
    on_memory_write = waits(BuiltinMemoryProvider.on_memory_write)
    handle_tool_call = waits(BuiltinMemoryProvider.handle_tool_call)


class Raises(Good):
    def on_turn_complete(self, user_message, assistant_response):
        raise RuntimeError("no turn is taken")


class Dies(Good):
    def on_compress(self, messages, compression_count):
        os._exit(3)


class Fast(BuiltinMemoryProvider):
    pass


class FastDies(Fast):
    on_compress = Dies.on_compress


class FastDiesLater(Fast):
    # Some time behind the end of a check, and behind that of its chapter. The time runs from the
    # end of the session, so that a slow machine does not bring it into the check.
    has_compressed = False

    def on_compress(self, messages, compression_count):
        self.has_compressed = True
        return super().on_compress(messages, compression_count)

    def shutdown(self):
        super().shutdown()
        if self.has_compressed:
            later = threading.Timer(0.3, os._exit, [3])
            later.daemon = True
            later.start()


class Limited(Good):
    callers = CALLERS

    def enrich_turn(self, user_message, messages):
        # One caller at a time, by whatever process: the file is the backend's lock.
        try:
            os.close(os.open(self.callers, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise Unavailable("too many callers", retry_after_s=0.1) from None
        try:
            return super().enrich_turn(user_message, messages)
        finally:
            os.unlink(self.callers)
"""

#: Fields of a report's row that say what was found, and how to see it again.
TOLD = ("id", "outcome", "rule", "follows", "reproduce", "advice", "needs")

#: A few rules of several chapters.
IDS = ("NAME-002", "INIT-003", "RECALL-001", "RECALL-003", "TURN-001", "COMP-001", "SHUT-002")
SOME = [f"--memproto-clause=MP-{name}" for name in IDS]


@pytest.fixture
def judged(tmp_path):
    """A function that judges a class of the module, with settings, and gives the report."""

    def judge(name, *words, **settings):
        lines = [f"{key} = {value}" for key, value in settings.items()]
        module = WAITING.replace("CALLERS", repr(str(tmp_path / "callers")))
        write(tmp_path, waiting__py=module, memproto__toml="\n".join(lines))
        file = tmp_path / "report.json"
        file.unlink(missing_ok=True)
        done = kit(tmp_path, f"--memproto=waiting:{name}", f"--memproto-report={file}", *words)
        return read_report(file, done)

    return judge


def planned(report):
    """The number of checks at a time that the run has announced; 1 where it announced nothing."""
    found = re.search(r"checks, (\d+) at a time", report["run"].stdout)
    return int(found[1]) if found else 1


def failures(report):
    """The lines of failures, in the order of the terminal."""
    return [line for line in report["run"].stdout.splitlines() if line.startswith("FAILED ")]


@pytest.mark.parametrize("name", places.half_nightly(["Good", "Raises", "Dies"]))
def test_outcomes_order_and_exit_code_are_those_of_one_after_the_other(judged, name):
    together, alone = judged(name, *SOME), judged(name, *SOME, parallel=1)
    assert (planned(together) > 1, planned(alone)) == (True, 1)
    assert outcomes(together["reports"][0]) == outcomes(alone["reports"][0])
    assert failures(together) == failures(alone)
    assert together["exit_code"] == alone["exit_code"] == int(name != "Good")


@pytest.mark.parametrize("name", places.half_nightly(["Fast", "FastDies", "FastDiesLater"]))
def test_chapters_of_a_fast_provider_are_judged_side_by_side_unnoticed(judged, name):
    few = [f"--memproto-clause=MP-{item}" for item in ("NAME-002", "COMP-001", "SHUT-002")]
    together, alone = judged(name, *few, parallel=2), judged(name, *few, parallel=1)
    rows = [
        [[row[key] for key in TOLD] for row in found["reports"][0]["results"]]
        for found in (together, alone)
    ]
    assert rows[0] == rows[1]
    assert failures(together) == failures(alone)
    assert together["exit_code"] == alone["exit_code"] == int(name != "Fast")
    assert "at a time" not in together["run"].stdout


def test_a_run_that_ends_at_the_first_failure_tells_no_more_than_that(judged):
    together, alone = judged("Raises", *SOME, "-x"), judged("Raises", *SOME, "-x", parallel=1)
    assert planned(together) > 1
    assert outcomes(together["reports"][0]) == outcomes(alone["reports"][0])
    assert failures(together) == failures(alone)


def test_a_backend_that_asks_for_a_pause_gets_it(judged):
    clauses = [f"--memproto-clause=MP-RECALL-00{number}" for number in (1, 2, 3)]
    together = judged("Limited", *clauses, parallel=3)
    alone = judged("Limited", *clauses, parallel=1)
    assert planned(together) == 3
    assert outcomes(together["reports"][0]) == outcomes(alone["reports"][0])


def test_a_run_says_at_its_start_how_long_it_will_take(judged):
    report = judged("Good", *SOME)
    (line,) = [it for it in report["run"].stdout.splitlines() if " at a time (a call takes" in it]
    assert re.fullmatch(r"waiting:Good: \d+ checks, \d+ at a time \(.*\): about \d+ (s|min)", line)
