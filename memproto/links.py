"""
Addresses of clauses: the published specification, and the copy that is installed.

The project's addresses stand in its metadata alone, as `[project.urls]` of pyproject.toml.
"""

import functools
import os
import re
from collections.abc import Mapping
from importlib import metadata, resources
from pathlib import Path
from urllib.parse import quote

#: The part of an address that a publisher replaces by a name; until then it leads nowhere.
_UNNAMED = "/OWNER/"


#: A clause wherever a text of the kit names one.
_CLAUSE = re.compile(r"\bspec/v1/[\w-]+\.md#mp-[a-z0-9-]+")

#: Variables by which a terminal that shows links (OSC 8) is known, with values if they count.
_TERMINALS = {
    "TERM_PROGRAM": ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio"),
    "TERM": ("xterm-kitty", "alacritty", "foot", "xterm-ghostty", "contour", "wezterm"),
    "WT_SESSION": (),
    "KITTY_WINDOW_ID": (),
    "KONSOLE_VERSION": (),
    "DOMTERM": (),
}

#: The first release of the library behind GNOME's terminal that shows them without fault.
_VTE = 5000


@functools.cache
def _addresses() -> dict[str, str]:
    """Label to address, those that lead nowhere yet left out."""
    try:
        named = metadata.metadata("memproto").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return {}
    return leading(dict(line.split(", ", 1) for line in named if ", " in line))


def leading(addresses: Mapping[str, str]) -> dict[str, str]:
    """Those of some labelled addresses that have an owner, and so lead somewhere."""
    return {label: url for label, url in addresses.items() if _UNNAMED not in url}


def home() -> str:
    """The address of the project, or ""."""
    return _addresses().get("Homepage", "")


def published(clause: str) -> str:
    """The address of a clause such as `spec/v1/50-turns.md#mp-turn-003`, or "" for none."""
    base = _addresses().get("Specification", "").rstrip("/")
    return f"{base}/{clause.removeprefix('spec/v1/')}" if base else ""


def installed(clause: str) -> str:
    """The address of the installed file that holds a clause, for a terminal on this machine."""
    name, _, anchor = clause.removeprefix("spec/v1/").partition("#")
    path = Path(str(resources.files("memproto._spec") / "v1" / name))
    if not path.is_file():
        return ""
    return f"file://{quote(os.path.abspath(path))}{f'#{anchor}' if anchor else ''}"  # noqa: PTH100 - a link stays a link


def are_shown(environment: Mapping[str, str]) -> bool:
    """True if the terminal of this environment is known to show links; FORCE_HYPERLINK decides."""
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    if environment.get("CI") or environment.get("TERM") == "dumb" or "TMUX" in environment:
        return False
    version = environment.get("VTE_VERSION", "")
    if version.isdecimal() and int(version) >= _VTE:
        return True
    return any(
        name in environment and (not known or environment[name] in known)
        for name, known in _TERMINALS.items()
    )


def linked(text: str) -> str:
    """The text, each clause in it as a link of a terminal: to the published one, or the file."""
    return _CLAUSE.sub(lambda found: _link(found[0]), text)


def _link(clause: str) -> str:
    address = published(clause) or installed(clause)
    return f"\x1b]8;;{address}\x1b\\{clause}\x1b]8;;\x1b\\" if address else clause
