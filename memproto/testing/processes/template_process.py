"""
The template itself: imports what every kit child imports, and copies itself for each that is asked.

It has one thread for ever and runs nothing of a target's. A copy returns from `serve` into the same
`main` as a child that was started by itself, and looks like one: its streams, environment, session,
arguments and directory are its own.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from memproto import fence, spec
from memproto.fence import spots
from memproto.testing import clauses, integrity
from memproto.testing.processes import confinement, copy_process, relay

#: Modules with which each side loads a target.
_MODULES = {
    "provider": ("memproto.loading",),
    "host": ("memproto.testing.host.loading", "memproto.testing.host.run"),
}

#: Modules that some checks import: a run of few checks may need none of them.
_OF_CHECKS = ("jsonschema", "hypothesis.strategies")

#: A text with an escape, so that it is read.
_READ = "&lt;/memory-context&gt;"

#: Output, commands, results, stacks, and the pipe on which the parent is told of its end.
_DESCRIPTORS = 5


def _become(
    wanted: dict[str, Any], descriptors: list[int], unconfined: str
) -> tuple[tuple[int, ...], str]:
    """Be the child that was asked for; gives its descriptors, and why it is not confined."""
    os.setsid()
    output, *given, status = descriptors
    copy_process.replace_output((output, 1), (output, 2))
    os.chdir(wanted["cwd"])
    os.sched_setaffinity(0, wanted["processors"])
    words = [*map(str, given), unconfined]
    if "words" in wanted:
        _replace(status, [*wanted["words"], *words], wanted["environment"], given)
    _look_like(words, wanted["environment"])
    copy_process.tell(status)
    return tuple(given), unconfined


def _replace(
    status: int, words: list[str], environment: dict[str, str], given: list[int]
) -> NoReturn:
    for descriptor in given:
        os.set_inheritable(descriptor, True)
    copy_process.tell(status)
    # An interpreter ignores these, and `subprocess` gives them back to a program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(words[0], words, environment)  # noqa: S606 - the kit's own interpreter


def _look_like(words: list[str], environment: dict[str, str]) -> None:
    """Have nothing in this process that is the template's."""
    copy_process.look_like(environment)
    _show(environment)
    sys.argv[1:] = words
    sys.orig_argv[-1:] = words
    if "hypothesis" in sys.modules:
        # A copy that imports it by itself has the same.
        _hypothesis_home(Path.cwd() / ".hypothesis")


def _show(environment: dict[str, str]) -> None:
    """
    Put the environment where other processes read it.

    They read the text with which this process was started; by it the kit knows a process of its own
    that was forked off and disowned. This process has no more use for that text: what it set just
    now lies elsewhere. To write through the file rather than to the address is to get an error, and
    no crash, if the address is wrong. If it cannot be written, or has no room for all of it,
    a working directory has to do.
    """
    shown = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])
        if not 0 < start < end:
            # A kernel that does not tell says 0.
            return
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(shown[: end - start - 1].ljust(end - start, b"\0"))


# -- in the template -------------------------------------------------------------------------------


#: Watchers that see that the kit was changed, of the side that was prepared last.
_watchers: list[Callable[[], list[str]]] = []


def watcher() -> Callable[[], list[str]]:
    """Lists the names of the kit that stand for other code than before the target."""
    return _watchers[-1] if _watchers else integrity.watcher()


@functools.cache
def _prepare(side: spec.Side) -> None:
    """Import what the children of one side import, and compute what they compute first."""
    # Imports make nothing that is garbage, and a collection looks at all that they made before.
    gc.disable()
    for name in _MODULES[side]:
        importlib.import_module(name)
    clauses.checks(side)
    _watchers.append(integrity.watcher())
    gc.enable()
    # Copies share the memory of what is never looked at again.
    gc.freeze()
    _end_unless_alone()


def _end_unless_alone() -> None:
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        # A copy would be without the thread that something has started.
        os._exit(1)


def _prepare_more() -> None:
    """Import and compute what some checks need, once for all further copies."""
    gc.disable()
    for name in _OF_CHECKS:
        importlib.import_module(name)
    _hypothesis_home(Path(os.devnull))
    with contextlib.suppress(ImportError, AttributeError):
        # 0.1 s: which character is of which category. It would be kept in a file.
        importlib.import_module("hypothesis.internal.charmap").charmap()
    _compile_fence()
    gc.enable()
    gc.freeze()
    _end_unless_alone()


def _compile_fence() -> None:
    """Compile the fence's patterns, which are compiled at their first use."""
    fence.sanitize_context(_READ)
    for search in (*spots.PLAIN, *spots.WIDE):
        search.compile()


def _hypothesis_home(directory: Path) -> None:
    importlib.import_module("hypothesis.configuration").set_hypothesis_home_dir(directory)


def serve(descriptor: int) -> tuple[tuple[int, ...], str]:
    """
    Be the template on a socket to the parent; returns in each copy, with its descriptors.

    All copies are confined together, and are told why if they are not. The template ends when the
    parent closes the socket, or if an import starts a thread.
    """
    unconfined = confinement.confine()

    def answer(parent: socket.socket, asked: dict[str, Any]) -> None:
        """Listen for the parent at the addresses that it names, as far as that is confined."""
        made = [] if unconfined else relay.listening(map(tuple, asked["listen"]))
        told = json.dumps([address for address, _ in made]).encode("ascii")
        socket.send_fds(parent, [told], [listener.fileno() for _, listener in made])
        for _, listener in made:
            listener.close()

    copier = copy_process.from_descriptor(
        descriptor, _DESCRIPTORS, lambda asked: _prepare(asked["side"]), answer, _prepare_more
    )
    wanted, descriptors = copier.serve()
    try:
        return _become(wanted, descriptors, unconfined)
    except BaseException:
        os._exit(1)
