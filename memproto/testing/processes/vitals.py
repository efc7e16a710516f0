"""A process seen from outside: whether it stands still, what it started, its end."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

#: Shorter silence, twice the time between two beats of a child, is none.
_SILENCE_S = 0.4

#: An interpreter that runs none of the kit's code for so long, while it computes, is frozen.
FROZEN_S = 4.0

#: Processor time after which the kit's thread must have had its turn, if it could have any. It is
#: the second that MP-THR-002 leaves: a tenth of a processor makes 0.4 s of work 4 s of silence.
_TURN_S = 1.0

#: After one freeze of a target the next is believed after so long.
FROZEN_AGAIN_S = 1.5

#: Processor time without a beat after which it is worth asking which thread computes.
_COMPUTED_S = 0.1

#: The memory of a process is looked at so often.
_WEIGHING_S = 0.1

#: Processor time is counted in steps of 0.01 s.
_COMPARED_S = 0.1

#: Silent for so long without computing, it is stopped, or waits with the interpreter lock held.
_SILENT_S = 20.0


class Pulse:
    """
    Tells an interpreter that stands still from one that the machine does not schedule.

    A frozen interpreter sends nothing and uses the processor; a starved one sends nothing and
    does not get it. The measure is processor time, which a loaded machine only stretches.
    """

    def __init__(self, process: psutil.Process, scale: float) -> None:
        self.last = time.monotonic()
        self._process = process
        self._scale = scale
        self._mark: float | None = None
        self._weighed = 0.0

    def beat(self) -> None:
        """Note that the interpreter ran Python code just now."""
        self.last = time.monotonic()
        self._mark = None

    def stands_still(self, now: float, after_s: float) -> bool:
        """True if nothing came for `after_s`, in which the process computed, or for 20 s."""
        silent_s = now - self.last
        if silent_s < _SILENCE_S:
            return False
        if self._mark is None:
            # Asked for only once the child is silent: a look at its times is not free.
            self._mark = self._used_s()
        if silent_s < after_s * self._scale:
            return False
        return silent_s > _SILENT_S * self._scale or self._used_s() - self._mark > _TURN_S

    def is_undecided(self, now: float) -> bool:
        """
        True if a silence is too short to tell a frozen interpreter from a starved one.

        The answer comes with the next beat, with the processor time of `stands_still`, or when the
        silence has lasted for twice that time.
        """
        silent_s = now - self.last
        return _SILENCE_S <= silent_s < _SILENCE_S + 2 * _TURN_S

    def computes(self, now: float, after_s: float) -> bool:
        """
        True if nothing came for `after_s`, and the process computed in it.

        The measure is the processor's time, whatever share of the silence that is: a thread that
        waits for the interpreter gets it after 5 ms of the time of the thread that has it.
        """
        silent_s = now - self.last
        if silent_s < _SILENCE_S:
            return False
        if self._mark is None:
            self._mark = self._used_s()
        return silent_s >= after_s and self._used_s() - self._mark >= _COMPUTED_S

    def is_stopped(self, now: float) -> bool:
        """True if a signal stopped the process, and nobody let it go on."""
        if now - self.last < _SILENCE_S:
            return False
        with contextlib.suppress(psutil.Error):
            return bool(self._process.status() == psutil.STATUS_STOPPED)
        return False

    def holds_mb(self, now: float) -> float:
        """Megabytes that the process holds; 0 if it was looked at a moment ago."""
        if now - self._weighed < _WEIGHING_S:
            return 0.0
        self._weighed = now
        with contextlib.suppress(psutil.Error):
            return float(self._process.memory_info().rss) / (1 << 20)
        return 0.0

    def _used_s(self) -> float:
        with contextlib.suppress(psutil.Error):
            times = self._process.cpu_times()
            return float(times.user + times.system)
        return 0.0


def busiest(process: psutil.Process) -> int | None:
    """
    The thread of a process that computes most, by the system's number.

    Blocks for 0.1 s. None if no thread computed meanwhile, as on a machine whose processors are
    all taken: then nothing tells a thread that waits from one that lets no other run.
    """
    with contextlib.suppress(psutil.Error):
        before = _used(process)
        time.sleep(_COMPARED_S)
        used = {
            number: used_s - before.get(number, 0.0) for number, used_s in _used(process).items()
        }
        most = max(used, key=used.__getitem__, default=process.pid)
        return most if used.get(most, 0.0) > 0 else None
    return None


def _used(process: psutil.Process) -> dict[int, float]:
    return {item.id: item.user_time + item.system_time for item in process.threads()}


def ending(code: int) -> str:
    """The ending of a process with this exit code, negative for a signal: "signal SIGSEGV"."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def end_group(process: psutil.Process) -> None:
    """Kill a process, its group, and everything that it started and did not disown."""
    offspring: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        offspring = process.children(recursive=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for started in offspring:
        with contextlib.suppress(psutil.Error):
            started.kill()


def end_strays(*roots: Path) -> None:
    """Kill every process whose home or working directory lies below one, orphans included."""
    for process in _suspects(*roots):
        if process.pid != os.getpid() and belongs(process, *roots):
            with contextlib.suppress(psutil.Error):
                process.kill()


def _suspects(*roots: Path) -> Iterator[psutil.Process]:
    """
    The processes of the machine without most of those that do not belong below a root.

    After each child all processes are looked at, of which nearly none belongs there, and psutil
    computes for three times as long as it takes to read what tells that.
    """
    if sys.platform != "linux":
        yield from psutil.process_iter()
        return
    below = tuple(f"{root}{os.sep}" for root in roots)
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208 - names alone
        is_below = False
        with contextlib.suppress(OSError):
            is_below = _home(pid).startswith(below)
        with contextlib.suppress(OSError):
            is_below = is_below or os.readlink(f"/proc/{pid}/cwd").startswith(below)  # noqa: PTH115
        if is_below:
            with contextlib.suppress(psutil.Error):
                yield psutil.Process(pid)


def helpers(pid: int, *roots: Path) -> list[psutil.Process]:
    """The processes beside `pid` that belong below a root, and that are none of the kit's own."""
    return [
        process
        for process in psutil.process_iter()
        if process.pid != pid and belongs(process, *roots) and not _is_of_the_kit(process)
    ]


def _is_of_the_kit(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return zombie or any(word.startswith("memproto.testing") for word in process.cmdline())
    return True


def belongs(process: psutil.Process, *roots: Path) -> bool:
    """True if the home or the working directory of a process lies below one of them."""
    below = tuple(f"{root}{os.sep}" for root in roots)
    with contextlib.suppress(psutil.Error, OSError):
        if sys.platform == "linux":
            home = _home(process.pid)
        else:
            home = process.environ().get("HOME", "")
        if home.startswith(below):
            return True
    with contextlib.suppress(psutil.Error, OSError):
        return process.cwd().startswith(below)
    return False


def _home(pid: int) -> str:
    """
    HOME in the environment of a process, or ""; on Linux.

    Raises:
        OSError: It has ended, or its environment may not be read.

    """
    # psutil makes a dictionary of the whole environment.
    with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123 - of many
        _, is_set, rest = (b"\0" + file.readall()).partition(b"\0HOME=")
    return os.fsdecode(rest.partition(b"\0")[0]) if is_set else ""
