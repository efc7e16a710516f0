"""Room for further processes: the memory, descriptors and processes that this machine has left."""

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import psutil

#: Processes that one lane of checks has at a time: its child, hosts that a check starts, and those
#: in which a check left threads. Each shares the template's pages until it writes to them.
_PROCESSES = 4

#: A process needs so many megabytes beside what the target holds.
_OWN_MB = 30.0

#: So much of the free memory may be used, since checks store large texts as well.
_SHARE = 0.5

#: Descriptors of this process for one lane; its hosts have their own limits.
_DESCRIPTORS = 24

#: Above this number a descriptor cannot be waited for with `select`.
_MOST_DESCRIPTORS = 1_000

#: Processes and threads of one lane by the system's count; a target may start some.
_TASKS = 48

_CGROUPS = Path("/sys/fs/cgroup")


def lanes(held_mb: float) -> int:
    """Number of lanes for which there is room, at least 1, if the target holds so much memory."""
    memory = _SHARE * _free_mb() / (_PROCESSES * (_OWN_MB + held_mb))
    return max(1, int(min(memory, _descriptors() / _DESCRIPTORS, _tasks() / _TASKS)))


def _free_mb() -> float:
    """Free memory of the machine, or of the container that this process runs in."""
    free = [float(psutil.virtual_memory().available)]
    for group in _groups():
        with contextlib.suppress(OSError, ValueError):
            used = _number(group / "memory.current") - _cached(group / "memory.stat")
            free.append(_number(group / "memory.max") - used)
    return max(0.0, min(free)) / (1 << 20)


def _cached(file: Path) -> float:
    """Bytes of files that are kept in memory only as long as nobody needs it."""
    rows = (line.split() for line in file.read_text("ascii").splitlines())
    return sum(float(value) for name, value in rows if name == "inactive_file")


def _descriptors() -> float:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if limit == resource.RLIM_INFINITY else min(limit, _MOST_DESCRIPTORS)
    return max(0.0, most - _open_descriptors())


def _open_descriptors() -> int:
    with contextlib.suppress(OSError, psutil.Error):
        return psutil.Process().num_fds()
    return 0


def _tasks() -> float:
    """Processes and threads that may still be started."""
    left = [float("inf")]
    for group in _groups():
        with contextlib.suppress(OSError, ValueError):
            left.append(_number(group / "pids.max") - _number(group / "pids.current"))
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    # The system does not hold the superuser to it.
    if limit != resource.RLIM_INFINITY and os.getuid() != 0:
        left.append(limit - _mine())
    return max(0.0, min(left))


def _mine() -> int:
    """Threads of all processes of this user."""
    count = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.uids().real == os.getuid():
                count += process.num_threads()
    return count


def _groups() -> Iterator[Path]:
    """The control group of this process, and those above it; none if there are no such groups."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text("utf-8", "replace").splitlines():
            if line.startswith("0::"):
                group = _CGROUPS / line.removeprefix("0::").strip("/")
                yield from (group, *(it for it in group.parents if it.is_relative_to(_CGROUPS)))


def _number(file: Path) -> float:
    text = file.read_text("ascii").strip()
    return float("inf") if text == "max" else float(text)
