"""
Addresses of objects in the memory of this process: that they stand where they stood.

To take an object in the hand counts a reference, which writes to the object. A child shares its
memory with the template, so that a comparison of thousands of objects copies 2,000 pages in each
child. The system writes the words that hold their addresses into a pipe without a change to them.
`process_vm_readv` would copy the pages as well, since it pins them.
"""

import ctypes
import gc
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

#: Parts that the system takes with one call, and bytes that an empty pipe takes.
_MOST_PARTS, _MOST_BYTES = 1024, 1 << 16

_WORD_BYTES = ctypes.sizeof(ctypes.c_void_p)

#: Bytes in front of the place where a dictionary holds the address of its table.
_TABLE_AT = 4 * _WORD_BYTES

#: An address, and a number of bytes.
_Part = tuple[int, int]


class _Elsewhere(Exception):
    """An address is not where this interpreter is expected to hold it."""


def watcher(
    namespaces: Sequence[tuple[Any, Sequence[object]]], functions: Sequence[tuple[Any, object]]
) -> Callable[[], bool]:
    """
    Gives what is True only if each namespace still holds its values, and each function its code.

    A namespace is a dictionary, or the view that a class gives of one. The caller keeps all that is
    given here.

    The answer True is right. A place of a value is a word that holds its address; each word of the
    table that does is among those that are compared, so that the value's own place is, whatever
    else holds the same number. No other object can have that address while the value is kept. A
    table that grew stands elsewhere, and its address is compared too.

    The answer False means nothing: an entry beside the noted ones may have changed, or the look may
    not be possible. So no code of the kit gives a global name another value while it runs.

    The function holds all that it calls: no name that a target replaces, in a module or among the
    builtins, changes its answer.
    """

    def never() -> bool:
        return False

    if sys.platform != "linux" or platform.python_implementation() != "CPython":
        return never
    try:
        shares = list(_shares(_parts(namespaces, functions)))
    except (_Elsewhere, AttributeError, OSError, OverflowError):
        return never
    write = ctypes.CDLL(None).writev
    write.restype = ctypes.c_ssize_t
    write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    # A pipe that is full is to fail: the system gives less room to a user who has many.
    pipe, flags, read, close = os.pipe2, os.O_CLOEXEC | os.O_NONBLOCK, os.read, os.close
    fault = OSError
    rows = tuple(
        (
            (ctypes.c_size_t * (2 * len(parts)))(*(word for part in parts for word in part)),
            len(parts),
            sum(length for _, length in parts),
        )
        for parts in shares
    )

    def words() -> list[bytes]:
        """The words of all rows; fewer rows if the system refuses."""
        try:
            source, sink = pipe(flags)
        except fault:
            return []
        try:
            return [
                read(source, size) for row, count, size in rows if write(sink, row, count) == size
            ]
        except fault:
            return []
        finally:
            for descriptor in (source, sink):
                try:  # noqa: SIM105 - a name that a target could replace
                    close(descriptor)
                except fault:
                    # A thread of the target's closes what it did not open.
                    pass

    noted = words()
    if len(noted) != len(rows) or not rows:
        return never

    def is_untouched() -> bool:
        return words() == noted

    return is_untouched


def _parts(
    namespaces: Iterable[tuple[Any, Sequence[object]]], functions: Iterable[tuple[Any, object]]
) -> Iterator[_Part]:
    """
    The parts of memory that hold the addresses of values and codes.

    Raises:
        _Elsewhere: One is not found.

    """
    with open("/proc/self/mem", "rb", buffering=0) as memory:  # noqa: PTH123

        def held(address: int, size: int) -> bytes:
            found = os.pread(memory.fileno(), size, address)
            if len(found) != size:
                raise _Elsewhere
            return found

        for names, values in namespaces:
            table: Any = names if type(names) is dict else gc.get_referents(names)[0]
            yield id(table) + _TABLE_AT, _WORD_BYTES
            start = int.from_bytes(held(id(table) + _TABLE_AT, _WORD_BYTES), sys.byteorder)
            words = held(start, table.__sizeof__() - dict.__basicsize__)
            spans = [_span(value, words) for value in values]
            first, end = min(first for first, _ in spans), max(end for _, end in spans)
            yield start + first, end - first
        for function, code in functions:
            first, end = _span(code, held(id(function), function.__sizeof__()))
            yield id(function) + first, end - first


def _span(value: object, words: bytes) -> tuple[int, int]:
    """
    The first byte of words that hold the address of a value, and the one behind the last of them.

    One value may stand under several names.
    """
    address = id(value).to_bytes(_WORD_BYTES, sys.byteorder)
    first, last = words.find(address), words.rfind(address)
    if first < 0:
        raise _Elsewhere
    return first, last + _WORD_BYTES


def _shares(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """The parts in as many calls as they need."""
    share: list[_Part] = []
    size = 0
    for part in parts:
        if part[1] > _MOST_BYTES:
            raise _Elsewhere
        if share and (len(share) == _MOST_PARTS or size + part[1] > _MOST_BYTES):
            yield share
            share, size = [], 0
        share.append(part)
        size += part[1]
    if share:
        yield share
