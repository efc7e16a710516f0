"""Files that users write: their text and tables, or what is wrong with them, and on which line."""

import codecs
import importlib.machinery
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from memproto.loading import packages

_PLACE = re.compile(r"(?P<fault>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)")

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class BrokenFile(ValueError):
    """
    A file that cannot be read as what it should be.

    Attributes:
        line: On which line.
        fault: The fault.
        fix: The remedy.

    """

    def __init__(self, line: int, fault: str, fix: str) -> None:
        super().__init__(f"line {line}: {fault}")
        self.line = line
        self.fault = fault
        self.fix = fix


def decoded(data: bytes) -> str:
    """
    The text of a file, with or without the mark that some editors begin it with.

    Raises:
        BrokenFile: It is no UTF-8.

    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise BrokenFile(1, "is UTF-32", "save it as UTF-8")
    if data.startswith(_WIDE):
        fault = "is UTF-16, as `>` of an older PowerShell writes it"
        raise BrokenFile(1, fault, "save it as UTF-8, such as with Set-Content -Encoding utf8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Half of the bytes of such a text are zero, all at odd places or all at even ones.
        if 3 * max(data[::2].count(0), data[1::2].count(0)) > len(data):
            raise BrokenFile(1, "is UTF-16 without its mark", "save it as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        fault = f"is no UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}"
        raise BrokenFile(line, fault, "save it as UTF-8") from None


def tables(text: str) -> dict[str, Any]:
    """
    The content of a text of TOML.

    Raises:
        BrokenFile: It is no TOML.

    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.fullmatch(str(error))
        last = max(1, len(text.splitlines()))
        line = int(place["line"] or last) if place else last
        fault = f"is no TOML: {place['fault'] if place else error}"
        raise BrokenFile(line, fault, "correct the line") from None


# -- settings lines --------------------------------------------------------------------------------

# The line of a settings file on which a key stands, so that a message can name it.


_HEADER = re.compile(r"\s*\[\[?(?P<path>[^\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*(?P<path>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")

#: Table of ours in a pyproject.toml; in memproto.toml it may be left out.
_ABOVE = ("tool", "memproto")


def line_of(text: str, wanted: tuple[str, ...]) -> int | None:
    """
    The number of the line that sets the key `wanted`, as well as it can be known.

    If the key stands inside of a value, it is the line of the nearest key or table around it.
    """
    table: tuple[str, ...] = ()
    best, found = 0, None
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _path(header["path"])
        elif not key:
            continue
        depth = _shared(table if header or not key else (*table, *_path(key["path"])), wanted)
        if depth > best:
            best, found = depth, number
    return found


def _path(text: str) -> tuple[str, ...]:
    parts = tuple("".join(groups) for groups in _PART.findall(text))
    return parts[len(_ABOVE) :] if parts[: len(_ABOVE)] == _ABOVE else parts


def _shared(here: tuple[str, ...], wanted: tuple[str, ...]) -> int:
    """Number of parts that the two have in common, if one leads to the other; else 0."""
    length = min(len(here), len(wanted))
    return length if here[:length] == wanted[:length] else 0


# -- package files ---------------------------------------------------------------------------------

# The settings that a provider's package carries itself, found without importing anything of it.


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
    True if the code of a module lies below the folder of a package's settings file.

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
