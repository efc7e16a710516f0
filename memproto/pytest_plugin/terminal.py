"""What the user sees at the terminal: header, letters, and the verdict of each target."""

from collections import Counter
from typing import Any

import pytest

from memproto import __version__, spec
from memproto.operations import OPERATIONS, hook_name
from memproto.testing.noise import Noise
from memproto.testing.outcomes import OPEN, Outcome, Result, worse
from memproto.types import SPEC_VERSION

_LETTERS = {
    Outcome.PASS: (".", "PASSED"),
    Outcome.FAIL: ("F", "FAILED"),
    Outcome.WARN: ("w", "WARNED"),
    Outcome.NOT_APPLICABLE: ("-", "NOT APPLICABLE"),
    Outcome.UNTESTABLE: ("?", "UNTESTABLE"),
    Outcome.INCONCLUSIVE: ("~", "INCONCLUSIVE"),
    Outcome.NOT_SCORED: ("-", "NOT SCORED"),
    Outcome.NOT_RUN: ("?", "NOT RUN"),
    Outcome.WAIVED: ("x", "WAIVED"),
    Outcome.KIT_ERROR: ("E", "KIT ERROR"),
}

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

#: How many lines with reasons a summary shows before it refers to the report.
_MOST_REASONS = 12

#: How many hooks the line on time names.
_MOST_HOOKS = 3


def header(targets: list[Any], noise: Noise) -> list[str]:
    """One line for the machine, and one for each target: what it is, and what was found."""
    lines = [f"memproto {__version__}, specification {SPEC_VERSION}", f"machine: {noise}"]
    for target in targets:
        contact = target.judge.contact
        found = f" ({contact.binding}, {contact.origin})" if contact.binding else ""
        lines.append(f"{target.order.side}: {target.order.target}{found}, seed {target.order.seed}")
    return lines


def status(rows: list[dict[str, Any]]) -> tuple[str, str, str]:
    """The category, letter and word of an item's worst result."""
    results = [Result.from_dict(row["result"]) for row in rows if row["shown"]]
    worst = results[0]
    for result in results[1:]:
        worst = worse(worst, result) if result.outcome is Outcome.FAIL else worst
    letter, word = _LETTERS[worst.outcome]
    categories = {Outcome.PASS: "passed", Outcome.FAIL: "failed", Outcome.KIT_ERROR: "failed"}
    return categories.get(worst.outcome, worst.outcome.replace("_", " ")), letter, word


def summary(reporter: Any, document: dict[str, Any], messages: list[list[str]]) -> None:
    """Print a block for each target, its verdict last; `messages` are those no item has shown."""
    for report, unseen in zip(document["reports"], messages, strict=True):
        reporter.section(f"{report['side']} {report['target']}", sep="-")
        for text in unseen:
            reporter.write_line(f"{text}\n")
        _chapters(reporter, report)
        _reasons(reporter, report)
        _verdict(reporter, report)
    reporter.write_line(f"exit code {document['exit_code']}")


def _chapters(reporter: Any, report: dict[str, Any]) -> None:
    by_area: dict[str, Counter[str]] = {}
    for result in report["results"]:
        area = spec.requirement(result["id"]).area
        by_area.setdefault(area, Counter())[result["outcome"]] += 1
    for area, found in by_area.items():
        reporter.write_line(f"  {area:<13} {_counted(found)}")


def _counted(found: Counter[str] | dict[str, int]) -> str:
    return ", ".join(
        f"{found[str(outcome)]} {_WORDS.get(outcome, str(outcome))}"
        for outcome in Outcome
        if found.get(str(outcome))
    )


def _reasons(reporter: Any, report: dict[str, Any]) -> None:
    """Why something was not decided, equal reasons together; and what only warned."""
    reasons: dict[str, list[str]] = {}
    for result in report["results"]:
        if result["outcome"] == Outcome.WARN:
            said = f"expected {result['expected']}; observed {result['observed']}"
            reporter.write_line(f"  {result['id']} warns: {said}")
        elif result["outcome"] in OPEN and result["outcome"] != Outcome.NOT_RUN:
            reasons.setdefault(f"{result['outcome']}: {result['reason']}", []).append(result["id"])
    for reason, ids in list(reasons.items())[:_MOST_REASONS]:
        shown = ", ".join(ids[:4]) + (f" and {len(ids) - 4} more" if len(ids) > 4 else "")
        reporter.write_line(f"  {shown}: {reason}")
    if len(reasons) > _MOST_REASONS:
        reporter.write_line(
            f"  ... and {len(reasons) - _MOST_REASONS} more reasons, see the report"
        )


def _verdict(reporter: Any, report: dict[str, Any]) -> None:
    verdict = report["verdict"] or "KIT ERROR"
    note = " (selected requirements only)" if report["selected"] else ""
    binding = report["binding"] or report["side"]
    parts = ("memproto " + report["spec"], report["target"], binding, "kit " + report["kit"])
    reporter.write_line(f"  {_counted(report['counts'])}")
    if report["cost"]["hooks"]:
        reporter.write_line(f"  {_cost(report)}")
    colour = {_COLOURS.get(verdict, "red"): True}
    reporter.write_line(" · ".join((*parts, verdict)) + note, bold=True, **colour)


def _cost(report: dict[str, Any]) -> str:
    """How much of the time was the target's own, and what it was asked most of all."""
    cost = report["cost"]
    longest = sorted(cost["hooks"].items(), key=lambda item: -item[1][2])[:_MOST_HOOKS]
    shown = ", ".join(
        f"{hook_name(name, report['binding'] or 'native') if name in OPERATIONS else name}"
        f" {calls} times ({total_s:.1f} s)"
        for name, (calls, _, total_s) in longest
    )
    return f"{cost['hooks_s']:.1f} s of {cost['checks_s']:.1f} s in the {report['side']}: {shown}"


def complain(config: pytest.Config, text: str) -> None:
    """Show a message about the run itself."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(text, red=True)
