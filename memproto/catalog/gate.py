"""A run of the kit as the gate of a catalog: its words, and the end in which both parts count."""

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.catalog import checkouts, checks, entries
from memproto.catalog.checks import Check
from memproto.catalog.entries import Entry
from memproto.errors import KitUsageError
from memproto.report import console, document, reading
from memproto.report.formats import markdown, sarif
from memproto.testing.outcomes import ExitCode

OPTION = "--memproto-catalog"

#: Exit codes of a run that judged: a check that fails makes them 1.
_JUDGED = (ExitCode.CONFORMANT, ExitCode.INCOMPLETE)

_SIGNS = {"pass": "ok", "warn": "note", "fail": "FAIL"}


class Gate:
    """
    The gate for one entry.

    Attributes:
        words: The words of the inner run; None if there is nothing to judge.

    """

    def __init__(self, words: Sequence[str]) -> None:
        """
        Read the entry that `words` name, and look at its checkout.

        Raises:
            KitUsageError: There is no such entry, or not one checkout.

        """
        options, rest = _parsed(words)
        checkout = _checkout(options)
        self._entry = entries.read(options.memproto_catalog)
        self._report, self._sarif = options.memproto_report, options.memproto_sarif
        _check_files({"--memproto-report": self._report, "--memproto-sarif": self._sarif})
        self._folder = tempfile.mkdtemp(prefix="memproto-gate-")
        self._found = list(checks.of_entry(self._entry, checkout))
        self.words: list[str] | None = None
        try:
            plugin = checkouts.plugin_of(self._entry, checkout)
        except checkouts.NotThere as fault:
            self._found.append(Check("plugin directory", "fail", str(fault), self._entry.file))
            return
        release = options.memproto_hermes or ""
        self._found += checks.of_plugin(self._entry, plugin, release)
        # A path without a separator would be read as the name of a module.
        target = str(plugin) if plugin.is_absolute() else f".{os.sep}{plugin}"
        self.words = [*rest, f"--memproto={target}", f"--memproto-report={self._inner}"]
        if release:
            self.words.append(f"--memproto-hermes={release}")

    @property
    def _inner(self) -> Path:
        """The report of the inner run, to which the checks are added."""
        return Path(self._folder, "report.json")

    def finish(self, code: int) -> int:
        """Say what the checks found, add it to the files of the run, and give the exit code."""
        try:
            return self._finished(code)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _finished(self, code: int) -> int:
        found = self._document(code)
        rows = [row for report in found["reports"] for row in report["results"]]
        if rows:
            self._found.append(checks.of_report(rows, spec.role("declared")))
        is_closed = any(check.outcome == "fail" for check in self._found)
        if is_closed and (code in _JUDGED or self.words is None):
            code = int(ExitCode.NON_CONFORMANT)
        found["exit_code"] = code
        found["catalog"] = as_data(self._entry, self._found)
        if self._report:
            document.write(Path(self._report), found)
        if self._sarif:
            sarif.write(Path(self._sarif), found)
        console.tell("\n".join(_lines(self._entry, self._found)))
        _summarize(found)
        return code

    def _document(self, code: int) -> dict[str, Any]:
        """The document of the inner run; one without a target if there was none."""
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads(self._inner.read_text("utf-8"))
            return found
        return {"format": reading.FORMAT, "exit_code": code, "reports": []}


def _parsed(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(OPTION, required=True)
    parser.add_argument("--memproto", action="append", default=[])
    parser.add_argument("--memproto-host", action="append", default=[])
    for name in ("report", "sarif", "hermes"):
        parser.add_argument(f"--memproto-{name}")
    return parser.parse_known_args(list(words))


def _checkout(options: argparse.Namespace) -> str:
    what = f"{OPTION}={options.memproto_catalog}"
    if options.memproto_host or len(options.memproto) > 1:
        fault = "is about one plugin, and several targets were named"
        raise KitUsageError(what, fault, "name its checkout alone, as in --memproto=./checkout")
    checkout = str(options.memproto[0]) if options.memproto else "."
    if not Path(checkout).is_dir():
        fault = f"needs the checkout of its repository, and {checkout} is no directory"
        raise KitUsageError(what, fault, "clone `repo` at `sha`, and name it by --memproto=DIR")
    return checkout


def _check_files(named: dict[str, str | None]) -> None:
    """Find out before the run that its files can be written, as far as their directories tell."""
    for option, name in named.items():
        if name and not os.access(Path(name).parent, os.W_OK):
            fault = "cannot be written: its directory is missing, or is not yours"
            raise KitUsageError(f"{option}={name}", fault, "name a file in a directory of your own")


def as_data(entry: Entry, found: Sequence[Check]) -> dict[str, Any]:
    """The part of a report's document that is about the catalog."""
    keys = ("file", "name", "repo", "sha", "subdir")
    return {
        **{key: getattr(entry, key) for key in keys},
        "checks": [dataclasses.asdict(check) for check in found],
    }


def _lines(entry: Entry, found: Sequence[Check]) -> list[str]:
    closed = sum(check.outcome == "fail" for check in found)
    end = f"{closed} of {len(found)} checks fail" if closed else f"{len(found)} checks, none fails"
    return [
        f"catalog entry {entry.name or entry.file}:",
        *(f"  {_SIGNS[check.outcome]:<4} {check.name}: {check.detail}" for check in found),
        f"catalog entry {entry.name or entry.file}: {end}",
    ]


def _summarize(found: dict[str, Any]) -> None:
    """Add the checks to the summary of a job of GitHub Actions, if this runs in one."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place or os.environ.get("GITHUB_ACTIONS") != "true":
        return
    with contextlib.suppress(OSError), Path(place).open("a", encoding="utf-8") as summary:
        summary.write("\n" + markdown.of_catalog(found["catalog"]) + "\n")
