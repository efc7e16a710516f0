"""`memproto catalog`: what the workflow of a catalog asks of entries and of reports."""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto.adapters.hermes_releases import NEWEST, RELEASES, nearest
from memproto.catalog import checkouts, entries, interface, letter
from memproto.errors import KitUsageError
from memproto.report import reading
from memproto.report.console import tell

#: A repository by its address, as an action that checks it out takes it.
_HUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")

#: One requirement, as pip reads it from a line; an option or an address is none.
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]+\])?"
    r"( ?[<>=!~]{1,3} ?[A-Za-z0-9.*+!-]+(,(?= ?[<>=!~])|$|(?=;)|(?= ;)))*( ?;[ -~]*)?"
)


def add_command(parser: argparse.ArgumentParser) -> None:
    """Add the parsers of its four questions."""
    questions = parser.add_subparsers(dest="question", required=True)
    listed = questions.add_parser("entries", help="memory entries among files, as a JSON matrix")
    listed.add_argument("files", nargs="*", metavar="FILE.yaml")
    listed.set_defaults(run=_entries)
    needs = questions.add_parser("requirements", help="packages that plugin.yaml asks for")
    needs.add_argument("file", metavar="FILE.yaml")
    needs.add_argument("--checkout", default=".", metavar="DIR")
    needs.set_defaults(run=_requirements)
    text = questions.add_parser("letter", help="the text for a plugin's author, as Markdown")
    text.add_argument("report", type=Path, metavar="REPORT.json")
    text.set_defaults(run=_letter)
    host = questions.add_parser("interface", help="hermes-agent beside what the kit knows of it")
    host.add_argument("folder", nargs="?", metavar="DIR", help="its files; else the installed one")
    host.add_argument("--release", choices=list(RELEASES), help="the row that it is compared with")
    host.add_argument("--row", action="store_true", help="print what was read, as JSON")
    host.set_defaults(run=_interface)


def _entries(options: argparse.Namespace) -> int:
    """Print `{"include": [...]}`, an object for each entry of the category memory."""
    read = [entries.read(file, "memproto catalog entries FILE") for file in options.files]
    found = [
        {"file": entry.file, "name": entry.name, "repository": _repository(entry), "sha": entry.sha}
        for entry in read
        if entry.category == entries.MEMORY
    ]
    tell(json.dumps({"include": found}))
    return 0


def _repository(entry: entries.Entry) -> str:
    """OWNER/NAME of the repository; "" for one that is elsewhere."""
    found = _HUB.fullmatch(entry.repo)
    return found[1] if found else ""


def _requirements(options: argparse.Namespace) -> int:
    """Print a line for each; one that is no plain requirement is refused."""
    entry = entries.read(options.file, "memproto catalog requirements FILE")
    try:
        plugin = checkouts.plugin_of(entry, options.checkout)
    except checkouts.NotThere as fault:
        what = f"memproto catalog requirements {options.file}"
        raise KitUsageError(what, str(fault), "name the checkout by --checkout DIR") from None
    for line in _asked_for(plugin):
        if not _REQUIREMENT.fullmatch(line):
            fix = "have the author name it by its name and version"
            raise KitUsageError(str(plugin / "plugin.yaml"), f"{line!r} is no requirement", fix)
        tell(line)
    return 0


def _asked_for(plugin: Path) -> Iterator[str]:
    file = plugin / "plugin.yaml"
    if not file.is_file():
        return
    manifest: dict[str, Any] = entries.mapping(file, str(file), "write plugin.yaml anew")
    for key in ("pip_dependencies", "python_dependencies"):
        yield from (line.strip() for line in entries.names(manifest.get(key)) if line.strip())


def _interface(options: argparse.Namespace) -> int:
    """Print each difference on a line; the exit code is 1 if there is one."""
    if options.folder is None:
        folder, version = interface.installed()
    else:
        folder = Path(options.folder)
        version = interface.version(folder)
    found = interface.read(folder)
    if options.row:
        tell(json.dumps(found.as_dict(), indent=1))
        return 0
    release = options.release or (nearest(version) if version else NEWEST)
    host = f"hermes-agent {version}" if version else f"hermes-agent in {folder}"
    differences = interface.differences(interface.known()[release], found)
    if not differences:
        tell(f"{host} has the interface that the kit knows as {release}")
        return 0
    tell(f"{host} differs from what the kit knows as {release}:")
    for line in differences:
        tell(f"- {line}")
    return 1


def _letter(options: argparse.Namespace) -> int:
    tell(letter.written(reading.read(options.report)).rstrip("\n"))
    return 0
