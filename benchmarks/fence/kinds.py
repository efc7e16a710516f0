"""
The cost of sanitizing real files, beside a shipped fence in the same run, by kind of text.

    python benchmarks/fence/kinds.py [--files 150] [--against WHEEL] DIRECTORY ...

Reads .md, .rst and .py files below, each content once, and takes a sample that is the same in each
run. The row `all` of a suffix is the median if each kind has as many files as were found. The peer
is hermes-agent's `sanitize_context`. With `--against` the `sanitize_context` of
another wheel of memproto is timed as well, and its output is compared. Times are processor time,
the least of 5 interleaved rounds; a ratio is that of one file.
"""

import argparse
import hashlib
import importlib
import math
import statistics
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.memory_manager import sanitize_context as peer
from files import texts

from memproto import sanitize_context

Fence = Callable[[str], str]

ROUNDS = 5
#: A text is repeated up to so many characters, so that the clock can tell it.
LEAST = 20_000
DENSE = 0.3


def kind(path: Path, text: str) -> str:
    """The row of a file: its suffix, and how much of it is not ASCII."""
    if text.isascii():
        return f"{path.suffix} ASCII"
    share = sum(not char.isascii() for char in text) / len(text)
    return f"{path.suffix} {'dense' if share > DENSE else 'some other characters'}"


def timed(fences: list[Fence], text: str) -> list[float]:
    """The least time of each fence, in microseconds of the processor."""
    least = [math.inf] * len(fences)
    repeats = max(1, LEAST // (len(text) + 1))
    for _ in range(ROUNDS):
        for number, fence in enumerate(fences):
            began = time.process_time_ns()
            for _ in range(repeats):
                fence(text)
            least[number] = min(least[number], (time.process_time_ns() - began) / 1e3 / repeats)
    return least


def weighted_median(found: list[tuple[float, float]]) -> float:
    """The median of numbers that have a weight each."""
    half, reached = sum(weight for _, weight in found) / 2, 0.0
    for number, weight in sorted(found):
        reached += weight
        if reached >= half:
            return number
    return math.nan


def former(wheel: Path, folder: str) -> Fence:
    """The fence of another wheel, under the names of this one only while it is imported."""
    zipfile.ZipFile(wheel).extractall(folder)
    mine = {
        name: sys.modules.pop(name) for name in [*sys.modules] if name.split(".")[0] == "memproto"
    }
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("memproto").sanitize_context
    finally:
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.split(".")[0] == "memproto"]:
            del sys.modules[name]
        sys.modules.update(mine)


def first_call(text: str) -> float:
    """Milliseconds of the first call of a process, the import aside."""
    program = (
        "import sys, time; from memproto import sanitize_context as s; t = sys.argv[1];"
        "a = time.process_time_ns(); s(t); print((time.process_time_ns() - a) / 1e6)"
    )
    command = [sys.executable, "-P", "-c", program, text]
    return min(float(subprocess.check_output(command)) for _ in range(ROUNDS))


def main() -> None:
    """Print a row for each kind."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--files", type=int, default=150)
    asked.add_argument("--against", type=Path)
    asked.add_argument("directories", nargs="+")
    args = asked.parse_args()
    with TemporaryDirectory() as folder:
        fences: list[Fence] = [peer, sanitize_context]
        if args.against:
            fences.append(former(args.against, folder))
        by_kind: dict[str, list[tuple[Path, str]]] = {}
        for path, text in texts(args.directories):
            if 200 <= len(text) <= 500_000:
                by_kind.setdefault(kind(path, text), []).append((path, text))
        of_suffix: dict[str, list[tuple[float, float]]] = {}
        print(f"{'kind':28}{'files':>6}{'median':>8}{'p90':>7}{'worst':>7}{'was':>7}{'differ':>8}")
        for name, found in sorted(by_kind.items()):
            found.sort(key=lambda one: hashlib.sha256(one[1].encode()).digest())
            ratios, before, differ, worst = [], [], 0, (0.0, Path())
            for path, text in found[: args.files]:
                theirs, ours, *old = timed(fences, text)
                ratios.append(ours / theirs)
                worst = max(worst, (ratios[-1], path))
                before += [one / theirs for one in old]
                differ += bool(old) and fences[1](text) != fences[2](text)
            ratios.sort()
            weight = len(found) / len(ratios)
            of_suffix.setdefault(name.split()[0], []).extend((one, weight) for one in ratios)
            was = statistics.median(before) if before else math.nan
            print(
                f"{name:28}{len(ratios):6}{statistics.median(ratios):8.2f}"
                f"{ratios[len(ratios) * 9 // 10]:7.2f}{ratios[-1]:7.2f}"
                f"{was:7.2f}{differ:8}  {worst[1].name}"
            )
        for suffix, found in of_suffix.items():
            number = sum(len(files) for name, files in by_kind.items() if name.startswith(suffix))
            print(f"{suffix + ' all':28}{number:6}{weighted_median(found):8.2f}")
    for name, text in (("ASCII", "a < b & c"), ("other", "« café » < b")):
        print(f"first call, {name}: {first_call(text):.1f} ms")


if __name__ == "__main__":
    main()
