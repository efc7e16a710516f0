"""The number of the check that runs: on a terminal while it runs, in a file now and then."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from _pytest.terminal import TerminalReporter

from memproto import spec
from memproto.pytest_plugin import progress
from memproto.pytest_plugin.items import ClauseItem
from tests.kit_runs import kit, write

RULES = [spec.requirement(name) for name in ("MP-SHUT-001", "MP-SHUT-002", "MP-SHUT-003")]


@pytest.fixture
def runs(monkeypatch, pytestconfig):
    """Runs three items before a reporter; the second lasts so many seconds; gives what it says."""

    def run(*, lasts_s=0.0, isatty=True, verbosity=0, before=0, term="xterm"):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(TerminalReporter, "verbosity", verbosity)
        file, now = io.StringIO(), [0.0]
        reporter = TerminalReporter(pytestconfig, file)
        reporter.isatty = isatty
        reporter.write("x" * before)
        shown = progress.Progress(reporter, lambda: now[0])
        session = SimpleNamespace(items=RULES)
        for number, rule in enumerate(RULES):
            item = ClauseItem.__new__(ClauseItem)
            item.session, item.requirement, item.waits = session, rule, number == 0
            with through(shown.pytest_runtest_protocol(item)):
                for when in () if item.waits else ("setup", "call", "teardown"):
                    with through(shown.pytest_runtest_logreport(SimpleNamespace(when=when))):
                        reporter.write("." if when == "call" else "")
                    now[0] += lasts_s if when == "setup" else 0
        return file.getvalue()

    return run


@contextlib.contextmanager
def through(hook):
    """A wrapper of a hook around what the hook does."""
    next(hook)
    yield
    with contextlib.suppress(StopIteration):
        next(hook)


def test_a_terminal_shows_the_number_and_has_its_line_back_before_anything_is_told(runs):
    said = runs()
    drawn = re.findall(r"\x1b7 (\S+ \S+)\x1b\[K\x1b8\x1b\[K", said)
    assert drawn == ["1/3 MP-SHUT-001", "2/3 MP-SHUT-002", "3/3 MP-SHUT-003"]
    assert re.sub(r"\x1b7[^\x1b]*\x1b\[K\x1b8|\x1b\[K", "", said) == ".."


def test_a_file_gets_a_line_where_a_check_lasts(runs):
    assert runs(isatty=False) == ".."
    said = runs(isatty=False, lasts_s=progress.SILENT_S)
    assert [line for line in said.splitlines() if line.startswith("check")] == [
        "check 3/3 MP-SHUT-003"
    ]
    assert "\x1b" not in said


def test_a_terminal_that_takes_no_escapes_is_a_file(runs):
    assert runs(term="dumb") == ".."


def test_a_verbose_run_names_its_checks_by_itself(runs):
    assert runs(verbosity=1) == runs(verbosity=1, isatty=False, lasts_s=60) == ".."


def test_a_line_that_has_no_room_is_let_be(runs):
    assert runs(before=70) == f"{'x' * 70}.."


SLOW = """
import time
from memproto.reference_providers.builtin import BuiltinMemoryProvider

class Provider(BuiltinMemoryProvider):
    pass
"""


@pytest.mark.once
def test_a_run_in_a_terminal_shows_each_number(tmp_path):
    write(tmp_path, **{"mine.py": SLOW})
    words = ["--memproto=mine", "--memproto-clause=MP-SHUT", "-q"]
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=side,
    )
    os.close(side)
    said = b""
    with contextlib.suppress(OSError):
        # A terminal whose other side is closed ends in an error.
        while data := os.read(main, 65_536):
            said += data
    os.close(main)
    process.wait()
    count = len(spec.select(["MP-SHUT"], "provider"))
    numbers = re.findall(rb"\x1b7 (\d+)/(\d+) (MP-SHUT-\d+)\x1b\[K\x1b8", said)
    assert [int(number) for number, _, _ in numbers] == [*range(1, count + 1)]
    assert {int(of) for _, of, _ in numbers} == {count}


@pytest.mark.once
def test_a_quiet_run_into_a_pipe_shows_letters_and_why_it_is_incomplete(tmp_path):
    write(tmp_path, **{"mine.py": SLOW, "memproto.toml": "max_hook_calls = 40\n"})
    done = kit(tmp_path, "--memproto=mine", "--memproto-clause=MP-SHUT", "-q")
    assert done.returncode == 6, done.stdout + done.stderr
    first, *rest = done.stdout.splitlines()
    assert re.match(r"[.?\-]+ +\[\d+/\d+\]$", first)
    assert any(line.startswith("  open: ") and "max_hook_calls" in line for line in rest)
    assert any(line.startswith("  next: ") for line in rest)
    assert any(" INCOMPLETE " in line for line in rest)


@pytest.mark.once
def test_a_rule_that_was_not_asked_for_is_summed_up_by_what_was_observed(tmp_path):
    source = SLOW.replace(
        "    pass\n", "    def on_memory_write(self, *_):\n        raise KeyError(1)\n"
    )
    write(tmp_path, **{"mine.py": source})
    done = kit(tmp_path, "--memproto=mine", "--memproto-clause=MP-SHUT", "-q")
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("FAILED ")]
    assert re.match(r"FAILED mine/50-turns::MP-WRITE-\d+ - on_memory_write raised KeyErr", line)
