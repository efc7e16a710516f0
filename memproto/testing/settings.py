"""Settings: `[tool.memproto]` of pyproject.toml or memproto.toml, and the target's own."""

import dataclasses
from pathlib import Path
from typing import Any

from memproto.errors import InvalidSettings
from memproto.testing import package_files, settings_keys, user_files, vitals, waiver_entries
from memproto.testing.settings_lines import line_of
from memproto.testing.waiver_entries import Entry


@dataclasses.dataclass(frozen=True)
class Settings:
    """
    What the user set for one target. A function is "module:function", or "".

    Attributes:
        factory: Builds an instance.
        config: Merged into what initialize gets.
        env: Variables of the child's environment.
        service: Gives a context manager that starts what the provider needs.
        warm: Called once in each child, outside all budgets.
        read_back: Says how often a text is stored.
        settle: Waits until what was written is visible.
        cleanup: Removes what a check left in a remote store.
        from_env: Those of `env` that come from the environment of the run.
        caches: Variables and paths below HOME that all checks share.
        declares: What a Hermes provider cannot declare.
        backend: Where the address of the backend stands: ("env", variable) or ("config", path of
            keys); None where it was not said.
        max_hook_calls: How many hook calls a run may make, or None for any number.
        memory_mb: How much memory a process that holds the target may hold.
        waivers: Requirements that may fail for now, not yet judged; see `waivers.book`.
        source: The files that it was read from.
        places: Key to "file:line: key", for messages.

    """

    factory: str = ""
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
    memory_mb: int = vitals.MEMORY_MB
    waivers: dict[str, Entry] = dataclasses.field(default_factory=dict)
    source: tuple[str, ...] = ()
    places: dict[str, str] = dataclasses.field(default_factory=dict)
    from_env: tuple[str, ...] = ()

    @property
    def configures(self) -> bool:
        """Whether the provider gets anything that it would not have where it is just installed."""
        return bool(self.factory or self.config or self.env or self.service or self.backend)

    def for_report(self) -> dict[str, Any]:
        """The settings without any value of the environment, which may be a credential."""
        functions = {key: getattr(self, key) for key in settings_keys.FUNCTIONS}
        return {
            **functions,
            "config": sorted(self.config),
            "env": sorted(self.env),
            "caches": list(self.caches),
            "declares": self.declares,
            "backend": dict([self.backend] if self.backend else []),
            "max_hook_calls": self.max_hook_calls,
            "memory_mb": self.memory_mb,
            "waivers": sorted(self.waivers),
        }

    def functions(self) -> dict[str, list[str]]:
        """Those functions that a child calls, by key: the function, and where it was set."""
        called = ("warm", "read_back", "settle", "cleanup")
        named = {key: getattr(self, key) for key in called}
        return {key: [name, self.place(key)] for key, name in named.items() if name}

    def place(self, key: str) -> str:
        """Where a key was set, as a message names it."""
        return self.places.get(key, key)

    def fault(self, key: str, fault: str, fix: str) -> InvalidSettings:
        """What to raise when a key turns out not to serve."""
        return InvalidSettings(self.place(key), fault, fix)


@dataclasses.dataclass(frozen=True)
class _Layer:
    """The values of one table of one file."""

    source: str
    values: dict[str, Any]
    places: dict[str, str]
    from_env: tuple[str, ...] = ()


def read(target: str, directory: Path) -> Settings:
    """
    The settings for `target`, as seen from `directory`.

    A provider package's own `memproto.toml` is read first; the user's file overrides it key by
    key, and a table of the target overrides the general one.

    Raises:
        InvalidSettings: A file is no TOML, or holds a key or a value that the kit does not know.

    """
    layers: list[_Layer] = []
    own = package_files.beside(target, directory)
    if own is not None:
        layers += _layers(own, target)
    mine = _nearest(directory)
    if mine is not None and mine != own:
        layers += _layers(mine, target)
    return _merged(layers)


def waivers_file(directory: Path) -> Path | None:
    """
    The file that the user's settings name for waivers, there or not; the settings' own for tables.

    Raises:
        InvalidSettings: The settings file is no TOML.

    """
    mine = _nearest(directory)
    value = None if mine is None else _table(mine).get("waivers")
    if mine is None or value is None:
        return None
    return mine.parent / value if isinstance(value, str) else mine


# -- files ----------------------------------------------------------------------------------------


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


def _layers(path: Path, target: str) -> list[_Layer]:
    table = _table(path)
    targets = table.pop("target", {})
    if not isinstance(targets, dict):
        fix = '[tool.memproto.target."NAME"]'
        raise _invalid(path, ("target",), "must be a table of targets", fix)
    layers = [_layer(path, (), table)]
    for name, values in targets.items():
        if not isinstance(values, dict):
            fix = f'write [tool.memproto.target."{name}"]'
            raise _invalid(path, ("target", name), "must be a table", fix)
        layer = _layer(path, ("target", name), values)
        if name == target:
            layers.append(layer)
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


def _layer(path: Path, above: tuple[str, ...], table: dict[str, Any]) -> _Layer:
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            values[key] = settings_keys.checked(key, value)
        except settings_keys.Wrong as wrong:
            at = (*above, key, *wrong.below)
            raise _invalid(path, at, wrong.fault, wrong.fix) from None
    if "waivers" in values:
        values["waivers"] = _waivers(path, (*above, "waivers"), values["waivers"])
    places = {key: _place(path, (*above, key)) for key in values}
    given = table.get("env", {}).items()
    from_env = tuple(name for name, value in given if isinstance(value, dict))
    return _Layer(str(path), values, places, from_env)


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
    sources = tuple(dict.fromkeys(layer.source for layer in layers))
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
