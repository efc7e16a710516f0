"""
Outcomes of one provider in the kit's process and behind `memproto serve`, side by side.

`python -P tests/wire/crossing.py TARGET [WORD ...]` judges a target both ways, from the working
directory, with further words for pytest, and prints each requirement that crosses the wire and has
another outcome; the exit code is 1 if any has. Two reports of `--memproto-report` in place of the
target are compared as they are. Requirements that the binding names as out of reach are left out,
and those of the wire.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memproto.bindings import WIRE

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    # Behind the installed package: `memproto` is not to come from the checkout.
    sys.path.append(str(ROOT))

from tests.kit_runs import outcomes  # noqa: E402 - needs the path above

SERVE = f"{sys.executable} -P -m memproto serve"


def crossing(here: dict[str, Any], served: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Requirement id to both outcomes, for every requirement that can cross."""
    first, second = outcomes(here), outcomes(served)
    return {
        name: (first[name], second[name])
        for name in first
        if name not in WIRE.out_of_reach and not name.startswith("MP-WIRE-")
    }


def judged(target: str, words: list[str]) -> dict[str, Any]:
    """The report of a run of the kit, in the working directory."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        report = f"--memproto-report={file}"
        run = [sys.executable, "-m", "pytest", "-q", f"--memproto={target}", report, *words]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if not file.exists():
            raise SystemExit(done.stdout + done.stderr)
        report_of: dict[str, Any] = json.loads(file.read_text("utf-8"))["reports"][0]
        return report_of


def main(words: list[str]) -> int:
    """Compare two reports, or two runs."""
    if words[0].endswith(".json"):
        here, served = (json.loads(Path(word).read_text("utf-8"))["reports"][0] for word in words)
    else:
        here, served = (
            judged(target, words[1:]) for target in (words[0], f"wire:{SERVE} {words[0]}")
        )
    rows = crossing(here, served)
    changed = {name: pair for name, pair in rows.items() if pair[0] != pair[1]}
    for name, (first, second) in changed.items():
        sys.stdout.write(f"{name}: {first} here, {second} served\n")
    passed = sum(pair == ("pass", "pass") for pair in rows.values())
    told = f"{passed} pass in both, {len(changed)} differ"
    sys.stdout.write(f"{len(rows)} requirements cross, {told}\n")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
