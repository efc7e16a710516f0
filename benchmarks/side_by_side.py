"""
A verdict on a provider whose hooks wait: checks side by side, and one after the other.

    python benchmarks/side_by_side.py [--ms=100] [--rounds=1] [--all] [--together] [TARGET]

TARGET is a class of `benchmarks/slow_provider.py`, `Builtin` unless it is said. Without --all a few
chapters are judged, with it all of them: one after the other that takes 5,000 times the wait.
With --together nothing is judged one after the other; the ratio is of what the calls wait in total.
Printed are the wall times and their ratio, the number of calls, how far the announced time was from
the real one, and the outcomes that differ, of which there must be none.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: Chapters with long and with short checks.
SOME = ("NAME", "INIT", "RECALL", "WRITE", "DATA", "SHUT", "RES")

#: The time that a run announces at its start.
_ANNOUNCED = re.compile(r"at a time \(.*\): about (\d+) (s|min)")


def judged(target: str, wait_ms: int, words: list[str], parallel: str) -> dict[str, Any]:
    """Judge the target in a directory of its own; its report, its seconds and its output."""
    # The process of the target has nothing of this one's environment.
    settings = f'{parallel}env = {{ SLOW_MS = "{wait_ms}" }}\n'
    named = [f"benchmarks.slow_provider:{target}"]
    reports, took_s, said = ran(named, words, {"memproto.toml": settings})
    return {"report": reports[0], "took_s": took_s, "said": said}


def ran(
    targets: list[str], words: list[str], files: dict[str, str]
) -> tuple[list[dict[str, Any]], float, str]:
    """Judge targets in one run, in a directory that holds the files; reports, seconds, output."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "benchmarks").symlink_to(ROOT / "benchmarks")
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "ascii")
        file = Path(folder) / "report.json"
        named = [*(f"--memproto={target}" for target in targets), f"--memproto-report={file}"]
        begin_s = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        took_s = time.perf_counter() - begin_s
        if not file.exists():
            sys.exit(done.stdout + done.stderr)
        return json.loads(file.read_text("utf-8"))["reports"], took_s, done.stdout


def outcomes(run: dict[str, Any]) -> dict[str, str]:
    """Requirement to outcome."""
    return {row["id"]: row["outcome"] for row in run["report"]["results"]}


def summary(run: dict[str, Any]) -> str:
    """How many requirements have each outcome."""
    counts = Counter(outcomes(run).values())
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())


def calls(run: dict[str, Any]) -> int:
    """Number of hook calls in the processes of checks."""
    return sum(int(row[0]) for row in run["report"]["cost"]["hooks"].values())


def announced_s(run: dict[str, Any]) -> float:
    """The seconds that the run announced; 0 if it announced none."""
    found = _ANNOUNCED.search(run["said"])
    return 0.0 if found is None else float(found[1]) * (60 if found[2] == "min" else 1)


def main(words: list[str]) -> None:
    """Judge in turn, side by side and one after the other, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default="Builtin")
    parser.add_argument("--ms", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--together", action="store_true")
    options = parser.parse_args(words)
    chosen = [] if options.all else [f"--memproto-clause=MP-{area}" for area in SOME]
    ratios = []
    for _ in range(options.rounds):
        together = judged(options.target, options.ms, chosen, "")
        if options.together:
            waits_s = calls(together) * options.ms / 1000
            ratios.append(waits_s / together["took_s"])
            print(
                f"{options.ms} ms: side by side {together['took_s']:.0f} s (announced "
                f"{announced_s(together):.0f}); {calls(together):,} calls that wait "
                f"{waits_s:.0f} s, ratio {ratios[-1]:.1f}; {summary(together)}"
            )
            continue
        alone = judged(options.target, options.ms, chosen, "parallel = 1\n")
        ratios.append(alone["took_s"] / together["took_s"])
        first, second = outcomes(together), outcomes(alone)
        differing = [
            f"{name}: {first[name]}, {second[name]}"
            for name in first
            if first[name] != second[name]
        ]
        print(
            f"{options.ms} ms: one after the other {alone['took_s']:.0f} s, side by side "
            f"{together['took_s']:.0f} s (announced {announced_s(together):.0f}), "
            f"ratio {ratios[-1]:.1f}; calls {calls(alone):,} and {calls(together):,}; "
            f"outcomes that differ: {'; '.join(differing) or 'none'}"
        )
    print(f"ratio {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


if __name__ == "__main__":
    main(sys.argv[1:])
