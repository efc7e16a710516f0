"""How many functions wait for the end of the interpreter."""

import atexit
import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock


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
        """How many functions would be called if the interpreter ended now."""
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
