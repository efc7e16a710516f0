"""`memproto spec`: a chapter, the part of it on one requirement, or the catalogue as JSON."""

import argparse
import re
import sys

from memproto import near, spec
from memproto.errors import KitUsageError, NoSuchRequirement

#: The mark that a link leads to; a reader of the text has no use for it.
_ANCHOR = re.compile(r"^<a id=\"[^\"]*\"></a>\n", re.MULTILINE)


def add_command(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `memproto spec`."""
    parser.add_argument(
        "name", nargs="*", help="a requirement such as MP-TURN-003, or a chapter such as 50-turns"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the catalogue of all requirements as JSON"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Print a part of the specification in Markdown; the names of the chapters for no name.

    Raises:
        NoSuchRequirement: There is no requirement and no chapter of that name.
        KitUsageError: A name and `--json` were given.

    """
    typed = " ".join(options.name)
    if options.json and typed:
        raise KitUsageError("--json", f"prints all requirements, not {typed}", "leave the name out")
    text = spec.as_json() if options.json else shown(typed)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    return 0


def shown(typed: str) -> str:
    """The text for what was typed; raises as `run`."""
    if not typed:
        return "".join(f"{name:<20} {_title(name)}\n" for name in spec.chapter_names())
    item = spec.requirements().get(spec.normal(typed))
    if item is not None:
        return spec.section(item)
    return _ANCHOR.sub("", spec.chapter(_chapter(typed)))


def _chapter(typed: str) -> str:
    """The chapter that is meant: by its name, its number, its words, or its file."""
    wanted = typed.lower().removeprefix("spec/v1/").partition("#")[0].removesuffix(".md")
    names = {part: name for name in spec.chapter_names() for part in _parts(name)}
    if wanted in names:
        return names[wanted]
    meant = near.nearest(wanted, names)
    if meant:
        fix = f"memproto spec {names[meant]}"
    else:
        fix = spec.near(spec.normal(typed)) if any(map(str.isdigit, typed)) else ""
        fix = f"memproto spec {fix}" if fix else "`memproto spec` lists the chapters"
    raise NoSuchRequirement(repr(typed), "is no chapter and no requirement", fix)


def _parts(name: str) -> tuple[str, ...]:
    number, _, words = name.partition("-")
    return (name, number, words) if number.isdecimal() else (name,)


def _title(name: str) -> str:
    return spec.chapter(name).partition("\n")[0].removeprefix("# ")
