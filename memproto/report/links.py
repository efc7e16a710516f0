"""
Addresses of clauses: the published specification, and the copy that is installed.

The project's addresses stand in its metadata alone, as `[project.urls]` of pyproject.toml.
"""

import functools
import os
from importlib import metadata, resources
from pathlib import Path
from urllib.parse import quote

#: The part of an address that a publisher replaces by a name; until then it leads nowhere.
_UNNAMED = "/OWNER/"


@functools.cache
def _addresses() -> dict[str, str]:
    """Label to address, those that lead nowhere yet left out."""
    try:
        named = metadata.metadata("memproto").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return {}
    found = dict(line.split(", ", 1) for line in named if ", " in line)
    return {label: url for label, url in found.items() if _UNNAMED not in url}


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
