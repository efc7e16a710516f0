"""The keys of the settings: which values each takes, and what is wrong with another one."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from memproto import spec
from memproto.near import meant
from memproto.testing import os_names
from memproto.testing.settings import credentials

#: Keys that name a function of the user's.
FUNCTIONS = ("factory", "service", "warm", "read_back", "settle", "cleanup")

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")

#: Places that `backend` may name: a variable, or keys of the config that lead to the address.
_PLACES = {
    "env": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    "config": re.compile(r"[^.\s]+(\.[^.\s]+)*"),
}

#: Keys of `declares` that stand in a declaration under the same name.
_DECLARED = ("retention", "stores", "recall_basis", "isolates", "mirrors", "extensions")


class Wrong(Exception):
    """
    A value that its key does not take.

    Attributes:
        fault: The fault of the value.
        fix: The text to write instead.
        below: The keys inside of the value that lead to the fault.

    """

    def __init__(self, fault: str, fix: str, *below: str) -> None:
        super().__init__(fault)
        self.fault = fault
        self.fix = fix
        self.below = below


def checked(key: str, value: Any) -> Any:
    """
    The value of one key, in the form that the kit works with.

    Raises:
        Wrong: The kit knows no such key, or the key takes no such value.

    """
    if key not in KEYS:
        raise Wrong("is no key of the kit's settings", _nearest(key, KEYS))
    return KEYS[key](value)


def is_variable(entry: str) -> bool:
    """True if an entry of `caches` is the name of a variable, and not a path."""
    return _VARIABLE.fullmatch(entry) is not None


def as_capabilities(declares: dict[str, Any]) -> dict[str, Any]:
    """The values of `declares`, in the words of a declaration."""
    found = {key: value for key, value in declares.items() if key in _DECLARED}
    if "freshness_s" in declares:
        found["consistency"] = {"eventual": {"freshness_s": declares["freshness_s"]}}
    return found


def _nearest(key: str, known: Any) -> str:
    return meant(key, known, f"the keys are {', '.join(known)}")


def _function(value: Any) -> str:
    fix = 'write "module:function"'
    if not isinstance(value, str):
        raise Wrong(f"must be text, not {value!r}", fix)
    if not _FUNCTION.fullmatch(value):
        raise Wrong(f"names no function: {value!r}", fix)
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Wrong(f"must be a table, not {value!r}", "see docs/settings.md")
    return value


def _env(value: Any) -> dict[str, str]:
    """Values, or names of variables to take over: the only way a credential enters."""
    found: dict[str, str] = {}
    for name, given in _table(value).items():
        if not name or "=" in name or "\0" in name:
            raise Wrong("is no name of a variable", "write letters, digits and _", name)
        if isinstance(given, str) and "\0" in given:
            raise Wrong("holds a NUL, which no variable can hold", "leave it out", name)
        if isinstance(given, str):
            found[os_names.native(name)] = os_names.native(given)
            continue
        source = given.get("from_env") if isinstance(given, dict) and len(given) == 1 else None
        if not isinstance(source, str):
            fault = f'must be text or {{from_env = "KEY"}}, not {given!r}'
            raise Wrong(fault, "quote the value", name)
        value = credentials.asked(source)
        if value is None:
            fault = f"takes {source} from the environment, where it is not set"
            raise Wrong(fault, f"export {source}=... first", name)
        found[name] = value
    return found


def _command(value: Any) -> tuple[str, ...]:
    fix = 'write a list of words such as ["node", "dist/server.js"]'
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise Wrong(f"must be a list of words, not {value!r}", fix)
    if not value or not value[0] or any("\0" in word for word in value):
        raise Wrong(f"is no command: {value!r}", fix)
    return tuple(map(os_names.native, value))


def _cwd(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise Wrong(f"must be a directory, not {value!r}", 'write a path such as "server"')
    return os_names.native(value)


def _caches(value: Any) -> tuple[str, ...]:
    fix = 'write a list such as ["HF_HOME", ".cache/torch"]'
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise Wrong(f"must be a list of variables and paths, not {value!r}", fix)
    for entry in value:
        path = PurePosixPath(entry)
        if is_variable(entry):
            continue
        if path.is_absolute() or ".." in path.parts or entry.startswith("~") or not path.parts:
            fault = f"{entry!r} is neither the name of a variable nor a path below HOME"
            raise Wrong(fault, 'write a path without "/", "~" or ".." in front: ".cache/torch"')
    return tuple(dict.fromkeys(value))


def _declares(value: Any) -> dict[str, Any]:
    known = (*_DECLARED, "freshness_s")
    for key, given in _table(value).items():
        if key not in known:
            raise Wrong("cannot be declared here", _nearest(key, known), key)
        _agrees_with_schema(key, given)
    return dict(value)


def _agrees_with_schema(key: str, given: Any) -> None:
    # A third of a child's start, which needs no more of this module than a function or two.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(spec.schema("capabilities"))
    for error in validator.iter_errors(as_capabilities({key: given})):
        place = error.json_path.rpartition(".")[2].removeprefix(key)
        fault = f"{place} {error.message}" if place.startswith("[") else error.message
        raise Wrong(fault.strip(), "see capabilities.schema.json for its values", key)


def _backend(value: Any) -> tuple[str, str]:
    """Place of the backend's address: ("env", variable) or ("config", path of keys)."""
    fix = 'write {env = "X_URL"} or {config = "path.to.key"}'
    if not isinstance(value, dict) or len(value) != 1 or not set(value) <= set(_PLACES):
        raise Wrong(f"must name one place, by env or by config, not {value!r}", fix)
    [(kind, place)] = value.items()
    if not isinstance(place, str) or not _PLACES[kind].fullmatch(place):
        what = "variable" if kind == "env" else "path of keys"
        raise Wrong(f"must be a {what}, not {place!r}", fix, kind)
    return kind, place


def _waivers(value: Any) -> str | dict[str, Any]:
    """The name of a file, or the waivers themselves, which are judged later by the date."""
    if isinstance(value, dict) or (isinstance(value, str) and value.strip()):
        return value
    fix = 'write a file name such as "waivers.toml", or tables such as [waivers.MP-TURN-002]'
    raise Wrong(f"must be the name of a file or tables, not {value!r}", fix)


def _limit(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Wrong(f"must be a whole number from 1 on, not {value!r}", "write one such as 500")
    return value


#: Each key, and what gives its value or refuses it.
KEYS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(FUNCTIONS, _function),
    "command": _command,
    "cwd": _cwd,
    "config": _table,
    "env": _env,
    "caches": _caches,
    "declares": _declares,
    "backend": _backend,
    "max_hook_calls": _limit,
    "memory_mb": _limit,
    "parallel": _limit,
    "waivers": _waivers,
}
