"""A report as Markdown, for the summary of a CI job or a comment on a pull request."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from memproto.report import classes, comparing
from memproto.report.comparing import Comparison
from memproto.report.verdict_line import waiver_lines
from memproto.testing.outcomes import OPEN, Outcome

#: Rows of a table before it refers to the report.
MOST_ROWS = 50

#: Bytes that the summary of a step may hold: a file that is larger is not shown at all.
MOST_BYTES = 1 << 20

_MOST_CHARS = 300

_SIGNS = {"CONFORMANT": "✅", "NON-CONFORMANT": "❌", "INCOMPLETE": "⚠️"}


def text(value: str) -> str:
    """Any text as one line of plain text: no markup, link, mention or table line comes of it."""
    line = " ".join(value.split())
    line = line if len(line) <= _MOST_CHARS else f"{line[:_MOST_CHARS]}..."
    return "".join(map(_character, line))


def _character(character: str) -> str:
    if character.isalnum() or character in " ,;-()'":
        return character
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        # This character is not seen, or turns the order of those that are seen.
        return f"&#92;u{ord(character):04x}"
    return f"&#{ord(character)};" if character.isascii() else character


def code(value: str) -> str:
    """The same, set as code."""
    return f"<code>{text(value)}</code>"


def summary(document: dict[str, Any], against: dict[str, Any] | None = None) -> str:
    """The whole document: verdicts, what changed, what is red, and what is open."""
    parts = ["## memproto", _verdicts(document)]
    if against is not None:
        parts.append(comparison(comparing.compare(against, document)))
    for report in document["reports"]:
        parts += [_failures(report), _waivers(report), _open(report)]
    if "catalog" in document:
        parts.insert(2, of_catalog(document["catalog"]))
    return "\n\n".join(filter(None, parts)) + "\n"


def of_catalog(catalog: dict[str, Any]) -> str:
    """The checks on an entry of a catalog, the failed ones first."""
    order = {"fail": 0, "warn": 1, "pass": 2}
    shown = {"fail": "❌ fail", "warn": "⚠️ note", "pass": "✅ pass"}
    rows = [
        (text(check["name"]), shown[check["outcome"]], code(check["detail"]), code(check["file"]))
        for check in sorted(catalog["checks"], key=lambda check: order[check["outcome"]])
    ]
    title = f"### Catalog entry {text(catalog['name'] or catalog['file'])}"
    return f"{title}\n\n{_table(('check', 'outcome', 'fact', 'file'), rows)}"


def bounded(markdown: str, room: int = MOST_BYTES) -> str:
    """As many of the first sections as fit into so many bytes, and how many are left out."""
    if _size(markdown) <= room:
        return markdown
    sections = re.split(r"(?=^#{2,3} |^<details>)", markdown, flags=re.MULTILINE)
    left = len(sections)
    while left and _size("".join(sections[:left]) + _note(len(sections) - left)) > room:
        left -= 1
    said = "".join(sections[:left]) + _note(len(sections) - left)
    return said if _size(said) <= room else ""


def _note(sections: int) -> str:
    what = f"{sections} section{'s' * (sections != 1)}"
    return f"... and {what} more, for which there is no room here; see the report.\n"


def _size(markdown: str) -> int:
    return len(markdown.encode("utf-8", "backslashreplace"))


def comparison(found: Comparison) -> str:
    """The changes, as a section."""
    lines = ["### Changes", *(text(line) for line in comparing.class_lines(found))]
    if not found.changes and not found.classes:
        return "\n\n".join([*lines, "Nothing changed."])
    head = ("requirement", "target", "before", "after")
    for kind, title in comparing.TITLES.items():
        rows = [
            (code(item.id), text(item.target), text(item.before), text(item.after))
            for item in found.of(kind)
        ]
        lines += [f"**{title}: {len(rows)}**", _table(head, rows)] if rows else []
    return "\n\n".join(lines)


def _verdicts(document: dict[str, Any]) -> str:
    rows = [_verdict(report) for report in document["reports"]]
    counted = ("passed", "failed", "warned", "waived", "open")
    head = ("target", "verdict", "class", *counted, "spec", "kit")
    return _table(head, rows) if rows else "Nothing was judged."


def _verdict(report: dict[str, Any]) -> tuple[str, ...]:
    counts, verdict = report["counts"], report["verdict"]
    shown = f"{_SIGNS.get(verdict, '❌')} {verdict or 'KIT ERROR'}"
    note = " (selected requirements only)" if report["selected"] else ""
    still = sum(counts[outcome] for outcome in OPEN - {Outcome.WAIVED})
    numbers = (counts["pass"], counts["fail"], counts["warn"], counts["waived"], still)
    target = code(report["target"])
    highest = (None if report["selected"] else classes.held(report)) or "-"
    releases = (text(report["spec"]), text(report["kit"]))
    return (target, shown + note, highest, *map(str, numbers), *releases)


def _failures(report: dict[str, Any]) -> str:
    red = (Outcome.FAIL, Outcome.KIT_ERROR, Outcome.WARN)
    rows = [
        (
            code(row["id"]),
            text(row["outcome"]),
            text(row["rule"]),
            code(row["observed"] or "-"),
            code(row["where"] or "-"),
            text(row["fix"]),
        )
        for outcome in red
        for row in report["results"]
        if row["outcome"] == outcome
    ]
    if not rows:
        return ""
    head = ("requirement", "outcome", "rule", "observed", "where", "fix")
    return f"### {text(report['target'])}\n\n{_table(head, rows)}"


def _open(report: dict[str, Any]) -> str:
    """Undecided requirements, equal reasons together, behind a fold."""
    reasons: dict[str, list[str]] = {}
    for row in report["results"]:
        if row["outcome"] in OPEN and row["outcome"] != Outcome.NOT_RUN:
            reasons.setdefault(f"{row['outcome']}: {row['reason'] or ''}", []).append(row["id"])
    if not reasons:
        return ""
    rows = [(", ".join(map(code, ids)), text(reason)) for reason, ids in reasons.items()]
    number = sum(map(len, reasons.values()))
    title = f"{number} not decided, or waived, of {text(report['target'])}"
    table = _table(("requirements", "reason"), rows)
    return f"<details><summary>{title}</summary>\n\n{table}\n\n</details>"


def _waivers(report: dict[str, Any]) -> str:
    return "\n".join(f"- {text(re.sub('^ +', '', line))}" for line, _ in waiver_lines(report))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---" for _ in head], *rows[:MOST_ROWS]]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    more = len(rows) - MOST_ROWS
    return table if more <= 0 else f"{table}\n\n... and {more} more, see the report."
