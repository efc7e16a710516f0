"""The commands that take reports of former runs: pages of them, waivers, and what CI asks for."""

import argparse
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memproto.errors import KitUsageError
from memproto.report.console import tell, tell_verdict, written
from memproto.report.measured import command as measured

#: Exit codes of `verify`, `diff` and `merge`: nothing to say, and something.
_GOOD, _FOUND = 0, 1

#: Ids that a line names.
_MOST_IDS = 3

_PROOF = (
    "this finds accidental change; it is no proof against forgery: "
    "who changes a report on purpose can make its fingerprint anew"
)


def add_commands(commands: Any) -> None:
    """Add all of them to the parsers of `memproto`."""
    for name, (about, add) in _COMMANDS.items():
        add(commands.add_parser(name, help=about))


# -- html and board --------------------------------------------------------------------------------


def _add_html(parser: argparse.ArgumentParser) -> None:
    """The command that makes one page of one report."""
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE")
    parser.set_defaults(run=_html)


def _add_board(parser: argparse.ArgumentParser) -> None:
    """The command that makes a site of several reports."""
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT.json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.add_argument(
        "--spec-url", default="", metavar="URL", help="where the specification's chapters are read"
    )
    parser.add_argument(
        "--by-file", action="store_true", help="call each target as its report's file is called"
    )
    parser.set_defaults(run=_board)


def _html(options: argparse.Namespace) -> int:
    from memproto.report import html, pages, reading
    from memproto.report.measured import page as measured_page
    from memproto.report.measured import reading as measured_reading

    pages.check_installed("memproto html")
    if measured_reading.is_one(options.report):
        page = measured_page.render(measured_reading.read(options.report))
    else:
        page = html.render(reading.read(options.report))
    written(options.output, lambda: options.output.write_bytes(pages.encoded(page)))
    tell(str(options.output))
    return 0


def _board(options: argparse.Namespace) -> int:
    from memproto.report import board, pages

    pages.check_installed("memproto board")
    entries = written(
        options.output,
        lambda: board.write(
            options.reports,
            options.output,
            spec_url=options.spec_url,
            by_file=options.by_file,
        ),
    )
    for entry in entries:
        tell_verdict(entry.line)
    tell(f"{options.output / 'index.html'}: {len(entries)} target{'s' * (len(entries) != 1)}")
    return 0


# -- sarif -----------------------------------------------------------------------------------------


def _add_sarif(parser: argparse.ArgumentParser) -> None:
    """The command that makes SARIF of a report; lines of source are read from here."""
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE.sarif")
    parser.set_defaults(run=_sarif)


def _sarif(options: argparse.Namespace) -> int:
    from memproto.report import reading
    from memproto.report.formats import sarif

    found = reading.read(options.report)
    written(options.output, lambda: sarif.write(options.output, found))
    tell(str(options.output))
    return _GOOD


# -- verify ----------------------------------------------------------------------------------------


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    from memproto.report import reading, verifying, view
    from memproto.report.verdict_line import verdict_line

    document = reading.read(options.report)
    faults = verifying.faults(document)
    results = sum(len(report["results"]) for report in document["reports"])
    for text in faults:
        tell(f"{options.report}: {view.one_line(text)}")
    said = "agrees with its schema, catalogue and fingerprint"
    if faults:
        said = f"{len(faults)} fault{'s' * (len(faults) != 1)}"
    number = len(document["reports"])
    counted = f"{number} report{'s' * (number != 1)}, {results} results"
    tell(f"{options.report}: {counted}: {said}")
    # A verdict that its own results deny is not repeated.
    for report in () if faults else document["reports"]:
        tell_verdict(verdict_line(report))
    tell(_PROOF)
    return _FOUND if faults else _GOOD


# -- diff ------------------------------------------------------------------------------------------


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD.json")
    parser.add_argument("new", type=Path, metavar="NEW.json")
    parser.add_argument("--markdown", action="store_true", help="as a section of Markdown")
    parser.set_defaults(run=_diff)


def _diff(options: argparse.Namespace) -> int:
    from memproto.report import comparing, reading
    from memproto.report.formats import markdown

    found = comparing.compare(reading.read(options.old), reading.read(options.new))
    as_markdown = options.markdown
    tell(markdown.bounded(markdown.comparison(found)) if as_markdown else comparing.as_text(found))
    return _FOUND if found.is_worse else _GOOD


# -- merge -----------------------------------------------------------------------------------------


def _add_merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT.json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE.json")
    parser.add_argument(
        "--gate", action="store_true", help="end with the exit code of the merged report"
    )
    parser.set_defaults(run=_merge)


def _merge(options: argparse.Namespace) -> int:
    from memproto.report import document, merging, reading, view
    from memproto.report.verdict_line import verdict_line

    read = [(str(path), reading.read(path)) for path in options.reports]
    found = merging.merge(read)
    written(options.output, lambda: document.write(options.output, found.document))
    for name in found.repeated:
        tell(f"{name}: holds nothing that another file does not hold")
    for text in found.conflicts:
        tell(f"conflict: {view.one_line(text)}; the worse one stands")
    reports = found.document["reports"]
    for report in reports:
        left = report["counts"]["not_run"]
        tell_verdict(verdict_line(report))
        if left:
            tell(f"  {left} not run")
    tell(f"{options.output}: {len(reports)} reports of {len(read)} files")
    if options.gate:
        return int(found.document["exit_code"]) or (_FOUND if found.conflicts else _GOOD)
    return _FOUND if found.conflicts else _GOOD


# -- stability -------------------------------------------------------------------------------------


def _add_stability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT.json")
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE.toml",
        help="targets that are the authors' own, forks, and red lines that were refuted",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="as tables of Markdown")
    form.add_argument("--json", action="store_true", help="each requirement as data")
    parser.set_defaults(run=_stability)


def _stability(options: argparse.Namespace) -> int:
    from memproto.report import stability

    ledger = stability.Ledger()
    if options.ledger is not None:
        ledger = stability.read_ledger(options.ledger)
    found = stability.standings(stability.read_reports(options.reports), ledger)
    if options.json:
        tell(json.dumps([one.as_dict() for one in found], indent=1))
    else:
        tell(stability.as_markdown(found) if options.markdown else stability.as_text(found))
    return _GOOD


# -- summary and badge -----------------------------------------------------------------------------


def _add_summary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument("--against", type=Path, metavar="OLD.json", help="say what changed, too")
    parser.set_defaults(run=_summary)


def _summary(options: argparse.Namespace) -> int:
    from memproto.report import reading
    from memproto.report.formats import markdown

    old = None if options.against is None else reading.read(options.against)
    tell(markdown.bounded(markdown.summary(reading.read(options.report), old)).rstrip("\n"))
    return _GOOD


def _add_badge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument(
        "--target", metavar="TARGET", help="of this target; the worst of all if unset"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="FILE",
        help="FILE.svg, or FILE.json for the endpoint form of a badge service",
    )
    parser.set_defaults(run=_badge)


def _badge(options: argparse.Namespace) -> int:
    from memproto.report import reading
    from memproto.report.formats import badge

    forms: dict[str, Callable[..., str]] = {".svg": badge.svg, ".json": badge.endpoint}
    form = forms.get(options.output.suffix.lower())
    if form is None:
        fault = "is neither .svg nor .json"
        raise KitUsageError(f"-o {options.output}", fault, "name a file such as memproto.svg")
    text = form(reading.read(options.report), options.target)
    output: Path = options.output
    written(output, lambda: output.write_text(text, "utf-8", "backslashreplace"))
    tell(str(options.output))
    return _GOOD


# -- waive -----------------------------------------------------------------------------------------


def _add_waive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="the requirement, such as MP-TURN-002")
    parser.add_argument(
        "--baseline", type=Path, metavar="REPORT.json", help="every requirement that failed there"
    )
    parser.add_argument("--target", metavar="TARGET", help="with --baseline: of this target")
    parser.add_argument("--reason", metavar="TEXT", help="why it fails, and why that is borne")
    parser.add_argument("--issue", required=True, metavar="URL", help="where the work is followed")
    parser.add_argument("--owner", required=True, metavar="NAME", help="who answers for it")
    parser.add_argument(
        "--expires", required=True, metavar="YYYY-MM-DD", help="the last day on which it holds"
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="the least profile under which it fails; with --baseline that of the report",
    )
    parser.add_argument(
        "--file", type=Path, help="where it is written; the file of the settings, or waivers.toml"
    )
    parser.set_defaults(run=_waive)


def _waive(options: argparse.Namespace) -> int:
    from memproto.report import waiving
    from memproto.testing.settings import waivers

    entries = _entries(options)
    here = Path.cwd()
    path = waiving.place(options.file, here)
    known = written(path, lambda: waiving.add(path, entries, waivers.today()), "--file")
    shown = os.path.relpath(path, here)
    for key in entries:
        tell(f"{shown}: {key} " + ("has an entry, which stays" if key in known else "is waived"))
    line = waiving.unnamed(path, here)
    if entries and line:
        tell(f"no settings name it yet; memproto.toml, or [tool.memproto], needs: {line}")
    if options.baseline and entries:
        _tell_gate(_one(options), entries, line)
    return _FOUND if known and not options.baseline else _GOOD


def _tell_gate(report: dict[str, Any], entries: Iterable[str], line: str) -> None:
    """Say what the entries cover beside themselves, and the command that is green from now on."""
    from memproto.report import waiving

    behind, others = waiving.remaining(report, entries)
    if behind:
        said = "1 more waits" if len(behind) == 1 else f"{len(behind)} more wait"
        tell(f"{said} for them, and {'is' if len(behind) == 1 else 'are'} covered")
    if others:
        more = ", ..." if len(others) > _MOST_IDS else ""
        said = f"{len(others)} could not be judged for another reason"
        tell(f"{said} ({', '.join(others[:_MOST_IDS])}{more}); a gate allows that by an option")
    tell(f"next: {waiving.gate(report, line, Path.cwd(), others)}")


def _entries(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Requirement to entry: of the one that was named, or of all that failed in a report."""
    if (options.id is None) == (options.baseline is None):
        fix = "memproto waive MP-TURN-002 ..., or memproto waive --baseline REPORT.json ..."
        raise KitUsageError("memproto waive", "needs one requirement, or --baseline", fix)
    if options.id is not None:
        if not options.reason:
            fix = '--reason "why it fails, and why that is borne"'
            raise KitUsageError(f"the waiver of {options.id}", "has no reason", fix)
        return {options.id.upper(): _entry(options, options.reason, options.profile)}
    return _baseline(options, _one(options))


def _baseline(options: argparse.Namespace, report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    from memproto.report import waiving
    from memproto.testing.settings.waiver_entries import BASELINE

    found = waiving.baseline(report)
    if not found:
        tell(f"{options.baseline}: nothing failed; nothing is written")
    profile = options.profile or report["profile"]
    return {
        key: {**_entry(options, options.reason or reason, profile), BASELINE: True}
        for key, reason in found.items()
    }


def _entry(options: argparse.Namespace, reason: str, profile: str | None) -> dict[str, Any]:
    """One entry; the least profile of all is what holds where none is named."""
    from memproto.testing.settings.waiver_entries import PROFILE, PROFILES

    common = {"issue": options.issue, "owner": options.owner, "expires": _date(options.expires)}
    named = {PROFILE: profile} if profile not in (None, PROFILES[0]) else {}
    return {"reason": reason, **common, **named}


def _one(options: argparse.Namespace) -> dict[str, Any]:
    """The report of a baseline: a waiver must not come from another target's failure."""
    from memproto.report import reading

    reports = reading.read(options.baseline)["reports"]
    found = [item for item in reports if options.target in (None, item["target"])]
    if len(found) == 1:
        one: dict[str, Any] = found[0]
        return one
    names = " or ".join(item["target"] for item in reports) or "another report"
    fault = f"holds {len(found)} reports that it could mean"
    if options.target is not None and not found:
        fault = f"holds no report on {options.target}"
    raise KitUsageError(str(options.baseline), fault, f"name one: --target {names}")


def _date(text: str) -> Any:
    """A date, or the text as it is, of which the entry's own check says what is wrong."""
    from memproto.testing.settings import waiver_entries

    return waiver_entries.as_date(text) or text


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "measure": ("measure recall, speed and growth beside the verdict", measured.add),
    "html": ("make a page of a report, or of a measurement", _add_html),
    "sarif": ("make SARIF of a report, for code hosts and editors", _add_sarif),
    "board": ("make a site of targets by requirements", _add_board),
    "verify": ("see whether a report agrees with itself", _add_verify),
    "diff": ("say what changed from one report to another", _add_diff),
    "merge": ("make one report of those of a sharded run", _add_merge),
    "stability": ("say which requirements may become stable", _add_stability),
    "summary": ("write a report as Markdown", _add_summary),
    "badge": ("make a badge of a report", _add_badge),
    "waive": ("let a requirement fail for now", _add_waive),
}
