"""The file of a trace: shared, full, closed, and at the end of a process."""

import contextlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memproto.recording import Recording, record
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.tracing import judge, read
from tests.good.journal import Journal
from tests.programs import IMPORTABLE
from tests.tracing.recorded import SECRET, file, home, lived, trace_in

__all__ = ["file", "home"]  # fixtures


# -- the file --------------------------------------------------------------------------------------


def test_two_recordings_may_share_a_file(file: Path, tmp_path: Path) -> None:
    first, second = Recording(file), Recording(file)
    for number, recording in enumerate((first, second)):
        place = tmp_path / str(number)
        place.mkdir()
        lived(recording.around(Journal()), place)
    first.close()
    second.close()
    traces, damages = read(file)
    assert len(traces) == 2
    assert damages == []
    assert [judge(trace) for trace in traces] == [[], []]


def test_lines_of_many_threads_are_whole_and_numbered(file: Path) -> None:
    recording = Recording(file)
    recorded = recording.around(Journal())
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait(20)
        for _ in range(50):
            recorded.is_available()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recording.close()
    assert len(trace_in(file).calls) == 400


def test_each_line_is_in_the_file_before_the_hook_returns(file: Path) -> None:
    seen: list[int] = []

    class Looks(Journal):
        def is_available(self) -> bool:
            seen.append(file.read_text().count("\n"))
            return True

    recorded = record(Looks(), file)
    recorded.is_available()
    assert seen == [3]
    assert file.read_text().count("\n") == 4


class Full(io.StringIO):
    """A stream on a disk that has no room for a while."""

    is_full = False

    def write(self, line: str) -> int:
        if self.is_full:
            super().write(line[:10])
            raise OSError(28, "No space left on device")
        return super().write(line)


def test_a_full_disk_hurts_no_hook_and_is_told_by_the_last_line(file: Path, home: Path) -> None:
    stream = Full()
    recording = Recording(stream)
    recorded = recording.around(BuiltinMemoryProvider())
    assert recorded.is_available()
    stream.is_full = True
    recorded.initialize("s", {"home": str(home)})
    recorded.on_memory_write("add", "memory", SECRET)
    stream.is_full = False
    recording.close()
    assert SECRET in (home / "MEMORY.md").read_text()
    assert recording.dropped == 4
    file.write_text(stream.getvalue())
    (trace,), damages = read(file)
    assert not trace.is_whole
    assert any("torn" in d.reason or "no JSON" in d.reason for d in damages)
    assert any("missing" in damage.reason for damage in damages)


class Unreadable(dict):
    def get(self, *args: object) -> object:
        raise RuntimeError


def test_a_line_that_could_not_be_made_leaves_a_gap(file: Path, home: Path) -> None:
    with Recording(file) as recording:
        recorded = recording.around(Journal())
        with pytest.raises(RuntimeError):  # the provider cannot read it either
            recorded.initialize("s", Unreadable(home=str(home)))
    (trace,), damages = read(file)
    assert recording.dropped == 1
    assert not trace.is_whole
    assert any("missing" in damage.reason for damage in damages)


def test_a_closed_stream_hurts_no_hook(home: Path) -> None:
    stream = io.StringIO()
    recorded = record(BuiltinMemoryProvider(), stream)
    stream.close()
    lived(recorded, home)
    assert SECRET in (home / "MEMORY.md").read_text()


def test_a_stream_of_bytes_gets_bytes(file: Path, home: Path) -> None:
    with file.open("wb") as stream, Recording(stream) as recording:
        lived(recording.around(Journal()), home)
    assert judge(trace_in(file)) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_hurts_no_hook(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    lived(record(Journal(), "/dev/full"), home)
    told = [r.getMessage() for r in caplog.records if r.name == "memproto.recording"]
    assert told == ["a line of the trace was not written: OSError"]


def test_a_file_that_cannot_be_opened_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        record(Journal(), tmp_path / "nowhere" / "trace.jsonl")


def test_a_trace_is_readable_for_its_user_only(file: Path) -> None:
    record(Journal(), file)
    assert file.stat().st_mode & 0o077 == 0


def test_a_recording_ends_when_nothing_refers_to_it(file: Path) -> None:
    record(Journal(), file).is_available()
    assert trace_in(file).is_ended


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_recording_that_ended_holds_no_file_open(file: Path) -> None:
    def held() -> bool:
        return str(file) in map(os.path.realpath, Path("/proc/self/fd").iterdir())

    recorded = record(Journal(), file)
    assert held()
    del recorded
    assert not held()


def test_a_forked_child_writes_nothing(file: Path) -> None:
    recorded = record(Journal(), file)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=recorded.is_available)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert read(file)[0][0].calls == []


FORKED = """
import os, sys, threading
from tests.good.journal import Journal
from memproto.recording import record

class Slow:
    is_slow, writes, goes_on = False, threading.Event(), threading.Event()

    def write(self, line):
        if self.is_slow:
            self.writes.set()
            self.goes_on.wait()

stream = Slow()
recorded = record(Journal(), stream)
stream.is_slow = True
writer = threading.Thread(target=recorded.is_available)
writer.start()
stream.writes.wait()
child = os.fork()
if child == 0:
    recorded.initialize("s", {"home": sys.argv[1]})
    recorded.shutdown()
    sys.exit(7)
_, status = os.waitpid(child, 0)
stream.goes_on.set()
writer.join()
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_child_that_was_forked_beside_a_write_is_held_up_by_nothing(home: Path) -> None:
    words = [sys.executable, "-P", "-W", "ignore", "-c", FORKED, str(home)]
    variables = {**os.environ, "PYTHONPATH": IMPORTABLE}
    with subprocess.Popen(words, env=variables, start_new_session=True) as process:
        try:
            assert process.wait(30) == 7
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


# -- the end of a process --------------------------------------------------------------------------

PROGRAM = """
import atexit, sys, threading
from memproto import MemoryProviderRegistry
from tests.good.journal import Journal

PROMISED = ("home", "protocol", "deadlines", "limits", "platform")

class Hangs(Journal):
    def on_turn_complete(self, user_message, assistant_response):
        print("hangs", flush=True)
        threading.Event().wait()

opened = []
atexit.register(lambda: [provider.shutdown() for provider in opened])
from memproto.recording import Recording
recording = Recording(sys.argv[1])
registry = MemoryProviderRegistry()
registry.register(recording.around(Hangs() if sys.argv[3] == "killed" else Journal()))
registry.initialize_all("s", {"home": sys.argv[2]})
registry.on_turn_complete("a", "b")
if sys.argv[3] == "late":  # its exit function was registered before there was a recorder
    opened.append(recording.around(Journal()))
    opened[0].is_available()
    opened[0].initialize("t", dict.fromkeys(PROMISED, {}) | {"home": sys.argv[2]})
    opened[0].capabilities()
if sys.argv[3] == "killed":
    threading.Event().wait()
"""


def program(file: Path, home: Path, how: str) -> subprocess.Popen:
    words = [sys.executable, "-P", "-c", PROGRAM, str(file), str(home), how]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": IMPORTABLE}
    )


@pytest.mark.parametrize("how", ["ended", "late"])
def test_a_program_that_ends_without_a_word_leaves_a_whole_trace(
    file: Path, home: Path, how: str
) -> None:
    with program(file, home, how) as process:
        assert process.wait(60) == 0
    trace = trace_in(file)
    assert trace.is_ended
    assert judge(trace) == []


def test_the_call_in_which_a_process_was_killed_is_in_its_trace(file: Path, home: Path) -> None:
    with program(file, home, "killed") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"hangs\n"
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    trace = trace_in(file)
    assert not trace.is_ended
    assert (trace.calls[-1].operation, trace.calls[-1].outcome) == ("record", "unfinished")
    assert judge(trace, still_running=True) == []
