"""`memproto check-trace FILE ...`: what traces show, told at the terminal."""

import argparse
import collections
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from memproto.tracing.findings import Finding
from memproto.tracing.judging import judge
from memproto.tracing.reading import Damage, Trace, read

_WIDTH = 96
_MOST_OF_A_RULE = 10


def add(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command."""
    parser.add_argument("file", metavar="FILE", nargs="+", type=Path, help="a trace, JSON lines")
    parser.add_argument(
        "--side",
        choices=("both", "host", "provider"),
        default="both",
        help="whose violations count; the others are left out",
    )
    parser.add_argument(
        "--still-running",
        action="store_true",
        help="the host has not ended, or was killed: a trace without its last line is no fault",
    )


def run(options: argparse.Namespace, tell: Callable[[str], object]) -> int:
    """
    Judge each file; gives 0 where nothing that a rule demands is missing, and 1.

    A violation of a mere recommendation is told, and counts as a warning.

    Raises:
        OSError: A file cannot be read.

    """
    # Read first: a mistyped name is told before a long list of findings.
    files = [(path, *read(path)) for path in options.file]
    return max(_told(path, traces, damages, options, tell) for path, traces, damages in files)


def _told(
    path: Path,
    traces: list[Trace],
    damages: list[Damage],
    options: argparse.Namespace,
    tell: Callable[[str], object],
) -> int:
    if not options.still_running:
        damages = [*damages, *_without_an_end(traces)]
    findings = [
        finding
        for trace in traces
        for finding in judge(trace, still_running=options.still_running)
        if options.side in ("both", finding.rule.side)
    ]
    for damage in damages:
        place = f"{path}:{damage.line}" if damage.line else str(path)
        tell(f"{place}: {damage.reason}\n")
    for text in _listed(path, sorted(findings, key=lambda finding: finding.line)):
        tell(text)
    wrong = len(damages) + sum(map(_is_demanded, findings))
    warnings = len(damages) + len(findings) - wrong
    tell(f"{path}: {_summary(traces, wrong, warnings)}\n")
    return 1 if wrong else 0


def _is_demanded(finding: Finding) -> bool:
    return finding.rule.is_demanded


def _without_an_end(traces: list[Trace]) -> Iterator[Damage]:
    for trace in traces:
        if trace.is_whole and not trace.is_ended:
            yield Damage(
                trace.line,
                f"trace {trace.id} has no last line: its host runs, was killed, or the line is "
                "missing (--still-running allows the first two)",
            )


def _listed(path: Path, findings: list[Finding]) -> Iterator[str]:
    """The findings, of each rule the first few."""
    told: collections.Counter[str] = collections.Counter()
    for finding in findings:
        told[finding.rule.id] += 1
        if told[finding.rule.id] <= _MOST_OF_A_RULE:
            yield _shown(path, finding)
    for name, number in told.items():
        if number > _MOST_OF_A_RULE:
            yield f"{path}: {number - _MOST_OF_A_RULE} more findings of {name}\n"


def _shown(path: Path, finding: Finding) -> str:
    rule = finding.rule
    who = f" {finding.provider!r}" if finding.provider else ""
    what = "" if _is_demanded(finding) else "warning: "
    head = f"{path}:{finding.line}: {what}{rule.id} ({rule.side}; provider{who})\n"
    rows = {"seen": finding.seen, "expected": rule.text, "fix": rule.fix, "clause": rule.clause}
    return head + "".join(
        textwrap.fill(text, _WIDTH, initial_indent=f"  {name:<9} ", subsequent_indent=" " * 12)
        + "\n"
        for name, text in rows.items()
    )


def _summary(traces: list[Trace], wrong: int, warnings: int) -> str:
    calls = sum(len(trace.calls) for trace in traces)
    instances = sum(len(trace.providers) for trace in traces)
    counts = (
        _count(len(traces), "trace"),
        _count(instances, "provider instance"),
        _count(calls, "call"),
    )
    found = _count(wrong, "finding") if wrong else "in order"
    told = f", {_count(warnings, 'warning')}" if warnings else ""
    return f"{', '.join(counts)}; {found}{told}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
