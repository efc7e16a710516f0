"""
What a verdict of the builtin provider costs, in quick and in ci, on one process and on two.

    python benchmarks/verdict.py [ROUNDS]

Ratios are to a pytest run that collects one empty test, taken in the same round.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = {
    "pytest, one empty test": ["-q", "test_nothing.py"],
    "quick": ["-q", "--memproto=builtin"],
    "quick -n 2": ["-q", "--memproto=builtin", "-n", "2"],
    "ci": ["-q", "--memproto=builtin", "--memproto-profile=ci"],
    "ci -n 2": ["-q", "--memproto=builtin", "--memproto-profile=ci", "-n", "2"],
}


def took_s(words: list[str], folder: str) -> float:
    """Wall-clock seconds of one run, which must end with exit code 0."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=folder, capture_output=True, check=True
    )
    return time.perf_counter() - begin


def main(rounds: int) -> None:
    """Run all rows in turn, `rounds` times, and print median, spread and ratio."""
    found: dict[str, list[float]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing(): pass\n", "ascii")
        for _ in range(rounds):
            for name, words in RUNS.items():
                found[name].append(took_s(words, folder))
    floor = statistics.median(found["pytest, one empty test"])
    for name, times in found.items():
        middle = statistics.median(times)
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{name:<24} {middle:6.2f} s ({spread}), {middle / floor:5.1f} times the floor")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
