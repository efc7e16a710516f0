"""
Real providers judged side by side and one after the other: the outcomes that differ.

    python benchmarks/same_real.py [--rounds=4] [--lanes=2] [--keep=FILE.json] ENTRY ...

ENTRY is the stem of a file of `census/entries`, which says how the provider is installed and set
up. Each gets a virtual environment of its own below a temporary directory. The two kinds of runs
take turns. The outcomes of a real provider may change from run to run of one kind by themselves, so
that a requirement differs if its outcomes of one kind and those of the other have none in common;
those that change within a kind are printed as well. Exit code 1 if a requirement differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from census import entries  # noqa: E402 - needs the path above
from tests.wild import environments  # noqa: E402 - as above


def judged(python: Path, entry: entries.Entry, folder: Path, lanes: int) -> dict[str, str]:
    """Judge in a directory of its own with so many checks at a time; requirement to outcome."""
    folder.mkdir()
    for name, text in {"memproto.toml": "", **entry.files}.items():
        # A key of the top level stands before all tables.
        head = f"parallel = {lanes}\n" if name == "memproto.toml" else ""
        (folder / name).write_text(head + text, "utf-8")
    report = folder / "report.json"
    command = [python, "-m", "pytest", "-q", f"--memproto={entry.target}"]
    command += [f"--memproto-report={report}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not report.exists():
        sys.exit(f"{entry.name} has no report:\n{done.stdout}{done.stderr}")
    rows = json.loads(report.read_text("utf-8"))["reports"][0]["results"]
    return {row["id"]: row["outcome"] for row in rows}


def main(words: list[str]) -> int:
    """Judge in turn, and print a line for each entry; 1 if a requirement differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="+", metavar="ENTRY")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--keep", type=Path, metavar="FILE.json")
    asked = parser.parse_args(words)
    known = entries.read_all()
    if unknown := [name for name in asked.entries if name not in known]:
        parser.error(f"no entry {', '.join(unknown)} in census/entries")
    differing, kept = 0, {}
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", made]
        subprocess.run([*command, str(ROOT)], check=True)
        wheel = next(Path(made).glob("memproto-*.whl"))
        for name in asked.entries:
            entry, folder = known[name], Path(made, name)
            folder.mkdir()
            python = environments.environment(folder / "venv", wheel, *entry.installs)
            alone: dict[str, set[str]] = defaultdict(set)
            together: dict[str, set[str]] = defaultdict(set)
            for number in range(asked.rounds):
                for kind, seen, lanes in (("1", alone, 1), ("2", together, asked.lanes)):
                    place = folder / f"{number}-{kind}"
                    for row, outcome in judged(python, entry, place, lanes).items():
                        seen[row].add(outcome)
            rows = sorted(alone.keys() | together.keys())
            apart = [row for row in rows if not alone[row] & together[row]]
            moving = [row for row in rows if len(alone[row] | together[row]) > 1]
            differing += len(apart)
            kept[name] = {
                row: {"alone": sorted(alone[row]), "together": sorted(together[row])}
                for row in moving
            }
            print(
                f"{name}: {asked.rounds} pairs of {len(rows)} outcomes, differ: "
                f"{', '.join(apart) or 'none'}; change from run to run: "
                f"{', '.join(moving) or 'none'}; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    if asked.keep:
        asked.keep.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
