"""
Integrity of the kit in a child: it is still the one that was loaded before the target.

A target shares its process with the code that reports on it. So what each name of the kit stands
for, and the code object behind each function, are noted before the target is loaded, and compared
after each command by the frame that was running before the target was; every message carries a
seal. A target that walks the frames and closures of the process can still find the key: see
docs/security.md for what this does not stop.
"""

import ctypes
import gc
import hashlib
import operator
import os
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

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
    is_untouched = _look_at_memory(noted)
    missing = object()
    read_code = FunctionType.__code__.__get__  # type: ignore[attr-defined]
    spaces = _by_namespace(noted)
    # Most functions are known by several names, and each is looked into once.
    bodies = {id(_function(v)): (_function(v), code) for *_, v, code in noted if code is not None}
    functions, codes = zip(*bodies.values(), strict=True) if bodies else ((), ())
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


#: Parts of memory that the system writes with one call, and bytes that a pipe holds.
_MOST_PARTS, _MOST_BYTES = 1024, 1 << 16

_WORD = ctypes.sizeof(ctypes.c_void_p)

#: Words in front of the place where a dictionary holds the address of its table.
_TABLE_AT = 4 * _WORD

#: An address and a number of bytes.
_Part = tuple[int, int]


def _look_at_memory(noted: tuple[_Noted, ...]) -> Callable[[], bool]:
    """
    Gives what is True only if the memory behind the noted names is as it is now.

    To take an object in the hand counts a reference, which writes to the object. A child shares its
    memory with the template, so that a comparison of all names by their objects copies 2,000 pages
    in each child: more than all else that the gate costs. The system writes the same words into a
    pipe without a change to them; `process_vm_readv` would copy the pages as well, since it pins
    them.

    The answer True is right whatever the interpreter's structures are: each part holds the address
    of what was noted, as is seen here once, and no other object can have that address, since all
    noted ones are kept. The answer False means nothing: an entry beside the noted ones may have
    changed, or the look may not be possible. So no code of the kit gives a global name another
    value while it runs.
    """
    try:
        write = ctypes.CDLL(None).writev
        shares = list(_shares([part for place in _places(noted) for part in place]))
    except (AttributeError, OSError, ValueError):
        return lambda: False
    write.restype = ctypes.c_ssize_t
    write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    # A pipe that is full is to fail: the system gives less room to a user who has many.
    pipe, flags, read, close = os.pipe2, os.O_CLOEXEC | os.O_NONBLOCK, os.read, os.close

    def held(source: int, sink: int, parts: Any, count: int, size: int) -> bytes:
        return read(source, size) if write(sink, parts, count) == size else b""

    def is_untouched() -> bool:
        try:
            source, sink = pipe(flags)
        except OSError:
            return False
        try:
            return all(held(source, sink, *place) == words for place, words in rows)
        except OSError:
            return False
        finally:
            close(source)
            close(sink)

    rows: list[tuple[tuple[Any, int, int], bytes]] = []
    source, sink = pipe(flags)
    for parts in shares:
        size = sum(length for _, length in parts)
        vector = (ctypes.c_size_t * (2 * len(parts)))(*(word for part in parts for word in part))
        rows.append(((vector, len(parts), size), held(source, sink, vector, len(parts), size)))
    close(source)
    close(sink)
    return is_untouched if all(words for _, words in rows) else lambda: False


def _shares(parts: list[_Part]) -> Iterator[list[_Part]]:
    """The parts in as many calls as they need."""
    share: list[_Part] = []
    size = 0
    for part in parts:
        if share and (len(share) == _MOST_PARTS or size + part[1] > _MOST_BYTES):
            yield share
            share, size = [], 0
        if part[1] > _MOST_BYTES:
            raise ValueError(f"a table has {part[1]} bytes")
        share.append(part)
        size += part[1]
    if share:
        yield share


def _places(noted: tuple[_Noted, ...]) -> Iterator[list[_Part]]:
    """
    For each namespace and function the memory that holds what was noted of it.

    Raises:
        ValueError: It is not found where this interpreter is expected to hold it.

    """
    with open("/proc/self/mem", "rb", buffering=0) as memory:  # noqa: PTH123

        def held(address: int, size: int) -> bytes:
            found = os.pread(memory.fileno(), size, address)
            if len(found) != size:
                raise ValueError(f"no {size} bytes of memory are at {address:#x}")
            return found

        for names, _, values in _by_namespace(noted):
            # A class shows its dictionary through a view.
            table: Any = names if type(names) is dict else gc.get_referents(names)[0]
            pointer = id(table) + _TABLE_AT
            start = int.from_bytes(held(pointer, _WORD), sys.byteorder)
            words = held(start, table.__sizeof__() - dict.__basicsize__)
            found = [_place_of(value, words) for value in values]
            first, last = min(found), max(found)
            yield [(pointer, _WORD), (start + first, last - first + _WORD)]
        bodies = {id(_function(v)): (_function(v), code) for *_, v, code in noted if code}
        for function, code in bodies.values():
            words = held(id(function), function.__sizeof__())
            yield [(id(function) + _place_of(code, words), _WORD)]


def _place_of(value: object, words: bytes) -> int:
    """The place of an object's address in words of memory; raises ValueError if it is not there."""
    address = id(value).to_bytes(_WORD, sys.byteorder)
    place = words.index(address)
    while place % _WORD:
        place = words.index(address, place + 1)
    return place


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
