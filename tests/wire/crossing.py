"""
Outcomes of one provider in the kit's process and behind `memproto serve`, side by side.

`python -m tests.wire.crossing HERE.json SERVED.json` takes two reports of `--memproto-report` and
prints each requirement that crosses the wire and has another outcome; the exit code is 1 if any
has. Requirements that the binding names as out of reach are left out, and those of the wire.
"""

import json
import sys
from pathlib import Path
from typing import Any

from memproto.bindings import WIRE
from tests.kit_runs import outcomes


def crossing(here: dict[str, Any], served: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Requirement id to both outcomes, for every requirement that can cross."""
    first, second = outcomes(here), outcomes(served)
    return {
        name: (first[name], second[name])
        for name in first
        if name not in WIRE.out_of_reach and not name.startswith("MP-WIRE-")
    }


def main(words: list[str]) -> int:
    """Compare two reports."""
    here, served = (json.loads(Path(word).read_text("utf-8"))["reports"][0] for word in words)
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
