"""The report as a JSON document, as in `schemas/report.schema.json`."""

import dataclasses
import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memproto import __version__, spec
from memproto.bindings import Binding
from memproto.operations import EXTENSION_HOOKS
from memproto.report import classes, message, needs, next_step, times, verdicts
from memproto.testing import cascades, evidence, outcomes, spread
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings import waivers
from memproto.testing.settings.order import Contact, Order


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """
    Facts that hold for all targets of a run.

    Attributes:
        strict: A SHOULD that does not hold is red.
        allow_incomplete: INCOMPLETE exits 0.
        narrowed: An option may have left requirements out.
        conformance_class: The class of providers that the exit code asks for.

    """

    strict: bool = False
    allow_incomplete: bool = False
    narrowed: bool = False
    conformance_class: spec.ConformanceClass = spec.CLASSES[-1]


@dataclasses.dataclass(frozen=True)
class Judged:
    """One target with everything that was found out about it."""

    order: Order
    contact: Contact
    results: list[Result]


def build(judged: list[Judged], facts: RunFacts) -> dict[str, Any]:
    """The whole document: one report for each target, and the exit code."""
    reports = [_report(item, facts) for item in judged]
    code = verdicts.exit_code(reports, allow_incomplete=facts.allow_incomplete)
    return {"format": 1, "exit_code": int(code), "reports": reports}


def write(path: Path, document: dict[str, Any]) -> None:
    """
    Write the document to `path`.

    Raises:
        OSError: The file cannot be written.

    """
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    path.write_bytes(text.encode("utf-8", "backslashreplace"))


def fingerprint(report: dict[str, Any]) -> str:
    """The sha256 of a report's canonical JSON, without the fingerprint itself."""
    rest = {key: value for key, value in report.items() if key != "fingerprint"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _report(judged: Judged, facts: RunFacts) -> dict[str, Any]:
    order, binding = judged.order, judged.contact.binding
    ids = [item.id for item in spec.select([], order.side)]
    merged = outcomes.merge(judged.results, ids)
    scored = {key: outcomes.scored(item, order.release) for key, item in merged.items()}
    results = cascades.resolved(scored)
    final = dict(zip(ids, order.waivers.applied(results.values()), strict=True))
    rows = [_row(result, order, results[result.id]) for result in final.values()]
    left_out = any(result.outcome is Outcome.NOT_RUN for result in results.values())
    report: dict[str, Any] = {
        "spec": order.release,
        "kit": __version__,
        "target": order.target,
        "side": order.side,
        "binding": binding.name if binding and order.side == "provider" else None,
        **_host(order, binding),
        "profile": order.profile,
        "verdict": verdicts.verdict(rows, strict=facts.strict),
        **_classes(rows, order.side, facts),
        "counts": verdicts.counts(rows),
        **_declared(judged.contact),
        "extensions": _extensions(judged.contact, final),
        "results": rows,
        "behind": cascades.behind(rows),
        "seed": order.seed,
        "selected": facts.narrowed and left_out,
        "strict": facts.strict,
        "allow_incomplete": facts.allow_incomplete,
        "waivers": _waivers(order.waivers, list(results.values())),
        "cost": _cost(results.values()),
        "operations": times.of_run(judged.results, order, binding),
        "environment": _environment(order),
        "network": _network(judged.contact),
        "settings": {**order.settings.for_report(), **order.settings.origins()},
    }
    report["next"] = next_step.as_data(report)
    return {**report, "fingerprint": fingerprint(report)}


def _host(order: Order, binding: Binding | None) -> dict[str, str]:
    """The host whose calls were made, if the framework of the provider has one."""
    made = binding.host() if binding is not None and order.side == "provider" else ""
    return {"host": made} if made else {}


def _classes(
    rows: list[dict[str, Any]], side: spec.Side, facts: RunFacts
) -> dict[str, str | dict[str, str | None]]:
    """The class that was asked for and the verdict of each; nothing for a host, which has none."""
    if side == "host":
        return {}
    found = classes.verdicts_of(rows, strict=facts.strict)
    return {"class": facts.conformance_class, "classes": found}


def _waivers(book: waivers.Book, results: list[Result]) -> dict[str, Any]:
    """Faults of waivers, and notes on them; `results` are not yet waived."""
    faults = [*book.faults, *book.stale(results)]
    return {
        "date": str(book.today),
        "faults": [dataclasses.asdict(fault) for fault in faults],
        "notes": [dataclasses.asdict(note) for note in book.notes(results)],
    }


def _declared(contact: Contact) -> dict[str, Any]:
    """`isolates` and `retention`, where they were declared with values that there are."""
    known = spec.schema("capabilities")["properties"]
    boundaries = known["isolates"]["items"]["enum"]
    isolates, retention = map(contact.capabilities.get, ("isolates", "retention"))
    found: dict[str, Any] = {}
    if isinstance(isolates, list) and all(name in boundaries for name in isolates):
        found["isolates"] = sorted(set(isolates))
    if retention in known["retention"]["enum"]:
        found["retention"] = retention
    return found


def _extensions(contact: Contact, results: dict[str, Result]) -> dict[str, dict[str, Any]]:
    """Each declared extension, whether its hooks were found, and how its requirements fared."""
    declared = contact.capabilities.get("extensions", [])
    names = [name for name in EXTENSION_HOOKS if isinstance(declared, list) and name in declared]
    return {name: _extension(name, results) for name in names}


def _extension(name: str, results: dict[str, Result]) -> dict[str, Any]:
    served = results.get("MP-CAP-002")
    mine = [item for key, item in results.items() if spec.requirement(key).extension == name]
    verdict = outcomes.verdict(mine) if mine else None
    known = served is not None and served.outcome in (Outcome.PASS, Outcome.FAIL)
    return {
        "declared": True,
        "served": served.outcome is Outcome.PASS if served is not None and known else None,
        "verdict": None if verdict is None else str(verdict),
    }


def _row(result: Result, order: Order, found: Result) -> dict[str, Any]:
    """A row of the report; `found` is the result before it was waived."""
    requirement = spec.requirement(result.id)
    return {
        "id": result.id,
        "level": requirement.level,
        "outcome": str(result.outcome),
        "rule": requirement.text,
        "expected": result.expected or None,
        "observed": result.observed or None,
        "evidence": None if result.evidence is None else evidence.as_dict(result.evidence),
        "where": result.where or None,
        "reason": needs.reason(result) or None,
        "needs": [need.as_dict() for need in result.needs],
        "rests_on": list(result.rests_on),
        "follows": result.follows or None,
        "log": list(result.log),
        "swallowed": list(result.swallowed),
        "silenced": result.silenced,
        "reproduce": message.reproduce(result, order),
        "script": message.script(result) or None,
        "advice": message.advice(result) or None,
        "fix": message.fix(result, order),
        "clause": requirement.clause,
        "waiver": waivers.as_row(order.waivers, found),
        "duration_s": round(result.duration_s, 4),
        "hooks": _rounded(result.hooks),
    }


def _cost(results: Iterable[Result]) -> dict[str, Any]:
    """Time that the checks took, and the provider's share of it; hooks may run side by side."""
    hooks: dict[str, list[float]] = {}
    took_s = 0.0
    for result in results:
        took_s += result.duration_s
        spread.add_calls(hooks, result.hooks)
    provider_s = sum(total_s for _, _, total_s in hooks.values())
    return {"checks_s": round(took_s, 3), "hooks_s": round(provider_s, 3), "hooks": _rounded(hooks)}


def _rounded(hooks: dict[str, list[float]]) -> dict[str, list[float]]:
    return {
        name: [int(calls), round(longest_s, 4), round(total_s, 4)]
        for name, (calls, longest_s, total_s) in sorted(hooks.items())
    }


def _network(contact: Contact) -> dict[str, Any]:
    """Confinement of the target to loopback, and the other addresses to which it tried to send."""
    return {
        "confined": not contact.unconfined,
        "reason": contact.unconfined or None,
        "outward": [{"address": to, "where": who} for to, who in contact.outward.items()],
    }


def _environment(order: Order) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "processors": _processors(),
        "hermes_agent": _version_of("hermes-agent"),
        "slowdown": order.slowdown,
        "time_scale": order.scale,
    }


def _version_of(distribution: str) -> str:
    """The installed version; "" for none."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _processors() -> int:
    import os

    return os.cpu_count() or 0
