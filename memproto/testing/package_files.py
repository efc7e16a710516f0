"""The settings that a provider's package carries itself, found without importing anything of it."""

import importlib.machinery
import os
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from memproto.loading import packages

NAME = "memproto.toml"


def beside(target: str, directory: Path) -> Path | None:
    """The file beside the module that `target` names, as seen from `directory`."""
    path = directory / target
    if os.path.isdir(path):  # noqa: PTH112 - a Path raises for a long name
        return _file(path)
    module = _module(target)
    if not all(part.isidentifier() for part in module.split(".")):
        return None
    for root in (directory, directory / "src"):
        found = _file(root.joinpath(*module.split(".")))
        if found is not None:
            return found
    return _installed(module)


def holds(file: Path, module: str, directory: Path) -> bool:
    """
    Whether the code of a module lies below the folder of a package's settings file.

    By its place, as an import would find it, and without importing anything.
    """
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    folder = file.parent.resolve()
    origin = _origin(parts, [str(directory), str(directory / "src"), *sys.path])
    if origin is None:
        return False
    # A folder that others install to as well is nobody's: there a module has to be on its own.
    if folder.name in ("site-packages", "dist-packages"):
        return False
    return origin.is_relative_to(folder)


def _origin(parts: Sequence[str], path: Sequence[str]) -> Path | None:
    """The file of a module, or the folder of one without `__init__.py`."""
    places: Sequence[str] | None = path
    found = None
    for end in range(1, len(parts) + 1):
        if places is None:
            return None
        found = PathFinder.find_spec(".".join(parts[:end]) if end == 1 else parts[end - 1], places)
        if found is None:
            found = _spec(".".join(parts[:end]), None if end == 1 else places)
        if found is None:
            return None
        places = found.submodule_search_locations
    if found is not None and found.origin:
        return Path(found.origin).resolve()
    return Path(next(iter(places))).resolve() if places else None


def _module(target: str) -> str:
    """The module of `module:attribute`, of an entry point, or the target itself."""
    point = None if ":" in target else packages.entry_point(target)
    return (point.value if point else target).partition(":")[0].strip()


def _installed(module: str) -> Path | None:
    """
    The file beside a module that is installed.

    The finders are asked for one part of the name after the other: `importlib.util.find_spec`
    would import the packages above, which are the provider's own code.
    """
    path: Sequence[str] | None = None
    parts, spec = module.split("."), None
    for end in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:end]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return _file(Path(spec.origin).parent) if spec and spec.origin else None


def _spec(name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path)
        except KeyError:
            # A folder without `__init__.py` below another package asks for the one above, which
            # is not imported here; by its last part alone it is found as well.
            spec = PathFinder.find_spec(name.rpartition(".")[2], path)
        if spec is not None:
            return spec
    return None


def _file(folder: Path) -> Path | None:
    file = folder / NAME
    return file if os.path.isfile(file) else None  # noqa: PTH113 - as above
