"""Providers by the names under which packages are installed: entry points and distributions."""

import importlib.metadata
import re
from collections.abc import Iterator

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
