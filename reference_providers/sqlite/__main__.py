"""
The memory at the terminal: `python -m memproto.reference_providers.sqlite --home DIR search WORDS`.

Exit code 0; 1 where what was asked for cannot be done, with one line that says why.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memproto.errors import Misconfigured, ProviderError

from . import tool, transfer
from .index import Filter, Row
from .settings import Settings
from .store import Store

_SESSION = "import"

#: Days of more digits begin before the first date that there is.
_MOST_DIGITS = 5


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; gives the exit code."""
    asked = _parser().parse_args(words)
    try:
        store = _opened(asked)
        try:
            _DOING[asked.command](store, asked)
        finally:
            store.database.close()
    except (ProviderError, OSError, UnicodeError, OverflowError) as error:
        print(f"memproto sqlite: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memproto.reference_providers.sqlite")
    parser.add_argument("--home", required=True, help="the provider's own directory")
    parser.add_argument("--user", default=None, help="the user_id; left out for no user")
    commands = parser.add_subparsers(dest="command", required=True)
    search = commands.add_parser("search", help="look for words, phrases, pre*, OR, NOT, ()")
    search.add_argument("query", nargs="+")
    for name in ("role", "platform", "since", "until"):
        search.add_argument(f"--{name}")
    search.add_argument("--limit", type=int, default=10)
    prune = commands.add_parser("prune", help="remove sessions in which nothing was said of late")
    prune.add_argument("--older-than", required=True, type=_days, metavar="90d")
    taken = commands.add_parser("import", help="take in an export, or a transcript")
    taken.add_argument("file", type=Path, help="JSON lines; - for standard input")
    taken.add_argument("--session", default=_SESSION, help="for lines that name none")
    given = commands.add_parser("export", help="write every text as JSON lines")
    given.add_argument("--session", help="of this session alone")
    return parser


def _days(text: str) -> timedelta:
    number = text.removesuffix("d")
    if not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days, such as 90d")
    return timedelta(days=int(number))


def _opened(asked: argparse.Namespace) -> Store:
    if not Path(asked.home).is_dir():
        raise Misconfigured(f"{asked.home} is no directory; --home is the provider's own")
    store = Store(Settings.of({"home": asked.home, "user_id": asked.user, "platform": "cli"}))
    store.database.open()
    return store


# -- commands --------------------------------------------------------------------------------------


def _search(store: Store, asked: argparse.Namespace) -> None:
    given = {name: getattr(asked, name) for name in ("role", "platform", "since", "until", "limit")}
    for row in tool.found(store, {"query": " ".join(asked.query), **given}):
        _print(f"{row.created_at}  {row.key}  {row.role}\n    {_line(row)}")


def _line(row: Row) -> str:
    return " ".join(row.content.split())


def _prune(store: Store, asked: argparse.Namespace) -> None:
    before = (datetime.now(UTC) - asked.older_than).isoformat()
    newest = "(SELECT max(julianday(created_at)) FROM messages WHERE session = s.id)"
    condition = (f"{newest} < julianday(?)", before)
    print(f"{store.remove(Filter(store.owner, (condition,)))} texts removed")


def _import(store: Store, asked: argparse.Namespace) -> None:
    if str(asked.file) == "-":
        done = transfer.take_in(store, sys.stdin, asked.session)
    else:
        with asked.file.open(encoding="utf-8") as lines:
            done = transfer.take_in(store, lines, asked.session)
    print(f"{done.stored} texts stored, {done.known} were there")


def _export(store: Store, asked: argparse.Namespace) -> None:
    scope = {} if asked.session is None else {"session_id": asked.session}
    for line in transfer.lines_of(store.within(scope)):
        print(line)


def _print(text: str) -> None:
    """Print what a terminal may not be able to show."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


_DOING = {"search": _search, "prune": _prune, "import": _import, "export": _export}

if __name__ == "__main__":
    sys.exit(main())
