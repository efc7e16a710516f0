"""`memproto html` and `memproto board`: pages from reports that were written before."""

import argparse
from pathlib import Path

from memproto.report.console import tell, tell_verdict, written


def add_html(parser: argparse.ArgumentParser) -> None:
    """The command that makes one page of one report."""
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE")
    parser.set_defaults(run=_html)


def add_board(parser: argparse.ArgumentParser) -> None:
    """The command that makes a site of several reports."""
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT.json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.add_argument(
        "--spec-url", default="", metavar="URL", help="where the specification's chapters are read"
    )
    parser.set_defaults(run=_board)


def _html(options: argparse.Namespace) -> int:
    from memproto.report import html, pages, reading

    pages.check_installed("memproto html")
    page = html.render(reading.read(options.report))
    written(options.output, lambda: options.output.write_bytes(pages.encoded(page)))
    tell(str(options.output))
    return 0


def _board(options: argparse.Namespace) -> int:
    from memproto.report import board, pages

    pages.check_installed("memproto board")
    entries = written(
        options.output,
        lambda: board.write(options.reports, options.output, spec_url=options.spec_url),
    )
    for entry in entries:
        tell_verdict(entry.line)
    tell(f"{options.output / 'index.html'}: {len(entries)} target{'s' * (len(entries) != 1)}")
    return 0
