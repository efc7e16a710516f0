"""
Changes of a conclusive outcome of a target, on a quiet and on a busy machine.

    python benchmarks/stability.py [RUNS] [--target TARGET] [--profile quick|ci|deep] [--busy]
                                   [--workers N] [--at-once N] [--keep DIR]

The target is the builtin provider if none is named.

Prints how many runs there were and with which exit codes, the outcomes, the requirements for which
two runs came to different conclusions, and the share of outcomes that were inconclusive. `--busy`
keeps every core occupied meanwhile; `--workers` spreads each run over so many processes, as `-n`;
with `--at-once` so many runs compete with each other. With `--keep` a run that another one
contradicts, or in which something is open, leaves its report in that directory. The exit code is 1
where a requirement changed between two conclusive outcomes, too many outcomes were open, or a run
gave no report.
"""

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: Of all outcomes no more than this part may be inconclusive.
AIM = 0.02

#: Outcomes by which a run decides nothing about a requirement.
OPEN = ("inconclusive", "not_run")


@dataclasses.dataclass(frozen=True)
class Done:
    """
    One run.

    Attributes:
        outcomes: Requirement id to outcome; none where there is no report.
        code: The exit code.
        took_s: Seconds that it took.

    """

    outcomes: dict[str, str]
    code: int
    took_s: float


def run(folder: Path, words: list[str]) -> Done:
    """Make one run in `folder`, where its report stays."""
    report = folder / "report.json"
    command = [sys.executable, "-P", "-m", "pytest", "-q", *words]
    begin = time.perf_counter()
    done = subprocess.run(
        [*command, f"--memproto-report={report}"], cwd=folder, capture_output=True, check=False
    )
    took_s = time.perf_counter() - begin
    if not report.exists():
        sys.stderr.write(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
        return Done({}, done.returncode, took_s)
    rows = json.loads(report.read_text("utf-8"))["reports"][0]["results"]
    return Done({row["id"]: row["outcome"] for row in rows}, done.returncode, took_s)


@contextlib.contextmanager
def load(*, busy: bool) -> Iterator[None]:
    """Keep every core occupied for the time of the block, or the life of this process."""
    turns = "while os.getppid() == parent:\n    for _ in range(10**6): pass"
    spin = [sys.executable, "-c", f"import os\nparent = {os.getpid()}\n{turns}"]
    count = (os.cpu_count() or 1) if busy else 0
    hogs = [subprocess.Popen(spin) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def runs(asked: argparse.Namespace) -> Iterator[Done]:
    """Make the runs; the report of what is worth a look stays in the directory to keep."""
    words = [f"--memproto={asked.target}", f"--memproto-profile={asked.profile}"]
    words += ["-n", str(asked.workers)] if asked.workers else []
    usual: dict[str, str] = {}
    with load(busy=asked.busy), tempfile.TemporaryDirectory() as name:
        folders = [Path(name, str(number)) for number in range(asked.runs)]
        for folder in folders:
            folder.mkdir()
        with ThreadPoolExecutor(asked.at_once) as pool:
            for folder, done in zip(
                folders, pool.map(lambda folder: run(folder, words), folders), strict=True
            ):
                usual = usual or done.outcomes
                if asked.keep and (done.outcomes != usual or set(OPEN) & {*done.outcomes.values()}):
                    _keep(folder, asked.keep)
                yield done


def _keep(folder: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copy(folder / "report.json", place / f"run-{folder.name}.json")


def changed(seen: dict[str, collections.Counter[str]]) -> dict[str, dict[str, int]]:
    """The requirements with more than one conclusive outcome."""
    return {name: dict(c) for name, c in sorted(seen.items()) if len(set(c) - set(OPEN)) > 1}


def tell(found: list[Done], asked: argparse.Namespace) -> bool:
    """Print what came of the runs; whether nothing changed and few outcomes were open."""
    seen: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for done in found:
        for name, outcome in done.outcomes.items():
            seen[name][outcome] += 1
    outcomes = sum(seen.values(), collections.Counter[str]())
    total, unsure = outcomes.total(), sum(outcomes[name] for name in OPEN)
    pace = f"{asked.profile}{', every core busy' if asked.busy else ''}"
    pace += f", {asked.workers} workers" if asked.workers else ""
    pace += f", {asked.at_once} runs at a time" if asked.at_once > 1 else ""
    codes = dict(collections.Counter(done.code for done in found))
    print(f"{len(found)} runs ({pace}) on {os.cpu_count()} cores, exit codes {codes}")
    print(f"{total} outcomes of {len(seen)} requirements: {dict(outcomes.most_common())}")
    print(f"changed between two conclusive outcomes: {len(changed(seen))} {changed(seen) or ''}")
    print(f"inconclusive: {unsure} of {total} ({unsure / max(total, 1):.2%}; aim {AIM:.0%})")
    for name, counts in sorted(seen.items()):
        if any(counts[word] for word in OPEN):
            print(f"  {name}: {dict(counts)}")
    times = sorted(done.took_s for done in found)
    print(f"a run took {times[0]:.1f} to {times[-1]:.1f} s, the middle one {_middle(times):.1f} s")
    return not changed(seen) and unsure <= AIM * total and all(d.outcomes for d in found)


def _middle(times: list[float]) -> float:
    return times[len(times) // 2]


def main(words: list[str]) -> int:
    """Run the verdict and print what differed; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("runs", nargs="?", type=int, default=10)
    parser.add_argument("--target", default="builtin")
    parser.add_argument("--profile", choices=("quick", "ci", "deep"), default="quick")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args(words)
    return 0 if tell(list(runs(asked)), asked) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
