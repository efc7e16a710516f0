"""The summary at the end of a run: of each target what is open, and the verdict."""

import itertools
import re
from collections import Counter
from typing import Any

from memproto import bindings, spec
from memproto.operations import OPERATIONS
from memproto.pytest_plugin import guard, terminal
from memproto.report import classes, next_step, steps, verdicts
from memproto.report.needs import wanted
from memproto.report.verdict_line import verdict_line, waiver_lines
from memproto.report.view import one_line
from memproto.testing import cascades, needs
from memproto.testing.outcomes import OPEN, Outcome, Verdict

_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "warn": "warned",
    "not_applicable": "not applicable",
    "kit_error": "kit errors",
    "not_run": "not run",
    "not_scored": "not scored",
}

_COLOURS = {"CONFORMANT": "green", "NON-CONFORMANT": "red", "INCOMPLETE": "yellow"}

#: Outcomes that a chapter says in words of their own, or in none.
_NEED = frozenset({Outcome.UNTESTABLE, Outcome.INCONCLUSIVE})

#: A chapter with nothing else says nothing about the target.
_SILENT = frozenset({Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED, Outcome.NOT_RUN})

#: Lines with reasons that a summary shows before it refers to the report.
_MOST_REASONS = 12

#: More columns than any line has.
_UNBROKEN = 100_000

#: Number of hooks that the lines on time name.
_MOST_HOOKS = 3


def summary(reporter: Any, document: dict[str, Any]) -> None:
    """
    Print a block for each target, its verdict last.

    A quiet run prints the verdicts, with what leaves one open; a verbose one every chapter and
    reason.
    """
    for report in document["reports"]:
        Block(reporter, report).write()
    if reporter.verbosity >= 0:
        reporter.write_line(f"exit code {document['exit_code']}{_asked(document)}")
    _settle_colour(reporter, document)


def _asked(document: dict[str, Any]) -> str:
    """The class that the exit code asks for, where it is not the one that a line ends on."""
    found = {
        verdicts.asked(report)
        for report in document["reports"]
        if report["side"] == "provider" and not report["selected"]
        if (highest := classes.held(report)) is None or highest != verdicts.asked(report)
        if highest is not None or verdicts.asked(report) != spec.CLASSES[-1]
    }
    return f" (class {', '.join(sorted(found))} was asked for)" if found else ""


def _settle_colour(reporter: Any, document: dict[str, Any]) -> None:
    """Let pytest's own last line be as green as the verdict: what does not apply is no warning."""
    words = {outcome.replace("_", " ") for outcome in (Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED)}
    known = {"", "passed", "deselected"}
    if (
        document["exit_code"] == 0
        and "passed" in reporter.stats
        and not {*reporter.stats} - words - known
    ):
        # To leave them out of the count would make the line another one than the report's.
        reporter._main_color = None  # noqa: SLF001 - there is no public word for it
        reporter._determine_main_color = lambda *_: "green"  # noqa: SLF001 - as above


class Block:
    """The lines that are printed about one target."""

    def __init__(self, reporter: Any, report: dict[str, Any]) -> None:
        self._reporter = reporter
        self._report = report
        # Text in a file is searched by its lines.
        self._columns = terminal.width() if reporter.isatty else _UNBROKEN
        self._is_verbose = reporter.verbosity > 0

    def write(self) -> None:
        """Print all of it."""
        is_quiet = self._reporter.verbosity < 0
        if not is_quiet:
            title = f"{self._report['side']} {self._report['target']}"
            self._reporter.section(terminal.writable(title), sep="-")
        if not is_quiet:
            self._steps()
            if self._is_verbose:
                self._chapters()
        self._warnings()
        if not is_quiet:
            self._reasons()
            self._totals()
            self._outward()
        found = self._report["verdict"] or "KIT ERROR"
        if not is_quiet or found == Verdict.INCOMPLETE:
            self._open()
            self._next()
        for line in self._report["settings"].get("refused", ()):
            self._line(f"  settings: {line}", yellow=True)
        for said, is_red in waiver_lines(self._report):
            self._line(f"  {said}", **{"red" if is_red else "yellow": True})
        verdict = classes.of(self._report).get(verdicts.asked(self._report)) or found
        with guard.of(self._reporter.config).own():
            line = verdict_line(self._report)
            self._line(line, bold=True, **{_COLOURS.get(verdict, "red"): True})

    def _steps(self) -> None:
        """Say first which steps of a driver would let most be judged."""
        said = steps.line(self._report)
        if said:
            self._prose(one_line(said), yellow=True)

    def _line(self, text: str, **markup: bool) -> None:
        self._reporter.write_line(terminal.writable(text), **markup)

    def _prose(self, text: str, **markup: bool) -> None:
        self._line(terminal.filled(text, self._columns, "  ", "    "), **markup)

    # -- chapters ---------------------------------------------------------------------------------

    def _chapters(self) -> None:
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in self._report["results"]:
            rows.setdefault(spec.requirement(row["id"]).anchor.partition(".")[0], []).append(row)
        silent: dict[str, list[str]] = {}
        for chapter, found in sorted(rows.items()):
            outcomes = {Outcome(row["outcome"]) for row in found}
            if outcomes <= _SILENT and not self._is_verbose:
                worst = "not run" if Outcome.NOT_RUN in outcomes else "not applicable"
                silent.setdefault(worst, []).append(chapter)
            else:
                self._chapter(chapter, found, outcomes)
        for word, chapters in silent.items():
            self._prose(f"{word}: {_listed(chapters, is_short=word == 'not run')}")

    def _chapter(self, name: str, rows: list[dict[str, Any]], outcomes: set[Outcome]) -> None:
        red = outcomes & {Outcome.FAIL, Outcome.KIT_ERROR}
        doubtful = outcomes & (OPEN | {Outcome.WARN})
        markup = {"red": True} if red else {"yellow": True} if doubtful else {}
        said = terminal.filled(_fared(rows), self._columns, f"  {name:<17} ", " " * 20)
        self._line(said, **markup)

    # -- reasons ----------------------------------------------------------------------------------

    def _warnings(self) -> None:
        for row in self._report["results"]:
            if row["outcome"] == Outcome.WARN:
                said = f"expected {row['expected']}; observed {row['observed']}"
                self._prose(f"{row['id']} warns: {said}")

    def _reasons(self) -> None:
        """Why something was not decided, equal reasons together."""
        reasons: dict[str, list[str]] = {}
        behind = cascades.behind(self._report["results"])
        folded = set() if self._is_verbose else set(itertools.chain(*behind.values()))
        for row in self._report["results"]:
            if row["id"] in folded:
                continue
            if row["outcome"] in OPEN and row["outcome"] != Outcome.NOT_RUN:
                reasons.setdefault(f"{row['outcome']}: {row['reason']}", []).append(row["id"])
        for root, ids in behind.items():
            verb = "waits" if len(ids) == 1 else "wait"
            self._prose(f"{len(ids)} more {verb} for {root}: {_few(ids)}")
        most = len(reasons) if self._is_verbose else _MOST_REASONS
        for reason, ids in list(reasons.items())[:most]:
            self._prose(f"{_few(ids)}: {reason}")
        if len(reasons) > most:
            self._prose(f"... and {len(reasons) - most} more reasons: -v, or --memproto-report")

    # -- the end ----------------------------------------------------------------------------------

    def _totals(self) -> None:
        self._prose(_counted(self._report["counts"]))
        files = self._report["settings"].get("files", {})
        if files:
            given = ", ".join(f"{name} ({', '.join(keys)})" for name, keys in files.items())
            self._prose(f"settings: {given}")
        if self._report["cost"]["hooks"]:
            self._prose(self._cost())
        slowest = self._slowest()
        if slowest:
            self._prose(f"slowest: {slowest}")

    def _cost(self) -> str:
        """The target's own share of the time, and the hooks that took most of it."""
        cost = self._report["cost"]
        longest = sorted(cost["hooks"].items(), key=lambda item: -item[1][2])[:_MOST_HOOKS]
        shown = ", ".join(
            f"{self._hook(name)} {calls} times ({total_s:.1f} s)"
            for name, (calls, _, total_s) in longest
        )
        spent = f"{cost['hooks_s']:.1f} s of {cost['checks_s']:.1f} s"
        return f"{spent} in the {self._report['side']}: {shown}"

    def _slowest(self) -> str:
        """The calls that came nearest to their budgets, of those that the kit did not slow."""
        rows = [row for row in self._report["operations"].values() if row["rule"]]
        rows.sort(key=lambda row: row["slowest_s"] / row["budget_s"], reverse=True)
        return ", ".join(
            f"{row['hook']} {row['slowest_s']:.2f} s of {row['budget_s']:g} s"
            for row in rows[:_MOST_HOOKS]
        )

    def _hook(self, operation: str) -> str:
        if operation not in OPERATIONS:
            return operation
        row = self._report["operations"].get(operation)
        binding = bindings.named(self._report["binding"] or "") or bindings.NATIVE
        return str(row["hook"]) if row else binding.hook(operation)

    def _outward(self) -> None:
        """Addresses beyond loopback to which the target tried to send, which no run lets it."""
        tried = self._report["network"]["outward"]
        shown = [f"{one['address']} ({one['where'] or 'unknown'})" for one in tried[:_MOST_HOOKS]]
        more = [f"{len(tried) - len(shown)} more"] if len(tried) > len(shown) else []
        if shown:
            said = ", ".join([*map(one_line, shown), *more])
            self._prose(f"refused, since a run sends to loopback only: {said}")

    def _open(self) -> None:
        """A line of the needs of open results: of a run that is INCOMPLETE, the reason."""
        is_quiet = self._reporter.verbosity < 0
        rows = [row for row in self._report["results"] if _needs(row)]
        said = Counter(wanted(row["outcome"], needs.of_row(row)) for row in rows)
        # The lines above say the rest, where they are printed.
        told = [
            f"{count} {name}"
            for name, count in said.most_common()
            if is_quiet or name.startswith("need")
        ]
        left_out = sum(row["outcome"] == Outcome.NOT_RUN for row in self._report["results"])
        told += [f"{left_out} not run"] if left_out and is_quiet else []
        if told:
            self._prose(f"open: {', '.join(told)}")

    def _next(self) -> None:
        step = next_step.of(self._report)
        if step is not None:
            # A line to be copied is not broken.
            self._line(f"  next: {step.text}")


def _fared(rows: list[dict[str, Any]]) -> str:
    """`58 passed, 0 failed, 21 need: backend`."""
    counts = Counter(row["outcome"] for row in rows if row["outcome"] not in _NEED)
    said = Counter(wanted(row["outcome"], needs.of_row(row)) for row in rows if _needs(row))
    open_ones = [f"{count} {name}" for name, count in said.most_common()]
    always = [f"{counts.pop(name, 0)} {_WORDS[name]}" for name in ("pass", "fail")]
    return ", ".join([*always, *filter(None, [_counted(counts)]), *open_ones])


def _few(ids: list[str]) -> str:
    return ", ".join(ids[:4]) + (f" and {len(ids) - 4} more" if len(ids) > 4 else "")


def _needs(row: dict[str, Any]) -> bool:
    return row["outcome"] in _NEED


def _counted(found: Counter[str] | dict[str, int]) -> str:
    return ", ".join(
        f"{found[str(outcome)]} {_WORDS.get(outcome, str(outcome))}"
        for outcome in Outcome
        if found.get(str(outcome))
    )


def _listed(chapters: list[str], *, is_short: bool) -> str:
    if is_short and len(chapters) > _MOST_HOOKS:
        return f"{len(chapters)} chapters"
    return ", ".join(re.sub(r"^\d+-", "", name) for name in chapters)
