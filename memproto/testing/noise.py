"""
The machine's effect on times: measured at the start, and again whenever something was late.

A check asserts only a bound that the specification sets, and a bound was passed only where the
provider passed it. On a machine that is busy with other work a good provider is late as well; the
slowdown that is measured here tells the two apart, and where it cannot, nothing is decided.
"""

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterator
from os import O_RDONLY, close, read
from os import open as open_file
from pathlib import Path

#: One sample of work, in processor time: longer than the slice that a scheduler gives away.
_BURN_S = 0.02

_SAMPLES = 3

_NAP_S = 0.005

_NAPS = 10

#: Below it a factor is the noise of the measurement itself.
_PLAIN = 1.2

#: No machine is waited for longer than by this factor: a hang must end as well.
MOST = 8.0


@dataclasses.dataclass(frozen=True, slots=True)
class Noise:
    """
    The distance of this machine from a quiet one.

    Attributes:
        slowdown: Wall time over processor time of a thread that only computes; 1 is a quiet one.
        late_ms: By how much a thread that sleeps wakes up late, as the median of a few.
        cores: Number of processors that the run may use.

    """

    slowdown: float
    late_ms: float
    cores: int

    def __str__(self) -> str:
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''}"
        pace = "at full speed" if self.slowdown == 1 else f"{self.slowdown:.1f} times slower"
        return f"{cores}, computes {pace}, wakes up {self.late_ms:.1f} ms late"

    def as_dict(self) -> dict[str, float]:
        """Plain JSON values."""
        return dataclasses.asdict(self)


def measure() -> Noise:
    """Measure the machine; blocks for about a tenth of a second of a quiet one."""
    late_s = _middle(_oversleeping_s, _NAPS)
    return Noise(slowdown(), round(late_s * 1000, 1), cores())


def slowdown() -> float:
    """The factor by which a computing thread takes longer now than alone; 1 where it is small."""
    found: list[float] = []
    for _ in range(_SAMPLES):
        found.append(_stretch())
        # The middle one is small as soon as most of them are: the rest need not be taken.
        if sum(one < _PLAIN for one in found) > _SAMPLES // 2:
            return 1.0
    return round(min(sorted(found)[_SAMPLES // 2], MOST), 1)


def _middle(sample: Callable[[], float], count: int) -> float:
    # The statistics module brings fractions and decimals into every child.
    return sorted(sample() for _ in range(count))[count // 2]


def _stretch() -> float:
    began_s, used_s = time.perf_counter(), time.thread_time()
    while time.thread_time() - used_s < _BURN_S:
        pass
    return (time.perf_counter() - began_s) / (time.thread_time() - used_s)


def _oversleeping_s() -> float:
    began_s = time.perf_counter()
    time.sleep(_NAP_S)
    return max(0.0, time.perf_counter() - began_s - _NAP_S)


def cores() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def starved_s(thread: int = 0, process: int = 0) -> float:
    """
    Seconds that a thread, the calling one unless it is named, stood ready and got no processor.

    Linux counts it since the thread began; elsewhere it is 0, and the slowdown has to do.
    """
    return _scheduled_s(f"{process or 'self'}/task/{thread or threading.get_native_id()}")[1]


class Work:
    """
    The work of a process since this was made, by the counts of Linux; 0 elsewhere.

    A thread that ended meanwhile is left out.
    """

    def __init__(self, process: int) -> None:
        """Begin to count."""
        self._process = process
        self._began = _threads_s(process)

    def done_s(self) -> float:
        """Seconds in which its threads computed, or stood ready and got no processor."""
        return sum(computed + ready for computed, ready in self._since())

    def held_up_s(self) -> float:
        """As `done_s`, only the seconds in which they stood ready and got no processor."""
        return sum(ready for _, ready in self._since())

    def _since(self) -> Iterator[tuple[float, float]]:
        for thread, (computed, ready) in _threads_s(self._process).items():
            computed_before, ready_before = self._began.get(thread, (0.0, 0.0))
            yield computed - computed_before, ready - ready_before

    def is_at_a_disk(self) -> bool:
        """True if a thread of it waits for a disk, which no count shows."""
        return any(
            _state(f"{self._process}/task/{thread}") == b"D" for thread in _threads(self._process)
        )


def held_up_s(process: int) -> float:
    """Seconds in which the threads of a process stood ready and got no processor."""
    return sum(ready for _, ready in _threads_s(process).values())


def _threads(process: int) -> list[str]:
    try:
        return [item.name for item in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return []


def _threads_s(process: int) -> dict[str, tuple[float, float]]:
    return {thread: _scheduled_s(f"{process}/task/{thread}") for thread in _threads(process)}


def _state(place: str) -> bytes:
    """The letter of a thread's state; empty if it is gone."""
    try:
        line = Path(f"/proc/{place}/stat").read_bytes()
    except OSError:
        return b""
    # Its name stands before, in parentheses, and may hold any character.
    return line.rpartition(b")")[2].strip()[:1]


def _scheduled_s(place: str) -> tuple[float, float]:
    """Seconds that a thread computed, and that it stood ready; zeros where nobody counts them."""
    try:
        descriptor = open_file(f"/proc/{place}/schedstat", O_RDONLY)
    except OSError:
        return 0.0, 0.0
    try:
        computed, ready, *_ = read(descriptor, 100).split()
        return int(computed) / 1e9, int(ready) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0
    finally:
        close(descriptor)


def excuse(took_s: float, budget_s: float, starved: float) -> str:
    """
    Why a time beyond its budget says nothing about the provider, or "" where it does.

    Measures the machine once more; call it right after what was late.
    """
    factor = slowdown()
    if took_s <= budget_s + starved:
        return f"the thread stood ready for {starved:.1f} s of it and got no processor"
    if took_s <= budget_s * factor:
        return _slower(factor)
    return ""


def busy() -> str:
    """In words that the machine is busy with other work just now, or ""."""
    factor = slowdown()
    return _slower(factor) if factor > 1 else ""


def _slower(factor: float) -> str:
    return f"this machine computes {factor:.1f} times slower now than alone"
