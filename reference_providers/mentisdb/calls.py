"""One request within a wall-clock budget, whatever the server does with it."""

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

#: Number of requests of this process that may be under way: one may hang in the look-up of a name,
#: which nothing can end.
_MOST = 64


class Late(Exception):
    """
    The budget is over.

    Attributes:
        is_sent: True if the server may have got the request, and may still carry it out.

    """

    def __init__(self, *, is_sent: bool) -> None:
        super().__init__("no answer in time")
        self.is_sent = is_sent


class BoundedRequest:
    """
    Work on a thread of its own, which is cut off from the network when its time is over.

    A timeout of a socket bounds each read; a server that sends a byte now and then passes it.
    """

    #: Those that are under way. By name and not by number: one that Ctrl+C let nobody begin, or
    #: that is taken out twice, changes nothing for the others.
    _under_way: ClassVar[set["BoundedRequest"]] = set()
    _counting = threading.Lock()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False
        self._ended = threading.Event()
        self._result: Any = None
        self._failure: BaseException | None = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Hears from httpx of a connection: the socket of it is what can be cut."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
            if self._is_cut:
                self._cut()

    def within(self, budget_s: float, work: Callable[[], Any]) -> Any:
        """
        The value that `work` returns; raises its exception.

        Raises:
            Late: It did not within the budget, or too many others are under way.

        """
        thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        try:
            self._begin()
            thread.start()
        except RuntimeError:
            # The interpreter ends and starts no thread any more; a timeout of a socket has to do.
            self._run(work)
        except BaseException:
            if thread.ident is None:
                self._under_way.discard(self)
            raise
        if not self._ended.wait(budget_s):
            raise Late(is_sent=self._cut())
        if self._failure is not None:
            raise self._failure
        return self._result

    def _begin(self) -> None:
        with self._counting:
            if len(self._under_way) >= _MOST:
                raise Late(is_sent=False)
            self._under_way.add(self)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self._result = work()
        except BaseException as failure:
            self._failure = failure
        finally:
            self._under_way.discard(self)
            self._ended.set()

    def _cut(self) -> bool:
        """End the connection under the thread that waits on it; whether there was one."""
        with self._lock:
            self._is_cut = True
            held = self._socket
        if held is None:
            return False
        with contextlib.suppress(OSError):
            # Not the method of a TLS socket, which would take its state from under the thread.
            socket.socket.shutdown(held, socket.SHUT_RDWR)
        return True
