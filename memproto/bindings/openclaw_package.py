"""A package directory of an OpenClaw plugin, as npm installs it: its names and its entry files."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

from memproto.errors import NoProvider, NoSuchTarget

#: The release of OpenClaw whose plugin API is stood in for.
HOST_VERSION = "2026.9.6"

#: Entry files of a directory that names none.
_USUAL = ("index.ts", "index.js", "index.mjs", "src/index.ts", "dist/index.js")

_MANIFEST, _PACKAGE = "openclaw.plugin.json", "package.json"


@dataclasses.dataclass(frozen=True)
class Plugin:
    """
    A plugin before any code of it runs.

    Attributes:
        directory: Its absolute path.
        id: Its id in its manifest, else the name of its package without the scope.
        name: Its name for a reader.
        version: Its version, or "".
        description: The words of its author about it.
        entries: The absolute paths of its entry files, at least one.

    """

    directory: str
    id: str
    name: str
    version: str
    description: str
    entries: tuple[str, ...]

    def as_json(self) -> str:
        """The values for the program that stands in for OpenClaw."""
        return json.dumps({**dataclasses.asdict(self), "hostVersion": HOST_VERSION})

    @property
    def shown(self) -> str:
        """The package with its version, for a sentence."""
        return f"{self.name} {self.version}".strip()


def read(what: str, directory: Path) -> Plugin:
    """
    The plugin in a directory; `what` names the target in messages. Runs nothing of it.

    Raises:
        NoSuchTarget: There is no such directory, or an entry file is missing.
        NoProvider: It is no plugin of OpenClaw.

    """
    place = directory.resolve()
    if not place.is_dir():
        fix = f"name the package's directory, as npm installs it: npm install {_guess(place)}"
        raise NoSuchTarget(what, f"there is no directory {directory}", fix)
    package, manifest = _json(what, place / _PACKAGE), _json(what, place / _MANIFEST)
    named = package.get("openclaw")
    said: dict[str, Any] = named if isinstance(named, dict) else {}
    if not said and not manifest:
        fault = f"its {_PACKAGE} has no `openclaw`, and there is no {_MANIFEST}"
        fix = "name the directory of a package that is a plugin of OpenClaw"
        raise NoProvider(what, fault, fix)
    entries = _entries(what, place, said, package)
    name = str(package.get("name") or manifest.get("name") or place.name)
    return Plugin(
        directory=str(place),
        id=str(manifest.get("id") or name.rpartition("/")[2]),
        name=name,
        version=str(package.get("version") or manifest.get("version") or ""),
        description=str(package.get("description") or manifest.get("description") or ""),
        entries=tuple(map(str, entries)),
    )


def _entries(what: str, place: Path, said: dict[str, Any], package: dict[str, Any]) -> list[Path]:
    """The entry files; those that were built for a host count before their sources."""
    for key in ("runtimeExtensions", "extensions"):
        listed = said.get(key)
        if isinstance(listed, list) and listed:
            found = [place / str(item) for item in listed]
            missing = [path for path in found if not path.is_file()]
            if not missing:
                return found
            fault = f"its `openclaw.{key}` names {missing[0].relative_to(place)}, not there"
            raise NoSuchTarget(what, fault, f"build the package first: npm run build in {place}")
    usual = [str(package.get("main") or ""), *_USUAL]
    for name in filter(None, usual):
        if (place / name).is_file():
            return [place / name]
    fault = f"its {_PACKAGE} names no entry file in `openclaw.extensions`, and it has no index.js"
    raise NoProvider(what, fault, "name the entry file there")


def _json(what: str, path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError:
        return {}
    with contextlib.suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    raise NoProvider(what, f"{path.name} is no JSON object", f"see {path}")


def _guess(place: Path) -> str:
    """The package that a missing directory was to hold, by its path."""
    parts = place.parts
    if "node_modules" in parts:
        inside = parts[len(parts) - parts[::-1].index("node_modules") :]
        return "/".join(inside)
    return place.name
