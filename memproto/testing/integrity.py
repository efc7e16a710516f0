"""
Integrity of the kit in a child: it is still the one that was loaded before the target.

A target shares its process with the code that reports on it. So what each name of the kit stands
for, and the code object behind each function, are noted before the target is loaded, and compared
after each command by the frame that was running before the target was; every message carries a
seal. A target that walks the frames and closures of the process can still find the key: see
docs/security.md for what this does not stop.
"""

import hashlib
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from memproto.testing import addresses

#: Packages whose code decides what is reported. The reference providers may be the target.
_KIT = "memproto"
_TARGETS = "memproto.reference_providers"

#: A seal of a message in hexadecimal digits; as many as nobody guesses within a run.
SEAL_CHARS = 16

_Noted = tuple[str, dict[str, Any], str, object, object]
_Space = tuple[dict[str, Any], Callable[[Any], tuple[Any, ...]], tuple[object, ...]]


def sealer(key: bytes) -> Callable[[bytes], bytes]:
    """Gives the seal of a message: the first characters of a keyed digest."""
    start = hashlib.blake2s(key=key, digest_size=SEAL_CHARS // 2)

    def seal(message: bytes) -> bytes:
        digest = start.copy()
        digest.update(message)
        return digest.hexdigest().encode("ascii")

    return seal


def watcher() -> Callable[[], list[str]]:
    """
    Note the kit as it is loaded now; gives what lists the names that stand for other code since.

    Its closure holds all that it needs, so that replacing a name changes nothing for it. It runs
    after each command over thousands of names: by a look at memory, and if that shows a change or
    is not to be had, by functions of C, which stop at the first that differs. All of them compare
    by identity, so that no code of the target's runs in here.
    """
    noted = tuple(_noted())
    missing = object()
    read_code = FunctionType.__code__.__get__  # type: ignore[attr-defined]
    spaces = _by_namespace(noted)
    # Most functions are known by several names, and each is looked into once.
    bodies = {id(_function(v)): (_function(v), code) for *_, v, code in noted if code is not None}
    functions, codes = zip(*bodies.values(), strict=True) if bodies else ((), ())
    is_untouched = addresses.watcher(
        [(names, values) for names, _, values in spaces], list(bodies.values())
    )
    every, same, each = all, operator.is_, map

    def is_as_noted() -> bool:
        # A name that still stands for the same object has the same function behind it: what a
        # property or a static method holds cannot be changed in place, and a function's code can.
        try:
            return every(
                every(each(same, take(names), values)) for names, take, values in spaces
            ) and (every(each(same, each(read_code, functions), codes)))
        except KeyError:
            return False

    def changed() -> list[str]:
        found: list[str] = []
        if is_untouched() or is_as_noted():
            return found
        for label, names, name, value, code in noted:
            now = names.get(name, missing)
            if now is not value or (code is not None and read_code(_function(now)) is not code):
                found.append(label)
        return found

    return changed


def _by_namespace(noted: tuple[_Noted, ...]) -> list[_Space]:
    """For each dictionary of names what takes the noted ones out of it, and what they were."""
    spaces: dict[int, tuple[dict[str, Any], list[str], list[object]]] = {}
    for _, names, name, value, _ in noted:
        _, keys, values = spaces.setdefault(id(names), (names, [], []))
        keys.append(name)
        values.append(value)
    # A getter of one key gives no tuple, so each takes the first one twice.
    return [
        (names, operator.itemgetter(keys[0], *keys), (values[0], *values))
        for names, keys, values in spaces.values()
    ]


def _noted() -> list[_Noted]:
    found: list[_Noted] = []
    for name, module in list(sys.modules.items()):
        is_kit = name in {"__main__", _KIT} or name.startswith(f"{_KIT}.")
        if is_kit and not name.startswith(_TARGETS):
            found += _of(name, vars(module), module_name=vars(module).get("__name__", name))
    return found


def _of(label: str, names: dict[str, Any], module_name: str) -> list[_Noted]:
    found: list[_Noted] = []
    for name, value in list(names.items()):
        if isinstance(value, type):
            found.append((f"{label}.{name}", names, name, value, None))
            if value.__module__ == module_name:
                # A class gives its names as a view only, which follows every change.
                inside: Any = vars(value)
                found += _of(f"{label}.{name}", inside, module_name="")
        elif isinstance(value, property | staticmethod | classmethod | FunctionType) or (
            callable(value) and not name.startswith("__")
        ):
            function = _function(value)
            code = function.__code__ if isinstance(function, FunctionType) else None
            found.append((f"{label}.{name}", names, name, value, code))
        elif isinstance(value, tuple) and name.isupper():
            # A constant that code goes by, as the table of attribution is.
            found.append((f"{label}.{name}", names, name, value, None))
    return found


def _function(value: Any) -> Any:
    """The function behind a method or property, or the value itself."""
    if isinstance(value, property):
        return value.fget
    return getattr(value, "__func__", value) if not isinstance(value, FunctionType) else value
