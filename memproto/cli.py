"""The console script `memproto`: the requirements, read at the terminal."""

import argparse
import sys
import textwrap
from collections.abc import Sequence

from memproto import __version__, spec
from memproto.errors import NoSuchRequirement


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code, 4 for bad usage."""
    options = _parser().parse_args(arguments)
    try:
        text = _listed(options.side) if options.command == "list" else _explained(options.id)
    except NoSuchRequirement as error:
        sys.stderr.write(f"memproto explain {error}\n")
        return 4
    sys.stdout.write(text + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memproto",
        description="The requirements on agent-memory providers and hosts. "
        "A provider is judged by `pytest --memproto=TARGET`.",
    )
    parser.add_argument("--version", action="version", version=f"memproto {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser(
        "explain", help="show one requirement: rule, intent, fix, sources"
    )
    explain.add_argument("id", help="such as MP-RECALL-002")
    listed = commands.add_parser("list", help="list the requirements")
    listed.add_argument("--side", choices=("provider", "host"), default="provider")
    return parser


def _listed(side: spec.Side) -> str:
    return "\n".join(f"{item.id:<20} {item.level:<7} {item.text}" for item in spec.select([], side))


def _explained(requirement_id: str) -> str:
    item = spec.requirement(requirement_id.upper())
    rows = {
        "rule": item.text,
        "intent": item.intent,
        "fix": item.fix,
        "clause": item.clause,
        "sources": ", ".join(item.sources),
    }
    head = f"{item.id} ({item.level}, {item.side}, since {item.since}, {item.status})"
    return head + "".join(
        "\n" + textwrap.fill(text, 96, initial_indent=f"  {name:<9} ", subsequent_indent=" " * 12)
        for name, text in rows.items()
    )


if __name__ == "__main__":
    sys.exit(main())
