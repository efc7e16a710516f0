"""
By how much a verdict, a turn of the registry and the fence grow, each by the things it depends on.

    python benchmarks/growth.py [PART ...] [--rounds N] [--json FILE]

The parts are rules, targets, latency and workers of a verdict, providers and messages of a turn,
and fence; all of them if none is named, sized for a quarter of an hour on two quiet cores. In each
part the rows take turns, N times (3, unless it is said; the turns of the registry ten times as
often), and a ratio is the median of the ratios of the rounds. Times of verdicts and turns are by
the wall, those of the fence by the processor. The JSON is for `scripts/growth_figures.py`; a part
that is measured replaces the one that the file had.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import growth_calls
import growth_verdict
from growth_rows import measured, table

PARTS = {
    "rules": growth_verdict.rules,
    "targets": growth_verdict.targets,
    "latency": growth_verdict.latency,
    "workers": growth_verdict.workers,
    "providers": growth_calls.providers,
    "messages": growth_calls.messages,
    "fence": growth_calls.sanitizing,
}


def main(words: list[str]) -> None:
    """Measure the parts, print each, and keep it at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", metavar="PART", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    given = parser.parse_args(words)
    if unknown := sorted({*given.parts} - {*PARTS}):
        parser.error(f"{unknown[0]} is no part; there are {', '.join(PARTS)}")
    kept = {}
    if given.json is not None and given.json.exists():
        kept = json.loads(given.json.read_text("utf-8"))
    for name in given.parts or PARTS:
        with PARTS[name]() as part:
            kept[name] = measured(name, part, given.rounds)
        print("\n".join(table(name, kept[name])), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
