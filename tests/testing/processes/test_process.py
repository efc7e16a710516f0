"""A kit child seen from the parent, whatever the target in it does to the process."""

import functools
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from memproto.testing import patience
from memproto.testing.processes import process, sandbox, stacks, template, vitals
from memproto.testing.processes.answer import ChildDidNotStart
from memproto.testing.processes.commands import Load, Nothing
from memproto.testing.processes.process import ChildProcess

#: Budgets of 20 s become 2 s, and the 20 s of silence 2 s too.
SCALE = 0.1

JOURNAL = "from tests.good.journal import Journal as Mine\n"


@pytest.fixture
def child(tmp_path):
    """A function that starts a child, and ends what it started."""
    started = []

    def start(scale=1.0, **limits):
        one = ChildProcess(tmp_path, sandbox.environment(tmp_path, {}), scale=scale, **limits)
        started.append(one)
        return one

    yield start
    for one in started:
        one.kill()


def load(one, tmp_path, source, scale=1.0, **functions):
    """Load a module of that source, which ends with a provider if it gets so far."""
    (tmp_path / "mine.py").write_text(textwrap.dedent(source) + JOURNAL, encoding="utf-8")
    root = str(Path(__file__).parents[3])
    command = Load(
        target="mine:Mine",
        functions=functions,
        scale=scale,
        root=str(tmp_path / "load"),
        env={},
        directory=str(tmp_path),
        path=[str(tmp_path), root],
    )
    return one.ask(command, 60.0)


@pytest.mark.parametrize(("scale", "stretched"), [(0.1, 1.0), (1.0, 1.0), (3.0, 3.0)])
def test_a_slow_machine_is_given_longer_to_come_to_the_target(child, tmp_path, scale, stretched):
    one = child(scale=scale)
    load(one, tmp_path, "")
    assert one._stuck_s == process._STUCK_S * stretched


def run(one, tmp_path, source):
    """Load a provider, and run the source beside it, where it may start programs and print."""
    source = "def warm():\n" + textwrap.indent(textwrap.dedent(source), "    ")
    return load(one, tmp_path, source, warm=["mine:warm", "the test"])


def test_a_child_loads_a_target_and_answers_again(child, tmp_path):
    one = child()
    assert load(one, tmp_path, "").reply.binding["name"] == "native"
    assert one.ask(Nothing(), 60).fate == "answered"
    assert one.alive
    one.kill()
    assert not one.alive
    assert one.ending == "signal SIGKILL"


def test_an_interpreter_that_cannot_be_run_is_named(child, monkeypatch):
    monkeypatch.setattr(sandbox, "interpreter", lambda: "/nowhere/python")
    with pytest.raises(ChildDidNotStart, match="/nowhere/python cannot be run"):
        child()


def test_a_child_that_ends_before_it_gets_its_keys_is_told_by_the_first_question(
    child, monkeypatch, tmp_path
):
    # It has none of the descriptors, so that nobody reads them.
    ended = functools.partial(subprocess.Popen, [sys.executable, "-c", ""])
    monkeypatch.setattr(template, "start", lambda _: ended())
    one = child()
    with pytest.raises(ChildDidNotStart):
        load(one, tmp_path, "")


def test_a_child_that_ends_before_it_is_ready_shows_what_it_printed(child, monkeypatch, tmp_path):
    monkeypatch.setattr(process, "_CHILD", "memproto.testing.no_such_module")
    one = child()
    with pytest.raises(ChildDidNotStart, match=r"No module named memproto\.testing\.no_such"):
        load(one, tmp_path, "")


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        ("import os; os._exit(7)\n", "exit code 7"),
        ("import os; os.abort()\n", "signal SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n", "signal SIGKILL"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)\n", "signal SIGSTOP"),
        ("import ctypes; ctypes.string_at(0)\n", "signal SIGSEGV"),
    ],
)
def test_a_death_is_told_with_its_ending_and_the_step_it_came_in(child, tmp_path, source, ending):
    answer = load(child(), tmp_path, source)
    assert (answer.fate, answer.operation, answer.ending) == ("died", "load", ending)


def test_a_target_that_closes_every_descriptor_is_told_so(child, tmp_path):
    answer = load(child(), tmp_path, "import os; os.closerange(0, 4096)\n")
    assert answer.fate == "died"
    assert answer.ending == "it closed file descriptors that it had not opened"


def test_nothing_of_the_kit_gets_into_a_file_that_took_the_place_of_its_descriptor(child, tmp_path):
    # It is ended as soon as a descriptor is another file, so all files are made before.
    source = f"""
    import os
    files = [open({str(tmp_path)!r} + f"/file-{{n}}", "wb") for n in range(40)]
    last = max(file.fileno() for file in files)
    for number, file in enumerate(files, 3):
        os.dup2(file.fileno(), number + last)
    os.closerange(3, last + 1)
    for number in range(3, 43):
        os.dup2(number + last, number)
    """
    assert load(child(), tmp_path, source).fate == "died"
    files = list(tmp_path.glob("file-*"))
    assert len(files) == 40
    assert not any(path.read_bytes().startswith(b"\n{") for path in files)


def test_a_hook_that_hangs_is_late_and_its_stack_is_kept(child, tmp_path):
    answer = load(child(SCALE), tmp_path, "import threading\nthreading.Event().wait()\n", SCALE)
    assert (answer.fate, answer.operation) == ("late", "load")
    assert answer.stack[0].endswith("mine.py:2 in <module>")


def test_a_lock_that_is_held_without_computing_is_a_freeze(child, tmp_path):
    source = "import ctypes\nctypes.PyDLL(None).sleep(1000)\n"
    answer = load(child(SCALE), tmp_path, source)
    assert (answer.fate, answer.operation) == ("froze", "load")


def test_a_pattern_that_holds_the_interpreter_is_a_freeze(child, tmp_path):
    source = "import re\nre.match(r'(a+)+$', 'a' * 60 + '!')\n"
    answer = load(child(SCALE), tmp_path, source)
    assert (answer.fate, answer.operation) == ("froze", "load")


def test_a_flood_of_output_is_taken_in_and_its_end_is_kept(child, tmp_path):
    one = child()
    source = "import os\nfor _ in range(40): os.write(1, b'x' * 500_000)\nos.write(2, b'the end')\n"
    assert run(one, tmp_path, source).fate == "answered"
    assert one.output().endswith("xthe end")
    assert len(one.output()) <= 4_000


def test_a_forked_copy_neither_answers_nor_takes_the_next_command(child, tmp_path):
    one = child()
    assert load(one, tmp_path, "import os\nos.fork()\n").fate == "answered"
    fates = {one.ask(Nothing(), 60).fate for _ in range(50)}
    assert fates == {"answered"}


def test_what_a_target_writes_on_the_kits_descriptors_spoils_no_answer(child, tmp_path):
    source = """
    import os
    for number in range(3, 40):
        try: os.write(number, b'{"kind": "done"}' + b'[' * 100_000)
        except OSError: pass
    """
    assert load(child(), tmp_path, source).reply.binding["name"] == "native"


@pytest.mark.parametrize("new_session", [False, True])
def test_a_grandchild_is_ended_with_its_child(child, tmp_path, new_session):
    one = child()
    source = f"""
    import subprocess
    started = subprocess.Popen(["sleep", "1000"], start_new_session={new_session})
    open({str(tmp_path / "pid")!r}, "w").write(str(started.pid))
    """
    assert run(one, tmp_path, source).fate == "answered"
    one.kill()
    psutil.wait_procs(_processes(tmp_path), timeout=30)
    assert not _processes(tmp_path)


def test_a_grandchild_that_was_disowned_is_found_by_its_places(child, tmp_path):
    source = f"""
    import os, subprocess
    started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    open({str(tmp_path / "pid")!r}, "w").write(str(started.pid))
    os._exit(0)
    """
    assert run(child(), tmp_path, source).fate == "died"
    assert _processes(tmp_path)
    vitals.end_strays(tmp_path)
    psutil.wait_procs(_processes(tmp_path), timeout=30)
    assert not _processes(tmp_path)


def _processes(tmp_path):
    pid = int((tmp_path / "pid").read_text("ascii"))
    return [psutil.Process(pid)] if psutil.pid_exists(pid) and not _is_over(pid) else []


def _is_over(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_child_that_holds_more_memory_than_it_may_is_ended(child, tmp_path):
    one = child(memory_mb=300)
    source = """
    import threading
    held = b"-" * (400 << 20)
    threading.Event().wait()
    """
    answer = load(one, tmp_path, source)
    assert (answer.fate, answer.operation) == ("grew", "load")
    assert answer.ending.endswith("MB of memory")
    assert not one.alive


def test_a_process_of_which_no_thread_computes_has_no_busiest_one():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as waits:
        seen = psutil.Process(waits.pid)
        rests = patience.happens(lambda: vitals.busiest(seen) is None, patience.HAPPENS_S)
        waits.communicate(b"\n")
    assert rests


def test_an_earlier_look_is_told_if_no_thread_can_be_seen_to_compute(child, tmp_path, monkeypatch):
    one = child()
    load(one, tmp_path, "")
    one._still = ("mine.py:1 in matches",)
    monkeypatch.setattr(vitals, "busiest", lambda _: None)
    assert one._frames_that_compute() == ("mine.py:1 in matches",)


def test_a_look_that_cannot_tell_who_computes_shows_nobody(child, tmp_path, monkeypatch):
    one = child()
    load(one, tmp_path, "")
    one._hooks = {0: None}
    monkeypatch.setattr(one._pulse, "computes", lambda *_: True)
    monkeypatch.setattr(vitals, "busiest", lambda _: None)
    monkeypatch.setattr(stacks, "of", lambda *_, **__: pytest.fail("a thread was asked"))
    one._look_while_still(time.monotonic())
    assert one._still == ()
