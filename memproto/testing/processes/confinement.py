"""
Confinement of processes that run a stranger's code: loopback alone, and no look at the judge.

On Linux such a process moves into a user namespace and a network namespace of its own. The network
namespace has one interface, its own loopback: whatever the target or a program of its does, no
packet leaves the machine. From inside of the user namespace the kernel refuses `ptrace` access to
processes outside of it, and with it their environment, memory and descriptors below /proc, root
included. User and group ids keep their numbers.

A seccomp filter cannot read the address that `connect` is given, and Landlock knows ports and no
addresses; so neither can tell loopback from the rest. See the decision record on confinement.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x1000_0000
_CLONE_NEWNET = 0x4000_0000
_PR_SET_DUMPABLE = 4
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1

#: Said by a process that did not try, since its system has no namespaces.
_NO_LINUX = "namespaces are a part of Linux"


def confine() -> str:
    """
    Move this process into namespaces of its own; gives "" or why the kernel did not allow it.

    Call it before a second thread starts: the kernel gives a user namespace to a process of one
    thread only. Processes that it starts afterwards are confined with it. Each way is tried in a
    copy of this process first, since one that fails halfway leaves it without loopback or name.
    """
    if sys.platform != "linux":
        return _NO_LINUX
    fault = ""
    for flags in (_CLONE_NEWUSER | _CLONE_NEWNET, _CLONE_NEWNET):
        if found := _tried(flags):
            # The second way is root's alone, and its fault says nothing to anybody else.
            fault = fault or found
        else:
            _enter(flags)
            return ""
    return fault


def conceal() -> None:
    """
    Have other processes of this user read neither memory nor environment of this process.

    The kernel does so for a process that is not dumpable. It does not bind root, which a
    user namespace does; see `confine`.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def unrouted(pid: str = "self") -> int:
    """Times that something in a process's network namespace tried to send where no route leads."""
    counted = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        names, values = [
            line.split() for line in _read(f"/proc/{pid}/net/snmp").split(b"\n", 2)[:2]
        ]
        counted += int(values[names.index(b"OutNoRoutes")])
    with contextlib.suppress(OSError, ValueError):
        _, _, rest = _read(f"/proc/{pid}/net/snmp6").partition(b"Ip6OutNoRoutes")
        counted += int(rest.split(None, 1)[0]) if rest else 0
    return counted


def _read(path: str) -> bytes:
    """A small file of the kernel's; a stream around it would cost more than to read it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def _tried(flags: int) -> str:
    """Enters new namespaces in a copy of this process: "" or its fault."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = "the try ended without a word"
        with contextlib.suppress(BaseException):
            os.close(read)
            try:
                _enter(flags)
                said = ""
            except OSError as error:
                said = f"{errno.errorcode.get(error.errno or 0, error.errno)}: {error.strerror}"
            os.write(write, b"+" + said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        heard = answer.read()
    os.waitpid(pid, 0)
    return heard[1:].decode() if heard else "the try was ended by the kernel"


def _enter(flags: int) -> None:
    """
    Leave the namespaces of this process for new ones.

    Raises:
        OSError: The kernel refused a step; the process is to end if it was not the first.

    """
    mapper = _Mapper() if flags & _CLONE_NEWUSER else None
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    if unshare(flags) != 0:
        code = ctypes.get_errno()
        if mapper is not None:
            mapper.dismiss()
        raise OSError(code, os.strerror(code))
    if mapper is not None and not mapper.has_mapped():
        raise OSError(errno.EPERM, "the ids of a new user namespace could not be mapped")
    _raise_loopback()


class _Mapper:
    """
    A copy of this process that stays outside and gives each id the same number inside.

    Only a process outside may map more than one id, which root needs: files of other users would
    be closed to it otherwise.
    """

    def __init__(self) -> None:
        ready, self._go = os.pipe()
        pid = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._go)
            code = 1
            with contextlib.suppress(BaseException):
                if os.read(ready, 1):
                    _map_ids(pid)
                    code = 0
            os._exit(code)
        os.close(ready)

    def has_mapped(self) -> bool:
        """Have it map the ids of this process, which is inside by now."""
        os.write(self._go, b"x")
        return self._end() == 0

    def dismiss(self) -> None:
        """End it without a map."""
        self._end()

    def _end(self) -> int:
        os.close(self._go)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _map_ids(pid: int) -> None:
    process = Path("/proc", str(pid))
    if os.geteuid() == 0:
        for kind in ("gid_map", "uid_map"):
            rows = [row.split() for row in Path("/proc/self", kind).read_text().splitlines()]
            same = "".join(f"{first} {first} {count}\n" for first, _, count in rows)
            (process / kind).write_text(same)
        return
    # Without privileges one id of each kind may be mapped, and groups stay as they are.
    (process / "setgroups").write_text("deny")
    (process / "gid_map").write_text(f"{os.getegid()} {os.getegid()} 1\n")
    (process / "uid_map").write_text(f"{os.geteuid()} {os.geteuid()} 1\n")


def _raise_loopback() -> None:
    request = struct.pack("16sh22x", b"lo", _IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, request)
