"""Settings: `[tool.memproto]` of pyproject.toml or memproto.toml, and the target's own."""

import dataclasses
import difflib
import os
import tomllib
from pathlib import Path
from typing import Any

from memproto.errors import InvalidSettings

_KEYS = ("factory", "config", "env")


@dataclasses.dataclass(frozen=True)
class Settings:
    """
    What the user set for one target.

    Attributes:
        factory: "module:function" that builds an instance, or "".
        config: Merged into what initialize gets.
        env: Variables of the child's environment.
        source: The files that it was read from.

    """

    factory: str = ""
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    source: tuple[str, ...] = ()

    def for_report(self) -> dict[str, Any]:
        """The settings without any value of the environment, which may be a credential."""
        return {
            "factory": self.factory,
            "config": sorted(self.config),
            "env": sorted(self.env),
        }


def read(target: str, directory: Path) -> Settings:
    """
    The settings for `target`, as seen from `directory`.

    A provider package's own `memproto.toml` is read first; the user's file overrides it key by
    key, and a table of the target overrides the general one.

    Raises:
        InvalidSettings: A file is no TOML, or holds a key or a value that the kit does not know.

    """
    layers: list[tuple[str, dict[str, Any]]] = []
    own = _package_file(target, directory)
    if own is not None:
        layers += _layers(own, target)
    mine = _nearest(directory)
    if mine is not None and mine != own:
        layers += _layers(mine, target)
    return _merged(layers)


def _nearest(directory: Path) -> Path | None:
    """memproto.toml, or a pyproject.toml with our table, in `directory` or its nearest parent."""
    for folder in (directory, *directory.parents):
        own = folder / "memproto.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and b"[tool.memproto" in project.read_bytes():
            return project
    return None


def _package_file(target: str, directory: Path) -> Path | None:
    """The memproto.toml beside the target's module, found without importing anything."""
    path = directory / target
    if path.is_dir():
        candidate = path / "memproto.toml"
        return candidate if candidate.is_file() else None
    module = target.partition(":")[0]
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for root in (directory, directory / "src"):
        candidate = root.joinpath(*parts) / "memproto.toml"
        if candidate.is_file():
            return candidate
    return None


def _layers(path: Path, target: str) -> list[tuple[str, dict[str, Any]]]:
    table = _table(path)
    targets = table.pop("target", {})
    if not isinstance(targets, dict):
        raise _invalid(
            path, "target", "must be a table of targets", '[tool.memproto.target."NAME"]'
        )
    layers = [(str(path), _checked(path, "", table))]
    for name, values in targets.items():
        if not isinstance(values, dict):
            fix = f'write [tool.memproto.target."{name}"]'
            raise _invalid(path, f"target.{name}", "must be a table", fix)
        checked = _checked(path, f'target."{name}".', values)
        if name == target:
            layers.append((str(path), checked))
    return layers


def _table(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        fault = f"is no valid TOML: {error}"
        raise InvalidSettings(_shown(path), fault, "correct the file") from None
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("memproto", {})
    elif "tool" in data:
        data = data["tool"].get("memproto", {})
    if not isinstance(data, dict):
        raise _invalid(path, "tool.memproto", "must be a table", "[tool.memproto]")
    return dict(data)


def _checked(path: Path, prefix: str, table: dict[str, Any]) -> dict[str, Any]:
    for key, value in table.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(_KEYS)}"
            raise _invalid(path, prefix + key, "is no key of the kit's settings", hint)
        wanted = str if key == "factory" else dict
        if not isinstance(value, wanted):
            kind = "text" if wanted is str else "a table"
            raise _invalid(
                path, prefix + key, f"must be {kind}, not {value!r}", "see docs/settings.md"
            )
    if ":" not in table.get("factory", ":"):
        raise _invalid(path, f"{prefix}factory", "names no function", 'write "module:function"')
    return {**table, **({"env": _env(path, prefix, table["env"])} if "env" in table else {})}


def _env(path: Path, prefix: str, values: dict[str, Any]) -> dict[str, str]:
    """Values, or names of variables to take over: the only way a credential enters."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, str):
            found[name] = value
            continue
        source = value.get("from_env") if isinstance(value, dict) and len(value) == 1 else None
        if not isinstance(source, str):
            fault = f'must be text or {{from_env = "KEY"}}, not {value!r}'
            raise _invalid(path, f"{prefix}env.{name}", fault, "quote the value")
        if source not in os.environ:
            fault = f"takes {source} from the environment, where it is not set"
            raise _invalid(path, f"{prefix}env.{name}", fault, f"export {source}=... first")
        found[name] = os.environ[source]
    return found


def _merged(layers: list[tuple[str, dict[str, Any]]]) -> Settings:
    values: dict[str, Any] = {}
    for _, layer in layers:
        for key, value in layer.items():
            values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    sources = tuple(dict.fromkeys(source for source, _ in layers))
    return Settings(**values, source=sources)


def _invalid(path: Path, key: str, fault: str, fix: str) -> InvalidSettings:
    line = _line_of(path, key.rpartition(".")[2].strip('"'))
    return InvalidSettings(f"{_shown(path)}{line}: {key}", fault, fix)


def _line_of(path: Path, key: str) -> str:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.split("=")[0].strip().strip('"').endswith(key):
            return f":{number}"
    return ""


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name
