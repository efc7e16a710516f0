"""The next step for the user, in one or two commands."""

from collections import Counter
from typing import Any

from memproto import spec
from memproto.report import verdicts
from memproto.testing import needs
from memproto.testing.outcomes import OPEN, Outcome

_REPORT = "report this, please: the kit itself failed in"


def next_steps(report: dict[str, Any]) -> list[str]:
    """The commands for what is red; else the setting that decides most of what is open."""
    rows = report["results"]
    red = [row for row in rows if row["outcome"] == Outcome.FAIL]
    broken = [row["id"] for row in rows if row["outcome"] == Outcome.KIT_ERROR]
    if broken:
        return [f"{_REPORT} {', '.join(broken[:3])}"]
    if not red and report["verdict"] == "NON-CONFORMANT":
        red = [row for row in rows if verdicts.is_red(row, strict=True)]
    red.sort(key=lambda row: spec.CLASSES.index(verdicts.class_of(row)))
    if red:
        return [f"memproto explain {red[0]['id']}", red[0]["reproduce"]]
    return _unlocking(report)


def _unlocking(report: dict[str, Any]) -> list[str]:
    """The setting that most of the open requirements name, and what is behind a closed gate."""
    named: Counter[str] = Counter()
    for row in report["results"]:
        if row["outcome"] in OPEN:
            named.update(needs.settings(needs.of_row(row)))
    if not named:
        return []
    key, count = named.most_common(1)[0]
    verb = "requirement needs" if count == 1 else "requirements need"
    return [f"set `{key}`: {count} {verb} it; docs/settings.md"]
