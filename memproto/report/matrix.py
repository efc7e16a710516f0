"""Targets by requirements, chapter by chapter: what the board shows as tables."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

from memproto import spec
from memproto.report import view
from memproto.testing.outcomes import Outcome

#: One character for each outcome; the word is in the link's name, and in the legend.
SIGNS = {
    Outcome.KIT_ERROR: "E",
    Outcome.FAIL: "✕",
    Outcome.WARN: "!",
    Outcome.UNTESTABLE: "?",
    Outcome.INCONCLUSIVE: "~",
    Outcome.WAIVED: "w",
    Outcome.NOT_RUN: "–",  # noqa: RUF001 - a dash as long as a sign
    Outcome.PASS: "✓",
    Outcome.NOT_APPLICABLE: "·",
    Outcome.NOT_SCORED: "○",
}

#: Outcomes that do not tell targets apart: the rule holds, or does not concern the target.
_SETTLED = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED)

#: Targets from which on a chapter is folded, and says how many of them hold each rule: its table is
#: longer than a screen then.
MANY = 24

#: Words of a count, and the outcomes that it counts.
_COUNTED = (
    ("hold", (Outcome.PASS,)),
    ("break", (Outcome.FAIL, Outcome.WARN, Outcome.WAIVED)),
    (
        "cannot show",
        (Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.NOT_RUN, Outcome.KIT_ERROR),
    ),
)


class Shown(Protocol):
    """Members that the tables need of an entry of the board."""

    @property
    def label(self) -> str:
        """Unique on its side of the board."""
        ...

    @property
    def page(self) -> str:
        """Address of the page with the evidence."""
        ...

    @property
    def report(self) -> dict[str, Any]:
        """The target's report, with printable texts."""
        ...


def side(name: spec.Side, entries: Iterable[Shown]) -> dict[str, Any]:
    """Overview and chapters of the providers, or of the hosts."""
    mine = [entry for entry in entries if entry.report["side"] == name]
    rules = _rules(name, mine)
    counted = [outcome for outcome in view.ORDER if any(_count(item, outcome) for item in mine)]
    return {
        "name": name,
        "title": f"{name.capitalize()}s",
        "entries": mine,
        "outcomes": [(outcome, SIGNS[outcome]) for outcome in counted],
        "is_long": len(mine) >= MANY,
        "chapters": _chapters(rules, mine) if mine else [],
    }


def _count(entry: Shown, outcome: str) -> int:
    return int(entry.report["counts"].get(outcome, 0))


def _rules(name: spec.Side, entries: list[Shown]) -> dict[str, dict[str, Any]]:
    """Every requirement that some report holds, in the catalogue's order, unknown ones last."""
    seen = {row["id"]: row for entry in entries for row in entry.report["results"]}
    known = {item.id: item for item in spec.select([], name)}
    ids = [*(item for item in known if item in seen), *sorted(seen.keys() - known.keys())]
    return {item: _rule(seen[item], known.get(item)) for item in ids}


def _rule(row: dict[str, Any], item: spec.Requirement | None) -> dict[str, Any]:
    area, _, number = row["id"].removeprefix("MP-").rpartition("-")
    return {
        "id": row["id"],
        "anchor": row["id"].lower(),
        "area": area,
        "number": number,
        "level": item.level if item else row["level"],
        "text": item.text if item else row["rule"],
        "intent": item.intent if item else "",
        "fix": item.fix if item else row["fix"],
        "clause": item.clause if item else row["clause"],
        "conformance_class": item.conformance_class if item else "",
        "status": item.status if item else "not in this release of the specification",
    }


def _chapters(rules: dict[str, dict[str, Any]], entries: list[Shown]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for rule in rules.values():
        found.setdefault(view.chapter_of(rule["clause"]), []).append(rule)
    rows = {entry.label: {row["id"]: row for row in entry.report["results"]} for entry in entries}
    return [
        _chapter(title, mine, [(entry, rows[entry.label]) for entry in entries])
        for (title, _), mine in found.items()
    ]


def _chapter(
    title: str, rules: list[dict[str, Any]], entries: list[tuple[Shown, dict[str, Any]]]
) -> dict[str, Any]:
    met = list(dict.fromkeys(rule["area"] for rule in rules))
    rules = sorted(rules, key=lambda rule: met.index(rule["area"]))
    before = [None, *(rule["area"] for rule in rules)]
    rules = [
        {**rule, "is_first": rule["area"] != last}
        for rule, last in zip(rules, before, strict=False)
    ]
    counted = [_counted(rule["id"], entries) for rule in rules]
    return {
        "title": title,
        "rules": [rule | {"counts": counts} for rule, counts in zip(rules, counted, strict=True)],
        "counts": [(word, [counts[word] for counts in counted]) for word, _ in _COUNTED],
        "areas": [(area, sum(rule["area"] == area for rule in rules)) for area in met],
        "rows": [
            {"entry": entry, "cells": [_cell(rule, entry, rows) for rule in rules]}
            for entry, rows in entries
        ],
    }


def _counted(rule: str, entries: list[tuple[Shown, dict[str, Any]]]) -> dict[str, int]:
    """Word of a count to the number of targets, of those that the rule concerns."""
    met = Counter(rows[rule]["outcome"] for _, rows in entries if rule in rows)
    return {word: sum(met[outcome] for outcome in outcomes) for word, outcomes in _COUNTED}


def _cell(rule: dict[str, Any], entry: Shown, rows: dict[str, Any]) -> dict[str, Any]:
    row = rows.get(rule["id"])
    if row is None:
        return {"rule": rule, "outcome": "", "is_open": False}
    outcome = row["outcome"]
    return {
        "rule": rule,
        "outcome": outcome,
        "sign": SIGNS[outcome],
        "href": f"{entry.page}#{rule['anchor']}",
        "is_open": outcome not in _SETTLED,
    }
