"""
A report as SARIF 2.1.0, which code hosts and editors show at the lines of a pull request.

One run for each target. A result is what failed, warned or is waived; what is open or holds is not
of a line. The page of a rule is its part of the specification, so that it needs no address.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memproto import __version__, links, spec
from memproto.report import view
from memproto.report.formats.places import place, root_of
from memproto.report.verdict_line import verdict_line
from memproto.testing.outcomes import ExitCode, Outcome

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

#: Files at whose first line a result is shown that has no line of its own in the checkout.
_FALLBACK = ("memproto.toml", "pyproject.toml")

#: The longest line of source that is repeated.
_MOST_CHARACTERS = 400

_RELATIVE = re.compile(r"\[([^\]]+)\]\([^)]+\)")

#: A link in a message of SARIF begins so; a stranger's text makes none.
_LINK = re.compile(r"[\[\]\\]")


def build(document: dict[str, Any], directory: Path) -> dict[str, Any]:
    """
    The log of a report's document, as `document.build` or `reading.read` gives it.

    `directory` is the one that the run was called from: lines of source are read below it.
    """
    root = root_of(directory, os.environ)
    code = document.get("exit_code")
    cleaned = view.clean(document)
    runs = [_Run(report, directory, root, code).as_dict() for report in cleaned["reports"]]
    if "catalog" in cleaned:
        runs.append(_of_catalog(cleaned["catalog"], directory, root))
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}


def write(path: Path, document: dict[str, Any]) -> None:
    """
    Write the log of the document to `path`.

    Raises:
        OSError: The file cannot be written.

    """
    text = json.dumps(build(document, Path.cwd()), indent=2, ensure_ascii=False) + "\n"
    path.write_bytes(text.encode("utf-8", "backslashreplace"))


class _Run:
    """The run of one target."""

    def __init__(
        self, report: dict[str, Any], directory: Path, root: Path, code: int | None
    ) -> None:
        self._report, self._directory, self._root, self._code = report, directory, root, code
        shown = (Outcome.FAIL, Outcome.WARN, Outcome.WAIVED)
        self._rows = [row for row in report["results"] if row["outcome"] in shown]

    def as_dict(self) -> dict[str, Any]:
        report = self._report
        driver = {
            "name": "memproto",
            "version": report["kit"],
            "semanticVersion": report["kit"],
            "rules": [_rule(row) for row in self._rows],
            **({"informationUri": home} if (home := links.home()) else {}),
        }
        return {
            "tool": {"driver": driver},
            "automationDetails": {"id": f"memproto/{report['side']}/{report['target']}/"},
            "columnKind": "unicodeCodePoints",
            "invocations": [self._invocation()],
            "results": [self._result(at, row) for at, row in enumerate(self._rows)],
            "properties": {"verdict": report["verdict"], "counts": report["counts"]},
        }

    def _invocation(self) -> dict[str, Any]:
        """The end of the run; a fault of the kit is a notification, no result of the target's."""
        faults = [row for row in self._report["results"] if row["outcome"] == Outcome.KIT_ERROR]
        return {
            "executionSuccessful": not faults,
            **({} if self._code is None else {"exitCode": self._code}),
            **({} if self._code is None else {"exitCodeDescription": _of_code(self._code)}),
            "toolExecutionNotifications": [
                *(_notification("error", f"{row['id']}: {row['observed']}") for row in faults),
                _notification("note", verdict_line(self._report)),
            ],
        }

    def _result(self, at: int, row: dict[str, Any]) -> dict[str, Any]:
        told = [f"{row[name]}" for name in ("observed", "reason") if row[name]]
        lines = [f"{row['id']}: {row['rule']}", *told, f"Expected: {row['expected']}"]
        lines += [f"Fix: {row['fix']}", f"Reproduce: {row['reproduce']}"]
        location = self._location(row["where"] or "")
        return {
            "ruleId": row["id"],
            "ruleIndex": at,
            "level": _level(row),
            "kind": "fail",
            "message": {"text": _plain("\n".join(lines))},
            **({"locations": [location]} if location else {}),
            **({"suppressions": [_suppression(row)]} if row["outcome"] == Outcome.WAIVED else {}),
            "partialFingerprints": {"memproto/v1": self._fingerprint(row)},
            "properties": {"outcome": row["outcome"], "level": row["level"]},
        }

    def _fingerprint(self, row: dict[str, Any]) -> str:
        """The same for one fault in each run, wherever its line has moved."""
        file = (row["where"] or "").partition(":")[0]
        words = (self._report["side"], self._report["target"], row["id"], file)
        return hashlib.sha256("\0".join(words).encode("utf-8", "backslashreplace")).hexdigest()

    def _location(self, where: str) -> dict[str, Any]:
        found = place(where, self._directory, self._root)
        found = found or next(filter(None, map(self._first_line, _FALLBACK)), None)
        label = where.partition(" in ")[2]
        named = {"logicalLocations": [{"fullyQualifiedName": label}]} if label else {}
        if found is None:
            return named
        file, line = found
        return {
            "physicalLocation": {
                "artifactLocation": {"uri": quote(os.fsencode(file)), "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": max(line, 1), **self._snippet(file, line)},
            },
            **named,
        }

    def _first_line(self, name: str) -> tuple[str, int] | None:
        return place(f"{name}:1", self._directory, self._root)

    def _snippet(self, file: str, line: int) -> dict[str, Any]:
        try:
            source = (self._root / file).read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return {}
        if not 1 <= line <= len(source):
            return {}
        return {"snippet": {"text": view.clean(source[line - 1][:_MOST_CHARACTERS])}}


def _of_catalog(catalog: dict[str, Any], directory: Path, root: Path) -> dict[str, Any]:
    """The run of the checks on an entry of a catalog; a rule for each check."""
    told = [check for check in catalog["checks"] if check["outcome"] != "pass"]
    levels = {"fail": "error", "warn": "note"}
    rules = [
        {
            "id": f"catalog/{check['name'].replace(' ', '-')}",
            "shortDescription": {"text": f"{check['name']}, as `hermes plugins validate` names it"},
        }
        for check in told
    ]
    return {
        "tool": {"driver": {"name": "memproto catalog", "version": __version__, "rules": rules}},
        "automationDetails": {"id": f"memproto/catalog/{catalog['name'] or 'entry'}/"},
        "columnKind": "unicodeCodePoints",
        "results": [
            {
                "ruleId": rule["id"],
                "ruleIndex": at,
                "level": levels[check["outcome"]],
                "kind": "fail",
                "message": {"text": _plain(f"{check['name']}: {check['detail']}")},
                **_at_file(check["file"], directory, root),
            }
            for at, (rule, check) in enumerate(zip(rules, told, strict=True))
        ],
    }


def _at_file(file: str, directory: Path, root: Path) -> dict[str, Any]:
    """The first line of a file of the checkout; nothing for one that is elsewhere."""
    found = place(f"{file}:1", directory, root) if file else None
    if found is None:
        return {}
    named = {"uri": quote(found[0]), "uriBaseId": "%SRCROOT%"}
    physical = {"artifactLocation": named, "region": {"startLine": 1}}
    return {"locations": [{"physicalLocation": physical}]}


def _rule(row: dict[str, Any]) -> dict[str, Any]:
    """The page of a rule: its part of the chapter, and how it is run alone."""
    item = spec.requirements().get(row["id"])
    text = spec.section(item) if item is not None else f"{row['rule']}\n"
    # A link of a chapter is relative to the chapter, and leads nowhere from here.
    text = _RELATIVE.sub(r"\1", text)
    address = links.published(row["clause"])
    page = f"{text}\n**Fix.** {row['fix']}\n\n`memproto explain {row['id']}` tells more.\n"
    plain = re.sub(r"^> ?|[*`]", "", page, flags=re.MULTILINE)
    tags = ["memory", *([item.conformance_class] if item and item.conformance_class else [])]
    return {
        "id": row["id"],
        "shortDescription": {"text": row["rule"]},
        "fullDescription": {"text": item.intent if item is not None else row["rule"]},
        "help": {"text": plain, "markdown": page},
        **({"helpUri": address} if address else {}),
        "defaultConfiguration": {"level": "error" if row["level"] == "MUST" else "warning"},
        "properties": {"tags": tags, "clause": row["clause"], "level": row["level"]},
    }


def _level(row: dict[str, Any]) -> str:
    """A failure is an error, one of a SHOULD too if the run was strict."""
    if row["outcome"] == Outcome.WAIVED:
        return "error" if row["level"] == "MUST" else "warning"
    return "error" if row["outcome"] == Outcome.FAIL else "warning"


def _suppression(row: dict[str, Any]) -> dict[str, Any]:
    told: Iterator[str] = (f"{key}: {value}" for key, value in (row["waiver"] or {}).items())
    return {"kind": "external", "status": "accepted", "justification": "; ".join(told)}


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _plain(text)}}


def _plain(text: str) -> str:
    """A text of strangers in a message, in which no link can begin."""
    return _LINK.sub(lambda sign: f"\\{sign[0]}", text)


def _of_code(code: int) -> str:
    known = {int(item): item.name for item in ExitCode}
    return known.get(code, "another").replace("_", " ").lower()
