"""
Annotations at the lines of failures, as GitHub Actions reads them from the output of a run.

A line of a job's output that begins with two colons is a command to the runner, also behind spaces.
A provider's texts are in that output; while they may be, the outer run switches commands off.
"""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.report.formats.markdown import MOST_BYTES, bounded
from memproto.report.formats.places import place
from memproto.report.verdict_line import waiver_lines
from memproto.testing.outcomes import Outcome
from memproto.testing.untrusted_text import printable

#: Number of errors, and of warnings, that are shown of a step; the rest is in the summary.
MOST = 10

_LEVELS = {
    Outcome.KIT_ERROR: "error",
    Outcome.FAIL: "error",
    Outcome.WARN: "warning",
}


class Commands:
    """The commands of one run; nothing where it is no job of GitHub Actions."""

    def __init__(self, environment: Mapping[str, str], directory: Path) -> None:
        self._is_job = environment.get("GITHUB_ACTIONS") == "true"
        self._directory = directory
        self._root = Path(environment.get("GITHUB_WORKSPACE") or directory)
        self._summary = environment.get("GITHUB_STEP_SUMMARY", "")
        self._token = secrets.token_hex(16)

    def stop(self) -> list[str]:
        """The line that has the runner read no commands, until `resume`."""
        return [f"::stop-commands::{self._token}"] if self._is_job else []

    def resume(self) -> list[str]:
        """The line that has it read them again; nobody else can know it."""
        return [f"::{self._token}::"] if self._is_job else []

    def annotations(self, document: dict[str, Any]) -> list[str]:
        """A command for each result that failed or warned, and each fault of a waiver."""
        if not self._is_job:
            return []
        found = list(self._all(document))
        levels = ("error", "warning")
        shown = [line for level in levels for line in _of_level(found, level)[:MOST]]
        more = len(found) - len(shown)
        rest = [f"::notice title=memproto::{more} more in the report"] if more else []
        return shown + rest

    def summarize(self, markdown: str) -> str:
        """Add to the job's summary as much as fits; gives what went wrong, or ""."""
        if not (self._is_job and self._summary):
            return ""
        path = Path(self._summary)
        try:
            taken = path.stat().st_size if path.exists() else 0
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(bounded(markdown, MOST_BYTES - taken))
        except OSError as error:
            return f"GITHUB_STEP_SUMMARY={self._summary}: {error.strerror}"
        return ""

    def _all(self, document: dict[str, Any]) -> Iterator[str]:
        for report in document["reports"]:
            for line, is_red in waiver_lines(report):
                if not line.startswith(" "):
                    yield _command("error" if is_red else "warning", {"title": "memproto"}, line)
            for outcome, level in _LEVELS.items():
                for row in report["results"]:
                    if row["outcome"] == outcome:
                        yield self._annotation(level, report, row)

    def _annotation(self, level: str, report: dict[str, Any], row: dict[str, Any]) -> str:
        title = f"{row['id']} ({row['level']}), {report['target']}"
        told = [row["rule"], f"expected: {row['expected']}", f"observed: {row['observed']}"]
        message = "\n".join([*told, f"fix: {row['fix']}", f"reproduce: {row['reproduce']}"])
        return _command(level, {**self._place(row["where"] or ""), "title": title}, message)

    def _place(self, where: str) -> dict[str, str]:
        """File and line, where it is a file of the repository whose name a line of text can say."""
        found = place(where, self._directory, self._root)
        if found is None or not found[0].isprintable():
            return {}
        return {"file": found[0], "line": str(found[1])}


def _of_level(commands: list[str], level: str) -> list[str]:
    return [line for line in commands if line.startswith(f"::{level} ")]


def _command(level: str, properties: dict[str, str], message: str) -> str:
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {shown}::{_data(message)}"


def _data(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
