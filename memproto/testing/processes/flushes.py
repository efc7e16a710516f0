"""
Flushes to the disk, which do not wait in a kit child.

A provider that flushes each write waits for the disk some thousand times in a quick verdict: for
a second on an idle machine, for most of the verdict if other programs write as well. All that a
flush adds to a write is that it outlives a loss of power. A write is in the file for every process
as soon as it was made, and stays there if its process is killed, so that no outcome depends on it.

A seccomp filter answers these calls with success before the kernel looks at them: for Python, for
native code and for programs that the target starts; other calls cost as before. It cannot be
taken back. Since it would hide a flush of a closed descriptor as well, the functions of `os` look
at theirs first. A program has no such guard, nor has a host in a process of its own, whose calls
the checks of writes have made before; a program behind the wire flushes in full.
"""

import contextlib
import ctypes
import errno
import functools
import os
import platform
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1
_SECCOMP_RET_ALLOW = 0x7FFF_0000
#: Together with an error of 0: the call returns 0, and nothing was done.
_SECCOMP_RET_ERRNO = 0x0005_0000

#: Offsets in what a filter is shown of a call.
_NUMBER, _ARCHITECTURE = 0, 4

#: Instructions of a filter: load a word, jump if it is equal, return.
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06

#: Machine to how the kernel names it in a call, the number of `seccomp`, and those of fsync,
#: fdatasync, sync, syncfs and sync_file_range.
_NUMBERS = {
    "x86_64": (0xC000_003E, 317, (74, 75, 162, 306, 277)),
    "aarch64": (0xC000_00B7, 277, (82, 83, 81, 267, 84)),
}


class _Program(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def spare() -> bool:
    """
    Let no thread of this process, and none of those that it starts, wait for the disk any more.

    False if the kernel did not allow it, which it does in a user namespace of one's own and for an
    administrator, or if the machine is of another kind: then the calls wait, and nothing else is
    different. Call it once in a process, before the target is imported.
    """
    known = _NUMBERS.get(platform.machine())
    # Calls of an interpreter of 32 bits have other numbers.
    if sys.platform != "linux" or known is None or sys.maxsize < 1 << 32:
        return False
    architecture, seccomp, flushes = known
    code = _filter(architecture, flushes)
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(held))
    with contextlib.suppress(OSError, AttributeError):
        call = ctypes.CDLL(None).syscall
        flags = _SECCOMP_FILTER_FLAG_TSYNC
        if call(seccomp, _SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(program)) == 0:
            # A target that imports these names gets the guarded ones.
            for name in ("fsync", "fdatasync"):
                setattr(os, name, _guarded(getattr(os, name)))
            return True
    return False


def _guarded(flush: Callable[[Any], None]) -> Callable[[Any], None]:
    """A flush that refuses what the kernel would refuse; it is called all the same, and seen."""

    @functools.wraps(flush)
    def guarded(fd: Any) -> None:
        number = fd.fileno() if hasattr(fd, "fileno") else fd
        if isinstance(number, int) and number >= 0:
            mode = os.fstat(number).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISBLK(mode)):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        flush(fd)

    return guarded


def _filter(architecture: int, numbers: tuple[int, ...]) -> bytes:
    """The instructions: a call of one of the numbers returns 0, each other one is made."""
    count = len(numbers)
    # A jump counts from the instruction behind it.
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 0, count + 1, architecture)]
    lines += [(_LOAD, 0, 0, _NUMBER)]
    lines += [(_JUMP_IF_EQUAL, count - place, 0, number) for place, number in enumerate(numbers)]
    lines += [(_RETURN, 0, 0, _SECCOMP_RET_ALLOW), (_RETURN, 0, 0, _SECCOMP_RET_ERRNO)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
