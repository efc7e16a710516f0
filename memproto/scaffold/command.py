"""The command `memproto new`."""

import argparse
import sys
from pathlib import Path

from memproto.scaffold.making import new

_NEXT = """\
{folder} holds the provider {name!r}
  cd {name}
  pip install -e '.[dev]'
  pytest                       its own tests
  pytest --memproto={name}{space}the conformance kit
"""


def add_command(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the arguments of this command, and what runs it."""
    parser.add_argument(
        "name", metavar="NAME", help="small letters, digits, - and _; the new directory's name"
    )
    parser.add_argument("--hermes", action="store_true", help="a plugin of Hermes Agent")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    folder = new(options.name, Path.cwd(), hermes=options.hermes)
    space = " " * max(1, 29 - len("pytest --memproto=") - len(folder.name))
    sys.stdout.write(_NEXT.format(folder=folder, name=folder.name, space=space))
    return 0
