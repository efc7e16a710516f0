"""Providers by the names under which packages are installed: entry points and distributions."""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

#: The distribution of this project.
_MINE = "memproto"

_NAME = re.compile(r"[A-Za-z0-9._-]+")
#: A list of YAML in its two forms, and its entries.
_DEPENDENCIES = re.compile(
    r"^pip_dependencies:\s*(?:\[(?P<inline>[^\]]*)\]|(?P<block>(?:\n\s*-[^\n]*)+))", re.MULTILINE
)
_ITEM = re.compile(r"[\s\"',-]*([A-Za-z][\w.\[\]<>=!~*-]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")

#: Entry-point groups that may hold a provider, in the order in which they are searched.
GROUPS = (
    "memproto.providers",
    "hermes_agent.memory_providers",
    "hermes_agent.plugins",
    "hermes.memory_provider",
    "hermes.memory_providers",
)


def entry_point(name: str) -> importlib.metadata.EntryPoint | None:
    """The entry point of that name, from the first of the groups that has one."""
    return next(iter(entry_points(name)), None)


def entry_points(name: str) -> list[importlib.metadata.EntryPoint]:
    """All entry points of that name, in the order of the groups."""
    # Each question reads the metadata of all that is installed.
    named = importlib.metadata.entry_points(name=name)
    return [point for group in GROUPS for point in named.select(group=group)]


def entry_point_of(distribution: importlib.metadata.Distribution) -> str:
    """The value of the distribution's own entry point in the first group that has one, or ""."""
    for group in GROUPS:
        for point in distribution.entry_points:
            if point.group == group:
                return point.value
    return ""


def missing_extra(
    target: str, point: importlib.metadata.EntryPoint | None
) -> tuple[str, list[str]] | None:
    """
    The extra that a provider of this project needs, as pip takes it, and what of it is missing.

    An extra has the name of the entry point that it is for. None where nothing is missing.
    """
    mine = distribution(_MINE)
    known = [] if mine is None else mine.entry_points
    named = point.value if point else target
    module = named.partition(":")[0].strip()
    names = [each.name for each in known if each.group == GROUPS[0] and each.module == module]
    for name in names:
        lacks = [item for item in _required(mine, name) if distribution(item) is None]
        if lacks:
            return f"{_MINE}[{name}]", lacks
    return None


def _required(mine: importlib.metadata.Distribution | None, extra: str) -> list[str]:
    found: list[str] = []
    text = mine and mine.read_text("METADATA")
    if text and all(marked["extra"] != extra for marked in _EXTRA.finditer(text)):
        # To read the lines one by one takes a parser of mail.
        return found
    for line in (mine and mine.requires) or ():
        marked = _EXTRA.search(line)
        if marked and marked["extra"] == extra:
            found.append(_NAME.match(line)[0])  # type: ignore[index]  # a requirement begins with one
    return found


def not_installed(target: str) -> list[str]:
    """Requirements of the target's package, or of its plugin.yaml, that are not installed here."""
    found = distribution(target.partition(":")[0].partition(".")[0])
    asked = [line for line in (found and found.requires) or () if not _EXTRA.search(line)]
    asked += _of_plugin(Path(target, "plugin.yaml"))
    names = [(match[0], line) for line in asked if (match := _NAME.match(line))]
    return [line.partition(";")[0].strip() for name, line in names if distribution(name) is None]


def _of_plugin(file: Path) -> list[str]:
    """`pip_dependencies` of a plugin, read without a parser of YAML, which may be missing too."""
    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError:
        return []
    listed = _DEPENDENCIES.search(text)
    return [] if listed is None else _ITEM.findall(listed["inline"] or listed["block"] or "")


def distribution(name: str) -> importlib.metadata.Distribution | None:
    """The installed distribution of that name, in any spelling that pip takes for it."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name):
        return None
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def modules_of(distribution: importlib.metadata.Distribution) -> list[str]:
    """
    The top modules of a distribution, the likeliest first: the one that is named like it.

    Read off its list of files, or off `top_level.txt` where an editable install has no such list.
    """
    name = re.sub(r"[-_.]+", "_", distribution.metadata["Name"]).lower()
    listed = (distribution.read_text("top_level.txt") or "").split()
    found = sorted({*_top_modules(distribution), *listed})
    return sorted(found, key=lambda module: (module.lower() != name, module))


def _top_modules(distribution: importlib.metadata.Distribution) -> Iterator[str]:
    for file in distribution.files or ():
        top = file.parts[0]
        if len(file.parts) > 1 and top.isidentifier() and file.name.endswith(".py"):
            yield top
        elif len(file.parts) == 1 and top.endswith(".py"):
            yield top.removesuffix(".py")
