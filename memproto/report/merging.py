"""
The reports of a sharded run as one document.

Shards are reports on the same target by the same kit, settings and Python; of each requirement the
result counts that was decided. Reports on other targets, or from another Python, stand beside them.
"""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from memproto import spec
from memproto.report import classes, next_step, times, verdicts
from memproto.report.document import fingerprint
from memproto.report.verdict_line import DECLARED
from memproto.testing import cascades, outcomes
from memproto.testing.outcomes import Outcome, Result

#: Fields that shards of one run have in common.
_SAME = ("side", "target", "spec", "kit", "profile", "seed", "strict", "allow_incomplete", "class")
_SAME_ENVIRONMENT = ("implementation", "hermes_agent", "time_scale")


@dataclasses.dataclass(frozen=True)
class Merged:
    """
    The one document, and what the shards do not agree on.

    Attributes:
        conflicts: Requirements that two shards decided unlike; the worse outcome stands.
        repeated: Names of files that hold nothing that another one does not hold.

    """

    document: dict[str, Any]
    conflicts: list[str]
    repeated: list[str]


def merge(documents: Iterable[tuple[str, dict[str, Any]]]) -> Merged:
    """The documents as one; each comes with the name of its file."""
    groups: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    seen: set[str] = set()
    repeated: list[str] = []
    for name, document in documents:
        new = [item for item in document["reports"] if item["fingerprint"] not in seen]
        repeated += [] if new or not document["reports"] else [name]
        seen |= {item["fingerprint"] for item in new}
        for report in new:
            groups.setdefault(_key(report), []).append((name, report))
    conflicts = [text for shards in groups.values() for text in _conflicts(shards)]
    reports = [_together([report for _, report in shards]) for shards in groups.values()]
    allowed = bool(reports) and all(item.get("allow_incomplete", False) for item in reports)
    code = verdicts.exit_code(reports, allow_incomplete=allowed)
    document = {"format": 1, "exit_code": int(code), "reports": reports}
    return Merged(document, conflicts, repeated)


def _key(report: dict[str, Any]) -> str:
    environment = report["environment"]
    python = ".".join(str(environment.get("python", "")).split(".")[:2])
    system = str(environment.get("platform", "")).partition("-")[0]
    same = [report.get(name) for name in _SAME]
    others = [environment.get(name) for name in _SAME_ENVIRONMENT]
    return json.dumps([*same, python, system, *others, report["settings"]], sort_keys=True)


# -- conflicts -------------------------------------------------------------------------------------


def _conflicts(shards: list[tuple[str, dict[str, Any]]]) -> list[str]:
    decided: dict[str, dict[str, str]] = {}
    for name, report in shards:
        for row in report["results"]:
            if row["outcome"] != Outcome.NOT_RUN:
                decided.setdefault(row["id"], {}).setdefault(row["outcome"], name)
    target = shards[0][1]["target"]
    return [
        f"{key} of {target}: " + ", ".join(f"{said} in {name}" for said, name in found.items())
        for key, found in decided.items()
        if len(found) > 1
    ]


# -- one report ------------------------------------------------------------------------------------


def _together(shards: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of all shards; one that is whole already stays as it is."""
    first = shards[0]
    if len(shards) == 1 and not first["selected"]:
        return first
    rows = cascades.resolved_rows(_rows(shards))
    report = {
        **first,
        "binding": next((item["binding"] for item in shards if item["binding"]), None),
        "verdict": verdicts.verdict(rows, strict=bool(first.get("strict", False))),
        **_classes(first, rows),
        "counts": verdicts.counts(rows),
        **_declared(shards),
        "extensions": _extensions(shards, rows),
        "results": rows,
        "behind": cascades.behind(rows),
        # A requirement that no shard ran is missing now: it was not left out on purpose.
        "selected": False,
        "environment": _environment(shards),
        **_network(shards),
        "merged": [item["fingerprint"] for item in shards],
        **_waivers(shards, rows),
        **_costs(shards),
    }
    report["next"] = next_step.as_data(report)
    return {**report, "fingerprint": fingerprint(report)}


def _classes(first: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The verdict of each class over all rows, where the shards' kit knew classes."""
    if "classes" not in first:
        return {}
    return {"classes": classes.verdicts_of(rows, strict=bool(first.get("strict", False)))}


def _network(shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Confined if each shard was; each address of any. Reports of an older kit say nothing."""
    told = [item["network"] for item in shards if "network" in item]
    if not told:
        return {}
    outward = {one["address"]: one for network in told for one in reversed(network["outward"])}
    reason = next((network["reason"] for network in told if not network["confined"]), None)
    confined = all(network["confined"] for network in told)
    network = {"confined": confined, "reason": reason, "outward": list(outward.values())}
    return {"network": network}


def _declared(shards: list[dict[str, Any]]) -> dict[str, Any]:
    """The target's own declarations, from the first shard that has them."""
    told = [{key: item[key] for key in DECLARED if key in item} for item in shards]
    return next(filter(None, told), {})


def _rows(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in (row for report in shards for row in report["results"]):
        known = found.get(row["id"])
        found[row["id"]] = row if known is None else _worse(known, row)
    order = {key: place for place, key in enumerate(spec.requirements())}
    return sorted(found.values(), key=lambda row: order.get(row["id"], len(order)))


def _worse(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    results = [Result(row["id"], _weighed(row)) for row in (first, second)]
    return first if outcomes.worse(*results) is results[0] else second


def _weighed(row: dict[str, Any]) -> Outcome:
    """A waived result weighs what it was before it was waived."""
    waived = row["outcome"] == Outcome.WAIVED and row["waiver"]
    return Outcome(row["waiver"]["outcome"] if waived else row["outcome"])


def _extensions(shards: list[dict[str, Any]], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Each extension that a shard saw declared, with the verdict of all rows."""
    found: dict[str, Any] = {}
    for name, said in (item for report in shards for item in report["extensions"].items()):
        known = found.setdefault(name, dict(said))
        known["declared"] = known["declared"] or said["declared"]
        seen = [value for value in (known["served"], said["served"]) if value is not None]
        known["served"] = all(seen) if seen else None
    for name, item in found.items():
        mine = [row for row in rows if _extension(row["id"]) == name]
        item["verdict"] = verdicts.verdict(mine, strict=False) if mine else None
    return found


def _extension(requirement_id: str) -> str:
    known = spec.requirements().get(requirement_id)
    return known.extension if known else ""


def _waivers(shards: list[dict[str, Any]], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Faults and notes of all shards, each once; a waiver that one needs is of use to all."""
    tables = [report["waivers"] for report in shards if "waivers" in report]
    if not tables:
        return {}
    outcome = {row["id"]: row["outcome"] for row in rows}
    date = max(table["date"] for table in tables)
    found: dict[str, Any] = {"date": date}
    for name in ("faults", "notes"):
        told = _once(item for table in tables for item in table[name])
        found[name] = [item for item in told if _still_holds(item, outcome.get(item["id"], ""))]
    return {"waivers": found}


def _still_holds(item: dict[str, Any], outcome: str) -> bool:
    """True if what a shard told of a waiver is true of the outcome that counts for all of them."""
    if item["kind"] == "stale":
        return outcome == Outcome.PASS
    if item["kind"] == "not_needed":
        return outcome in (Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED, Outcome.WARN)
    return True


def _once(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(item, sort_keys=True): item for item in items}.values())


def _environment(shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Values that agree as they are, numbers as the largest, others as a list in one text."""
    names = dict.fromkeys(name for report in shards for name in report["environment"])
    return {name: _agreed([r["environment"].get(name) for r in shards]) for name in names}


def _agreed(values: list[Any]) -> Any:
    if all(value == values[0] for value in values):
        return values[0]
    if all(isinstance(value, int | float) for value in values):
        return max(values)
    return " / ".join(dict.fromkeys(str(value) for value in values if value is not None))


def _costs(shards: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    costs = [report["cost"] for report in shards if "cost" in report]
    if costs:
        found["cost"] = {
            "checks_s": round(sum(cost["checks_s"] for cost in costs), 3),
            "hooks_s": round(sum(cost["hooks_s"] for cost in costs), 3),
            "hooks": _hooks(costs),
        }
    operations = [report["operations"] for report in shards if "operations" in report]
    return {**found, "operations": times.merged(operations)} if operations else found


def _hooks(costs: list[dict[str, Any]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    rows = (item for cost in costs for item in cost["hooks"].items())
    for name, (calls, longest_s, *rest) in rows:
        known = found.setdefault(name, [0, 0.0, 0.0])
        total_s = rest[0] if rest else 0.0
        found[name] = [known[0] + calls, max(known[1], longest_s), round(known[2] + total_s, 4)]
    return dict(sorted(found.items()))
