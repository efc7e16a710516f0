"""`memproto html` and `memproto board`: pages from reports that were written before."""

import argparse
import sys
from pathlib import Path
from typing import Any

from memproto.errors import KitUsageError


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
    _written(options.output, lambda: options.output.write_bytes(pages.encoded(page)))
    sys.stdout.write(f"{options.output}\n")
    return 0


def _board(options: argparse.Namespace) -> int:
    from memproto.report import board, pages

    pages.check_installed("memproto board")
    entries = _written(
        options.output,
        lambda: board.write(options.reports, options.output, spec_url=options.spec_url),
    )
    for entry in entries:
        _tell(entry.line)
    _tell(f"{options.output / 'index.html'}: {len(entries)} target{'s' * (len(entries) != 1)}")
    return 0


def _tell(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _written(output: Path, write: Any) -> Any:
    try:
        return write()
    except OSError as error:
        place, fault = str(error.filename or output), f"cannot be written ({error.strerror})"
        raise KitUsageError(place, fault, "name a place of your own with -o") from None
