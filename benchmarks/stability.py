"""
Whether the verdict of the builtin provider ever changes, on a quiet and on a busy machine.

    python benchmarks/stability.py [RUNS] [busy]

Prints how many different lists of outcomes there were; `busy` keeps both cores occupied meanwhile.
"""

import collections
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def outcomes(folder: str) -> tuple[int, tuple[str, ...]]:
    """The exit code and the outcome of every requirement of one run."""
    report = Path(folder, "report.json")
    words = ["-q", "--memproto=builtin", f"--memproto-report={report}"]
    command = [sys.executable, "-P", "-m", "pytest", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    rows = json.loads(report.read_text("utf-8"))["reports"][0]["results"]
    return done.returncode, tuple(f"{row['id']} {row['outcome']}" for row in rows)


def main(runs: int, *, busy: bool) -> None:
    """Run the verdict `runs` times and print what differed."""
    spin = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(spin) for _ in range(2)] if busy else []
    took_s: list[float] = []
    seen: collections.Counter[tuple[int, tuple[str, ...]]] = collections.Counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(runs):
                begin = time.perf_counter()
                seen[outcomes(folder)] += 1
                took_s.append(time.perf_counter() - begin)
    finally:
        for hog in hogs:
            hog.kill()
    codes = sorted({code for code, _ in seen})
    print(
        f"{runs} runs{', both cores busy' if busy else ''}: exit codes {codes}, "
        f"{len(seen)} different lists of outcomes, {min(took_s):.1f} to {max(took_s):.1f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10, busy="busy" in sys.argv)
