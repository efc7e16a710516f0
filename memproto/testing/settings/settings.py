"""Settings: `[tool.memproto]` of pyproject.toml or memproto.toml, and the target's own."""

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto import near
from memproto.errors import InvalidSettings
from memproto.testing import locate, patience
from memproto.testing.settings import files as package_files
from memproto.testing.settings import files as user_files
from memproto.testing.settings import keys as settings_keys
from memproto.testing.settings import package_trust, waiver_entries
from memproto.testing.settings.files import line_of
from memproto.testing.settings.waiver_entries import Entry


@dataclasses.dataclass(frozen=True)
class Settings:
    """
    The user's settings for one target. A function is "module:function", or "".

    Attributes:
        factory: Builds an instance.
        command: The command of a target `wire:...`, in place of the words behind it; () for those.
        cwd: Its working directory, seen from the directory of the run; "" for that one.
        config: Merged into what initialize gets.
        env: Variables of the child's environment.
        service: Gives a context manager that starts what the provider needs.
        warm: Called once in each child, outside all budgets.
        read_back: Says how often a text is stored.
        settle: Waits until what was written is visible.
        cleanup: Removes what a check left in a remote store.
        from_env: Those of `env` that come from the environment of the run.
        caches: Variables and paths below HOME that all checks share.
        declares: Declarations that a Hermes provider cannot make itself.
        backend: Place of the backend's address: ("env", variable) or ("config", path of
            keys); None where it was not said.
        max_hook_calls: Number of hook calls that a run may make, or None for any number.
        memory_mb: Megabytes that a process that holds the target may hold.
        parallel: Number of checks that may run at the same time; None lets the kit decide.
        waivers: Requirements that may fail for now, not yet judged; see `waivers.book`.
        source: The files that it was read from.
        given: The keys that each of them gave, by the name under which it is shown.
        refused: The keys that were not taken of them, one line each with the remedy.
        foreign: Those of `given` that are neither the working directory's nor the kit's own.
        trusts_package: True if something was taken that is the operator's alone to say.
        named: The file that the operator named in place of the working directory's, as typed.
        folder: The folder of that file, and of its functions' modules; "" without one.
        places: Key to "file:line: key", for messages.
        tables: Name of each target that has a table in the user's file, to its place there.

    """

    factory: str = ""
    command: tuple[str, ...] = ()
    cwd: str = ""
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    service: str = ""
    warm: str = ""
    read_back: str = ""
    settle: str = ""
    cleanup: str = ""
    caches: tuple[str, ...] = ()
    declares: dict[str, Any] = dataclasses.field(default_factory=dict)
    backend: tuple[str, str] | None = None
    max_hook_calls: int | None = None
    memory_mb: int = patience.MEMORY_MB
    parallel: int | None = None
    waivers: dict[str, Entry] = dataclasses.field(default_factory=dict)
    source: tuple[str, ...] = ()
    places: dict[str, str] = dataclasses.field(default_factory=dict)
    tables: dict[str, str] = dataclasses.field(default_factory=dict)
    from_env: tuple[str, ...] = ()
    given: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    refused: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    trusts_package: bool = False
    named: str = ""
    folder: str = ""

    @property
    def configures(self) -> bool:
        """True if the provider gets anything that it would not have where it is just installed."""
        given = self.factory or self.command or self.cwd or self.config
        return bool(given or self.env or self.service or self.backend)

    def for_report(self) -> dict[str, Any]:
        """The settings without any value of the environment, which may be a credential."""
        functions = {key: getattr(self, key) for key in settings_keys.FUNCTIONS}
        return {
            **functions,
            "command": bool(self.command),
            "cwd": self.cwd,
            "config": sorted(self.config),
            "env": sorted(self.env),
            "caches": list(self.caches),
            "declares": self.declares,
            "backend": dict([self.backend] if self.backend else []),
            "max_hook_calls": self.max_hook_calls,
            "memory_mb": self.memory_mb,
            "parallel": self.parallel,
            "waivers": sorted(self.waivers),
        }

    def origins(self) -> dict[str, Any]:
        """For the report, the keys that each file gave or was refused; empty ones are left out."""
        found = {
            "files": {file: list(keys) for file, keys in self.given.items()},
            "foreign": list(self.foreign),
            "refused": list(self.refused),
        }
        return {key: value for key, value in found.items() if value}

    def functions(self) -> dict[str, list[str]]:
        """Those functions that a child calls, by key: the function, and where it was set."""
        called = ("warm", "read_back", "settle", "cleanup")
        named = {key: getattr(self, key) for key in called}
        return {key: [name, self.place(key)] for key, name in named.items() if name}

    def place(self, key: str) -> str:
        """Place where a key was set, as a message names it."""
        return self.places.get(key, key)

    def fault(self, key: str, fault: str, fix: str) -> InvalidSettings:
        """Error to raise when a key turns out not to serve."""
        return InvalidSettings(self.place(key), fault, fix)


@dataclasses.dataclass(frozen=True)
class _Layer:
    """The values of one table of one file."""

    file: "_File"
    values: dict[str, Any]
    places: dict[str, str]
    from_env: tuple[str, ...] = ()


#: Splits a table into the part that is taken, and the keys that are refused.
_Sift = Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]


@dataclasses.dataclass
class _File:
    """
    A settings file, and how far it is trusted.

    Attributes:
        path: Its path.
        shown: Its name for a reader.
        sift: Picks the part of a table of it that is taken; None for all.
        fix: The remedy if something is refused.
        refused: The keys that were.
        is_foreign: True if it is neither the working directory's nor the kit's own.

    """

    path: Path
    shown: str
    sift: _Sift | None = None
    fix: str = ""
    refused: list[str] = dataclasses.field(default_factory=list)
    is_foreign: bool = False


_OPERATORS_FILE = "a memproto.toml or pyproject.toml in the working directory"


def read(target: str, directory: Path, *, trusts_package: bool = True, named: str = "") -> Settings:
    """
    The settings for `target`, as seen from `directory`.

    A provider package's own `memproto.toml` is read first; the user's file overrides it key by
    key, and a table of the target overrides the general one. A run says `trusts_package` only
    where its operator did; the kit's own tests judge packages of the project. If the operator
    `named` a file, that is the user's, and none of the directory or above it is.

    Raises:
        InvalidSettings: A file is no TOML, or holds a key or a value that the kit does not know;
            or the one that was named is none.

    """
    own = package_files.beside(target, directory)
    mine = _asked_for(named, directory) if named else nearest(directory)
    files: list[_File] = []
    if own is not None and (mine is None or own.resolve() != mine.resolve()):
        files.append(_packages(own, directory))
    if mine is not None:
        files.append(_named(mine, directory) if named else _operators(mine, directory))
    layers: list[_Layer] = []
    trusted = False
    for file in files:
        if trusts_package and file.path == own and file.sift is not None:
            _layers(file, target)
            trusted, file.sift, file.refused = bool(file.refused), None, []
        layers += _layers(file, target)
    folder = str(mine.parent) if named and mine is not None else ""
    told = {"trusts_package": trusted, "named": named, "folder": folder, **_told(files, layers)}
    if mine is not None:
        named_tables = _table(mine).get("target", {})
        told["tables"] = {name: _place(mine, ("target", name)) for name in named_tables}
    return dataclasses.replace(_merged(layers), **told)


def _asked_for(named: str, directory: Path) -> Path:
    path = directory / named
    if not path.is_file():
        fix = "name a TOML file that is there, such as the base branch's memproto.toml"
        raise InvalidSettings(f"--memproto-settings={named}", "is no file", fix)
    return path.absolute()


def _named(path: Path, directory: Path) -> _File:
    if path.parent.resolve() == directory.resolve():
        return _File(path, _below(path, directory))
    return _File(path, os.path.relpath(path, directory), is_foreign=True)


def _packages(path: Path, directory: Path) -> _File:
    shown = locate.short(str(path)) if _is_away(path, directory) else _below(path, directory)
    if package_trust.is_the_kits_own(path):
        return _File(path, shown)

    def is_own(function: str) -> bool:
        return package_files.holds(path, function.partition(":")[0], directory)

    fix = f"write them into {_OPERATORS_FILE}, or allow them with --memproto-trust-package"
    sift = functools.partial(package_trust.of_package, is_own=is_own)
    return _File(path, shown, sift, f"a package does not decide them; {fix}", is_foreign=True)


def _operators(path: Path, directory: Path) -> _File:
    if path.parent.resolve() == directory.resolve():
        return _File(path, _below(path, directory))
    shown, fix = os.path.relpath(path, directory), f"write them into {_OPERATORS_FILE}"
    sift = package_trust.from_above
    said = f"a file above the working directory does not set the interpreter's variables; {fix}"
    return _File(path, shown, sift, said, is_foreign=True)


def _is_away(path: Path, directory: Path) -> bool:
    return not path.resolve().is_relative_to(directory.resolve())


def _below(path: Path, directory: Path) -> str:
    return str(path.resolve().relative_to(directory.resolve()))


def _told(files: list[_File], layers: list[_Layer]) -> dict[str, Any]:
    """The keys that each file gave, and those that were refused of it."""
    given = {
        file.shown: tuple(sorted({k for one in layers if one.file is file for k in one.values}))
        for file in files
    }
    given = {shown: keys for shown, keys in given.items() if keys}
    return {
        "given": given,
        "refused": tuple(
            f"{file.shown}: not taken: {', '.join(dict.fromkeys(file.refused))}; {file.fix}"
            for file in files
            if file.refused
        ),
        "foreign": tuple(file.shown for file in files if file.is_foreign and file.shown in given),
    }


def waivers_file(directory: Path) -> Path | None:
    """
    The file that the user's settings name for waivers, there or not; the settings' own for tables.

    Raises:
        InvalidSettings: The settings file is no TOML.

    """
    mine = nearest(directory)
    value = None if mine is None else _table(mine).get("waivers")
    if mine is None or value is None:
        return None
    return mine.parent / value if isinstance(value, str) else mine


# -- files ----------------------------------------------------------------------------------------


def nearest(directory: Path) -> Path | None:
    """memproto.toml, or a pyproject.toml with our table, in `directory` or its nearest parent."""
    for folder in (directory, *directory.parents):
        own = folder / "memproto.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and _names_us(project.read_bytes()):
            return project
    return None


def _names_us(data: bytes) -> bool:
    """True if a file has our table, in UTF-16 and UTF-32 as well: reading it says what is wrong."""
    return b"[tool.memproto" in data.replace(b"\0", b"")


def _layers(file: _File, target: str) -> list[_Layer]:
    path = file.path
    table = _table(path)
    targets = table.pop("target", {})
    if not isinstance(targets, dict):
        fix = '[tool.memproto.target."NAME"]'
        raise _invalid(path, ("target",), "must be a table of targets", fix)
    layers = [_layer(file, (), table)]
    for name, values in targets.items():
        if not isinstance(values, dict):
            fix = f'write [tool.memproto.target."{name}"]'
            raise _invalid(path, ("target", name), "must be a table", fix)
        if name == target:
            layers.append(_layer(file, ("target", name), values))
        else:
            # It is read for its faults; what it would be refused is no matter of this target.
            _layer(dataclasses.replace(file, refused=[]), ("target", name), values)
    return layers


def _table(path: Path) -> dict[str, Any]:
    try:
        data: Any = user_files.tables(_text(path))
    except user_files.BrokenFile as broken:
        place = f"{_shown(path)}:{broken.line}"
        raise InvalidSettings(place, broken.fault, broken.fix) from None
    if path.name == "pyproject.toml" or "tool" in data:
        tool = data.get("tool", {})
        data = tool.get("memproto", {}) if isinstance(tool, dict) else tool
    if not isinstance(data, dict):
        raise _invalid(path, ("tool", "memproto"), "must be a table", "[tool.memproto]")
    return dict(data)


def _text(path: Path) -> str:
    return user_files.decoded(path.read_bytes())


def _layer(file: _File, above: tuple[str, ...], table: dict[str, Any]) -> _Layer:
    path = file.path
    if file.sift is not None:
        # Before anything of it is read: a variable that is asked for is not even looked up.
        table, refused = file.sift(table)
        file.refused += refused
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            values[key] = settings_keys.checked(key, value)
        except settings_keys.Wrong as wrong:
            at = (*above, key, *wrong.below)
            fix = wrong.fix
            if not above and key not in settings_keys.KEYS and isinstance(value, dict):
                fix = _as_target(key, value)
            raise _invalid(path, at, wrong.fault, fix) from None
    if "waivers" in values:
        values["waivers"] = _waivers(path, (*above, "waivers"), values["waivers"])
    places = {key: _place(path, (*above, key)) for key in values}
    given = table.get("env", {}).items()
    from_env = tuple(name for name, value in given if isinstance(value, dict))
    return _Layer(file, values, places, from_env)


def _as_target(key: str, value: dict[str, Any]) -> str:
    """Advice for a table of an unknown name, which was meant for a target."""
    name = near.nearest(key, settings_keys.KEYS)
    if name:
        return f"did you mean {name!r}?"
    inner = [name for name, table in value.items() if isinstance(table, dict)]
    return f'write [tool.memproto.target."{inner[0] if len(inner) == len(value) == 1 else key}"]'


def _waivers(path: Path, at: tuple[str, ...], value: Any) -> dict[str, Entry]:
    """The entries of the table, or of the file, whose name is relative to the settings file."""
    if isinstance(value, dict):
        return waiver_entries.from_table(value, _shown(path), _text(path), at)
    file = path.parent / value
    try:
        return waiver_entries.from_file(file, _shown(file))
    except OSError as error:
        fault = f"names {value!r}, which cannot be read ({error.strerror})"
        fix = "write it with memproto waive, or correct the name"
        raise _invalid(path, at, fault, fix) from None


def _merged(layers: list[_Layer]) -> Settings:
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for layer in layers:
        places |= layer.places
        for key, value in layer.values.items():
            values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    sources = tuple(dict.fromkeys(str(layer.file.path) for layer in layers))
    from_env = tuple(name for layer in layers for name in layer.from_env)
    return Settings(**values, source=sources, places=places, from_env=from_env)


# -- messages -------------------------------------------------------------------------------------


def _invalid(path: Path, at: tuple[str, ...], fault: str, fix: str) -> InvalidSettings:
    return InvalidSettings(_place(path, at), fault, fix)


def _place(path: Path, at: tuple[str, ...]) -> str:
    line = line_of(_text(path), at)
    named = [at[0], f'"{at[1]}"', *at[2:]] if at[0] == "target" and len(at) > 1 else at
    return f"{_shown(path)}{'' if line is None else f':{line}'}: {'.'.join(named)}"


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name
