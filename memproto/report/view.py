"""The page's view of a report: every text made printable, and figures in words."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from memproto import links, spec
from memproto.report import classes, plot, verdicts
from memproto.report.formats import exhibits
from memproto.testing import untrusted_text
from memproto.testing.outcomes import OPEN, Outcome
from memproto.testing.untrusted_text import printable

#: Outcomes in the order in which a reader is to meet them.
ORDER: tuple[Outcome, ...] = (
    Outcome.KIT_ERROR,
    Outcome.FAIL,
    Outcome.WARN,
    Outcome.UNTESTABLE,
    Outcome.INCONCLUSIVE,
    Outcome.WAIVED,
    Outcome.NOT_RUN,
    Outcome.PASS,
    Outcome.NOT_APPLICABLE,
    Outcome.NOT_SCORED,
)

#: Outcomes that are shown in full, above everything else.
_TOLD = (Outcome.KIT_ERROR, Outcome.FAIL, Outcome.WARN)

#: Outcomes of rows that tell of no fault.
_QUIET = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED)

#: The colour of an outcome or verdict; the word stands beside it everywhere.
_TONES = {
    "fail": "red",
    "kit_error": "red",
    "warn": "amber",
    "untestable": "violet",
    "inconclusive": "violet",
    "not_run": "violet",
    "waived": "violet",
    "pass": "green",
    "CONFORMANT": "green",
    "NON-CONFORMANT": "red",
    "KIT ERROR": "red",
    "INCOMPLETE": "violet",
}

#: Lines below the evidence, which is a table.
_LINES = (
    *("follows", "where", "swallowed", "log"),
    *("reproduce", "script", "advice", "fix", "clause"),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """
    One requirement of one target.

    Attributes:
        anchor: Unique on the page; the first target's is the id in lower case.
        data: The row as the report holds it.
        lines: Label and text of what is known, beside the rule and the evidence.
        is_told: True if it stands among the findings, in full.
        address: The place of its clause: the published one, else one on the page, or "".
        table: The lines of its evidence.
        clause: The text of the specification, of a row that is not quiet whose clause is not
            published.

    """

    anchor: str
    data: dict[str, Any]
    lines: list[tuple[str, str]]
    is_told: bool
    address: str = ""
    table: tuple[exhibits.Line, ...] = ()
    clause: str = ""


def clean(value: Any) -> Any:
    """The same value with nothing in its texts that disturbs a page: no control, no bidi mark."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list) else value


def one_line(text: str) -> str:
    """A text of a report in one line of a terminal or a job's output, which it cannot end."""
    return untrusted_text.one_line(text)


def word(outcome: str) -> str:
    """An outcome as a reader says it."""
    return outcome.replace("_", " ")


def tone(name: str) -> str:
    """The colour of an outcome or a verdict."""
    return _TONES.get(name, "grey")


def target(report: dict[str, Any], place: int = 1) -> dict[str, Any]:
    """The page's view of one target; `report` is clean already."""
    rows = [_row(item, place) for item in report["results"]]
    verdict = report["verdict"] or "KIT ERROR"
    return {
        "key": f"target-{place}",
        "report": report,
        "verdict": verdict,
        "highest": classes.held(report) or "",
        "sentence": _sentence(report, verdict),
        "counts": [(name, report["counts"][name]) for name in ORDER if report["counts"].get(name)],
        "told": sorted((row for row in rows if row.is_told), key=_urgency),
        "chapters": _chapters(rows),
        "clauses": sorted((row for row in rows if row.clause), key=lambda row: row.data["id"]),
        "waivers": _waivers(report.get("waivers") or {}),
        "levels": [item for item in ("MUST", "SHOULD", "MAY") if _has(rows, item)],
        "plot": plot.of(report.get("operations") or {}),
        "facts": _facts(report),
        "settings": _settings(report["settings"]),
        "where": {row.data["id"]: row.anchor for row in rows},
    }


def _row(data: dict[str, Any], place: int) -> Row:
    prefix = "" if place == 1 else f"target-{place}-"
    outcome = data["outcome"]
    anchor, is_told = prefix + data["id"].lower(), outcome in _TOLD
    # The address is made of the catalogue: a report may be a stranger's, and name any place.
    item, clause = spec.requirements().get(data["id"]), ""
    address = links.published(item.clause) if item else ""
    if item and not address and outcome not in _QUIET:
        address, clause = f"#{anchor}-clause", spec.section_text(item)
    return Row(anchor, data, _lines(data), is_told, address, tuple(exhibits.table(data)), clause)


def _lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The labelled lines of a message; those that say nothing are left out."""
    waived = [(key, str(value)) for key, value in (data.get("waiver") or {}).items()]
    found = [(name, data.get(name)) for name in _LINES]
    if data["outcome"] in _QUIET:
        # Advice on a fault would read as if there were one.
        found = [(name, text) for name, text in found if name != "fix"]
    told = [
        (name, "\n".join(text) if isinstance(text, list) else str(text))
        for name, text in found
        if text
    ]
    return [*told, *((f"waiver: {name}", text) for name, text in waived)]


def _urgency(row: Row) -> int:
    return _TOLD.index(row.data["outcome"])


def _has(rows: list[Row], level: str) -> bool:
    return any(row.data["level"] == level for row in rows)


def _sentence(report: dict[str, Any], verdict: str) -> str:
    """The verdict in words, over the closed list of requirements."""
    counts, total = Counter(report["counts"]), len(report["results"])
    undecided = sum(counts[name] for name in OPEN)
    if verdict == "KIT ERROR":
        return "The kit itself failed; this says nothing about the target."
    if verdict == "NON-CONFORMANT":
        warned = (verdicts.is_red(row, strict=True) for row in report["results"])
        failed = counts["fail"] or sum(warned)
        what = "is violated" if failed == 1 else "are violated"
        return f"{failed} of {total} requirements {what}."
    if verdict == "CONFORMANT":
        return f"{counts['pass']} of {total} requirements were exercised and hold{_rest(counts)}."
    if report["selected"]:
        ran = total - counts["not_run"]
        return f"{ran} of {total} requirements were selected; nothing failed among them."
    if not undecided:
        return "Nothing failed, and nothing was exercised that could pass."
    return f"Nothing failed, and {undecided} of {total} requirements are not decided."


def _rest(counts: Counter[str]) -> str:
    told = (
        ("warn", "recommended and not followed"),
        ("not_applicable", "of no concern to the target"),
        ("not_scored", "not scored"),
    )
    said = [f"{counts[name]} are {words}" for name, words in told if counts[name]]
    if undecided := sum(counts[name] for name in OPEN):
        said.append(f"{undecided}, on which the verdict does not rest, are not decided")
    return "".join(f"; {item}" for item in said)


def chapter_of(clause: str) -> tuple[str, str]:
    """Title and file of the chapter that a clause names: ("Recall", "40-recall.md")."""
    file = clause.partition("#")[0].rpartition("/")[2]
    bare = file.removesuffix(".md").lstrip("0123456789-")
    title = bare.replace("-", " ") or file or "Requirements"
    return title[0].upper() + title[1:], file


def _chapters(rows: Iterable[Row]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault(chapter_of(row.data["clause"]), []).append(row)
    return [
        {"title": title, "file": file, "rows": mine, "counts": _counted(mine)}
        for (title, file), mine in found.items()
    ]


def _counted(rows: list[Row]) -> str:
    found = Counter(row.data["outcome"] for row in rows)
    return ", ".join(f"{found[name]} {word(name)}" for name in ORDER if found[name])


def _waivers(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Findings about waivers; those with a fix are faults."""
    return [*found.get("faults", []), *found.get("notes", [])]


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Conditions under which the verdict was reached."""
    own = {
        "profile": report["profile"],
        "seed": report["seed"],
        "specification": report["spec"],
        "kit": report["kit"],
        "strict": report.get("strict") or "",
        "merged from": f"{merged} reports" if (merged := len(report.get("merged", ()))) else "",
    }
    known = {**own, **report["environment"]}
    facts = [(word(key), shown(value)) for key, value in known.items() if value not in ("", None)]
    if cost := report.get("cost"):
        took = f"{cost['hooks_s']:.1f} s of {cost['checks_s']:.1f} s"
        facts.append((f"time in the {report['side']}", took))
    return [*facts, ("fingerprint", report["fingerprint"])]


def _settings(settings: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (key, shown(value)) for key, value in settings.items() if value not in ("", None, [], {})
    ]


def shown(value: Any) -> str:
    """A value of the report in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
