"""
The cost of a quick verdict of the builtin provider beside another release of the kit.

    python benchmarks/verdict_cost.py PYTHON [ROUNDS [WORD ...]]

PYTHON is the interpreter of an environment into which the other release was installed from a wheel,
with the same packages beside it as this one's. Both judge in turn. The words, such as
--memproto-clause=MP-NAME-001, are for both commands. Counted is processor time, user
and system, of every process of a run: the interpreter's own and those that it waited for, and apart
from them all, those included that were killed with their group. Other work on the machine stretches
processor time as well, though less than wall time, so only ratios of the same rounds say something.
"""

import contextlib
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

#: A number of `prctl` on Linux.
_PR_SET_CHILD_SUBREAPER = 36

#: The processes that a run has killed can be counted after so long.
_ENDING_S = 0.3

_WORDS = ["-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--memproto=builtin"]


def used_s(python: str, folder: str, *words: str) -> tuple[float, float]:
    """Processor seconds of one run: of what it waited for, and of all; it must end with 0."""
    before = _of_children_s()
    # With the variable, pytest compiles the modules that it rewrites anew in each run.
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [python, *_WORDS, *words], cwd=folder, stdout=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{python} ended with {process.returncode}")
    time.sleep(_ENDING_S)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return usage.ru_utime + usage.ru_stime, _of_children_s() - before


def _of_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def adopt_orphans() -> None:
    """Have this process inherit, and so count, the processes that lose their parent."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def main(other: str, rounds: int, *words: str) -> None:
    """Run both in turn, `rounds` times, and print medians, minima and ratios."""
    adopt_orphans()
    found: dict[str, list[tuple[float, float]]] = {other: [], sys.executable: []}
    with tempfile.TemporaryDirectory() as folder:
        for python in found:
            used_s(python, folder, *words)  # it compiles what the following runs import
        for _ in range(rounds):
            for python, times in found.items():
                times.append(used_s(python, folder, *words))
    for index, name in enumerate(("waited for", "all")):
        theirs, mine = ([times[index] for times in rows] for rows in found.values())
        ratios = [one / two for one, two in zip(mine, theirs, strict=True)]
        print(
            f"{name}: {statistics.median(mine):.2f} s beside {statistics.median(theirs):.2f} s; "
            f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
            f"of the least times {min(mine) / min(theirs):.2f}"
        )


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] == sys.executable:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5, *sys.argv[3:])
