"""The steps that a host's driver lacks, by the number of requirements that each would unlock."""

from typing import Any

from memproto.testing import cascades, needs
from memproto.testing.needs import Driver
from memproto.testing.outcomes import OPEN


def lacking(report: dict[str, Any]) -> dict[str, int]:
    """Step to the number of open requirements that wait for it; the one with most is the first."""
    behind = cascades.behind(report["results"])
    found: dict[str, int] = {}
    for row in report["results"]:
        if row["outcome"] not in OPEN:
            continue
        for need in needs.of_row(row):
            if isinstance(need, Driver) and need.what == Driver.STEP:
                weight = 1 + len(behind.get(row["id"], ()))
                found[need.part] = found.get(need.part, 0) + weight
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def line(report: dict[str, Any]) -> str:
    """All of them in one line; "" for none."""
    found = lacking(report)
    if not found:
        return ""
    (first, count), *rest = found.items()
    rules = "requirement" if count == 1 else "requirements"
    told = [f"`{first}` unlocks {count} {rules}", *(f"`{name}` {n}" for name, n in rest)]
    return f"steps that the driver lacks: {', '.join(told)}"
