"""The command `memproto new`."""

import argparse
import sys
from pathlib import Path

from memproto.scaffold.making import new
from memproto.scaffold.naming import LANGUAGES, Language

_NEXT = """\
{folder} holds the provider {name!r}
  cd {name}
"""

#: The commands behind that, each with its meaning, by the language.
_STEPS: dict[Language, tuple[tuple[str, str], ...]] = {
    "python": (
        ("pip install -e '.[dev]'", ""),
        ("pytest", "its own tests"),
        ("pytest --memproto={name}", "the conformance kit"),
    ),
    "typescript": (
        ("npm install", ""),
        ("npm test", "compiles it and runs its own tests"),
        ('pytest --memproto="wire:node dist/src/server.js"', "the conformance kit"),
    ),
    "rust": (
        ("cargo test", "its own tests"),
        ("cargo build --release", ""),
        ('pytest --memproto="wire:target/release/{name}"', "the conformance kit"),
    ),
}


def add_command(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the arguments of this command, and what runs it."""
    parser.add_argument(
        "name", metavar="NAME", help="small letters, digits, - and _; the new directory's name"
    )
    parser.add_argument("--hermes", action="store_true", help="a plugin of Hermes Agent")
    parser.add_argument(
        "--lang",
        choices=LANGUAGES,
        default="python",
        help="the language: python, or one of those that are served over the wire",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    folder = new(options.name, Path.cwd(), hermes=options.hermes, language=options.lang)
    sys.stdout.write(_NEXT.format(folder=folder, name=folder.name))
    steps = [(words.format(name=folder.name), told) for words, told in _STEPS[options.lang]]
    width = max(28, *(len(words) for words, _ in steps))
    for words, told in steps:
        sys.stdout.write(f"  {words:{width}} {told}".rstrip() + "\n")
    return 0
