"""
Whether a conclusive outcome of the builtin provider ever changes, on a quiet and on a busy machine.

    python benchmarks/stability.py [RUNS] [busy]

Prints for how many requirements two runs came to different conclusions, and the share of outcomes
that were inconclusive; `busy` keeps every core occupied meanwhile.
"""

import collections
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


def outcomes(folder: str) -> dict[str, str]:
    """The outcome of every requirement of one run; `exit code` stands among them."""
    report = Path(folder, "report.json")
    words = ["-q", "--memproto=builtin", f"--memproto-report={report}"]
    command = [sys.executable, "-P", "-m", "pytest", *words]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    rows = json.loads(report.read_text("utf-8"))["reports"][0]["results"]
    return {row["id"]: row["outcome"] for row in rows}


@contextlib.contextmanager
def load(*, busy: bool) -> Iterator[None]:
    """Keep every core occupied for the time of the block."""
    spin = [sys.executable, "-c", "while True: pass"]
    count = (os.cpu_count() or 1) if busy else 0
    hogs = [subprocess.Popen(spin) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()


def main(runs: int, *, busy: bool) -> None:
    """Run the verdict `runs` times and print what differed."""
    seen: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    took_s: list[float] = []
    with load(busy=busy), tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            begin = time.perf_counter()
            for name, outcome in outcomes(folder).items():
                seen[name][outcome] += 1
            took_s.append(time.perf_counter() - begin)
    _tell(seen, took_s, busy=busy)


def _tell(seen: dict[str, collections.Counter[str]], took_s: list[float], *, busy: bool) -> None:
    open_count = sum(counts["inconclusive"] for counts in seen.values())
    total = sum(counts.total() for counts in seen.values())
    changed = {name: dict(c) for name, c in seen.items() if len(set(c) - {"inconclusive"}) > 1}
    print(f"{len(took_s)} runs{', every core busy' if busy else ''}, {total} outcomes")
    print(f"requirements that changed between two conclusive outcomes: {len(changed)} {changed}")
    print(f"inconclusive: {open_count} of {total} ({open_count / total:.2%})")
    for name, counts in seen.items():
        if counts["inconclusive"]:
            print(f"  {name}: {dict(counts)}")
    print(f"a run took {min(took_s):.1f} to {max(took_s):.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10, busy="busy" in sys.argv)
