"""Code that the threads of this process run, and the threads that run a provider's own code."""

import atexit
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from memproto.testing import locate


def stack(frame: FrameType) -> list[CodeType]:
    """The functions that a thread runs, the outermost first."""
    found = [frame]
    while found[-1].f_back is not None:
        found.append(found[-1].f_back)
    return [one.f_code for one in reversed(found)]


def shown(stack: list[CodeType]) -> str:
    """The outermost function of the provider's in a stack, or where a foreign thread stands."""
    theirs = (code for code in stack if locate.is_authors(code.co_filename))
    code = next(theirs, stack[-1])
    return f"{Path(code.co_filename).name}:{code.co_name}"


def stacks() -> dict[int, list[CodeType]]:
    """The stack of each thread by its id, of those too that `threading` does not know."""
    frames = sys._current_frames()  # noqa: SLF001 - the only view of foreign threads
    return {ident: stack(frame) for ident, frame in frames.items()}


def workers(provider: Any, known: frozenset[int]) -> list[str]:
    """
    Places of the threads that are in code of the provider's own package, but for known ones.

    A thread that waits in the code of a library alone, as that of an executor, is none of them.
    """
    place = locate.code_of(provider)
    new = [found for ident, found in stacks().items() if ident not in known]
    return [shown(found) for found in new if any(_is_below(place, code) for code in found)]


def _is_below(place: Path | None, code: CodeType) -> bool:
    file = code.co_filename
    if place is None or not locate.is_authors(file):
        return False
    return Path(file).resolve().is_relative_to(place)


# -- exitcalls -------------------------------------------------------------------------------------

# Number of functions that wait for the end of the interpreter.


class ExitCalls:
    """
    The functions that `atexit` holds, without those that were unregistered while it was watched.

    The interpreter's own count may stay as it is when a function is unregistered: its place is
    empty then. Python 3.11 to 3.13 do so.
    """

    def __init__(self) -> None:
        self._register, self._unregister = atexit.register, atexit.unregister
        self._known: list[Callable[..., Any]] = []
        self._emptied = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Hear of what is registered and unregistered, by whoever asks the module for it now."""
        with (
            mock.patch.object(atexit, "register", self._heard),
            mock.patch.object(atexit, "unregister", self._forgotten),
        ):
            yield

    def count(self) -> int:
        """Number of functions that would be called if the interpreter ended now."""
        return _places() - self._emptied

    def _heard(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        self._known.append(func)
        return self._register(func, *args, **kwargs)

    def _forgotten(self, func: Callable[..., Any], /) -> None:
        before = _places()
        self._unregister(func)
        kept = [known for known in self._known if known != func]
        given_back = before - _places()
        self._emptied += max(len(self._known) - len(kept) - given_back, 0)
        self._known = kept


def _places() -> int:
    return atexit._ncallbacks()  # noqa: SLF001 - there is no other count


# -- together --------------------------------------------------------------------------------------

# Calls that begin at the same moment, each on a thread of its own.


def together(*functions: Callable[[], Any]) -> list[BaseException | None]:
    """
    Call each function on a new thread of its own, all from one moment on.

    Blocks until every one of them is back, and gives for each what it raised, or None.
    """
    barrier = threading.Barrier(len(functions))
    raised: list[BaseException | None] = [None] * len(functions)

    def call(index: int, function: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            function()
        except BaseException as error:
            raised[index] = error

    threads = [threading.Thread(target=call, args=row) for row in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised
