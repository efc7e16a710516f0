"""
Writes the cost of each check: `memproto/testing/judging/check_costs.json`.

    python scripts/make_check_costs.py WAIT_S FAST.json SLOW.json [FAST.json SLOW.json ...]

Each pair are reports of one provider and of the same one whose waiting hooks sleep WAIT_S; see
`benchmarks/slow_provider.py`, which makes them. The second tells the calls that checks make in
processes of their own, and which of them are made at the same time. Of several providers the mean
counts.
"""

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks.slow_provider import HOOKS  # noqa: E402 - as above
from memproto.operations import OPERATIONS  # noqa: E402 - as above

FILE = ROOT / "memproto" / "testing" / "judging" / "check_costs.json"

#: Operations that sleep in the slow provider.
WAITING = {name for name, row in OPERATIONS.items() if row.native in HOOKS}


def rows(file: str) -> dict[str, dict[str, Any]]:
    """Results of the one report of a document that a check was run for, by id."""
    (report,) = json.loads(Path(file).read_text("utf-8"))["reports"]
    return {row["id"]: row for row in report["results"] if row["outcome"] == "pass"}


def costs(wait_s: float, fast: str, slow: str) -> dict[str, dict[str, Any]]:
    """Each check's own seconds, calls, and further calls, for one provider."""
    slowly, found = rows(slow), {}
    for name, row in rows(fast).items():
        if name in slowly:
            calls = {operation: made[0] for operation, made in row.get("hooks", {}).items()}
            own_s = row["duration_s"] - sum(made[2] for made in row.get("hooks", {}).values())
            # On a busy machine the fast one may have taken longer; no call takes less than no time.
            waited = max(0.0, (slowly[name]["duration_s"] - row["duration_s"]) / wait_s)
            known = sum(count for operation, count in calls.items() if operation in WAITING)
            further = max(0.0, waited - known)
            share = min(1.0, waited / known) if known else 1.0
            kept = {operation: count * share for operation, count in calls.items()}
            found[name] = {"own_s": max(0.0, own_s), "calls": kept, "further": further}
    return found


def joined(found: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The means over providers."""
    together: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        for name, cost in one.items():
            together[name].append(cost)
    return {name: _mean(together[name]) for name in sorted(together)}


def _mean(known: list[dict[str, Any]]) -> dict[str, Any]:
    operations = sorted({name for cost in known for name in cost["calls"]})
    return {
        "own_s": round(statistics.mean(cost["own_s"] for cost in known), 3),
        "calls": {
            name: round(statistics.mean(cost["calls"].get(name, 0.0) for cost in known), 1)
            for name in operations
        },
        "further": round(statistics.mean(cost["further"] for cost in known), 1),
    }


def main(words: list[str]) -> None:
    """Read pairs of reports, and write the file."""
    wait_s, files = float(words[0]), words[1:]
    pairs = zip(files[::2], files[1::2], strict=True)
    found = joined([costs(wait_s, fast, slow) for fast, slow in pairs])
    lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1:])
