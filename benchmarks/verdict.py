"""
The cost of a verdict of the builtin provider, in quick and in ci, on one process and on two.

    python benchmarks/verdict.py [ROUNDS]

Ratios are to a pytest run that collects one empty test, taken in the same round. At the end comes
the profile of one ci run: what its checks took, the slowest first, and what is left for the start
of processes, first contact and pytest.
"""

import json
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
        profile(folder)
    floor = statistics.median(found["pytest, one empty test"])
    for name, times in found.items():
        middle = statistics.median(times)
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{name:<24} {middle:6.2f} s ({spread}), {middle / floor:5.1f} times the floor")


def profile(folder: str) -> None:
    """Print where the time of one ci run goes."""
    report = Path(folder, "report.json")
    whole_s = took_s([*RUNS["ci"], f"--memproto-report={report}"], folder)
    rows = json.loads(report.read_text("utf-8"))["reports"][0]["results"]
    times = sorted(((row["duration_s"], row["id"]) for row in rows), reverse=True)
    checks_s = sum(duration_s for duration_s, _ in times)
    print(f"\na ci run: {whole_s:.2f} s, {checks_s:.2f} s of it in {len(times)} checks")
    for duration_s, name in times[:12]:
        print(f"{name:<24} {duration_s:6.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
