"""
The connection to the server: one event loop on a thread of its own for each session.

Hooks call from any thread and wait for a bounded time. The state here is used on the loop's
thread alone, but for `ask`, `start`, `close` and the plain values that tell how it fares.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as Ended
from concurrent.futures import TimeoutError as TooLate
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from memproto.errors import Rejected, Unavailable

from . import sdk
from .settings import Settings

_T = TypeVar("_T")

#: After a call without an answer the server is asked for a sign of life, which may take so long.
_SIGN_S = {True: 2.0, False: 10.0}  # over HTTP; over its standard streams, where it is started anew

#: Pauses between attempts to connect: the first, and the longest.
_FIRST_S, _LONGEST_S = 0.5, 15.0

#: Seconds that a server may take to end: the SDK asks, waits 2 s, terminates, waits 2 s, kills.
_LEAVE_S, _GIVE_UP_S = 7.0, 1.0

#: Codes of JSON-RPC by which a server says that it will never do this.
_FINAL = (-32602, -32601)


class NotSent(Unavailable):
    """There is no server to send to; nothing was."""


class Unanswered(Unavailable):
    """It was sent, and nobody knows whether it was carried out."""


class Lost(Unanswered):
    """The same, and the connection is gone: a new one may do better at once."""


class Refused(Rejected):
    """The server answered that it will not."""


class _Live:
    """One connection, held by one task from its opening to its end."""

    def __init__(self, chosen: Settings, place: str) -> None:
        self.session: Any = None
        self.tools: dict[str, dict[str, Any]] = {}
        self.is_in_doubt = False
        self.is_over = False
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._chosen, self._place = chosen, place
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        try:
            async with sdk.session(self._chosen) as opened:
                async with asyncio.timeout(self._chosen.start_s):
                    await opened.initialize()
                    self.tools = {tool["name"]: tool for tool in await sdk.tools(opened)}
                self.session = opened
                self.ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not self.ready.done():
                self.ready.set_exception(NotSent(told(error, self._place, self._chosen)))
                self.ready.exception()  # The caller may have gone.
        finally:
            self.is_over = True

    async def end(self) -> None:
        """Close it, and its server with it, within a bounded time."""
        self._stop.set()
        self.is_in_doubt = True
        for wait_s in (_LEAVE_S if self._chosen.command else _GIVE_UP_S, _GIVE_UP_S):
            done, _ = await asyncio.wait([self._task], timeout=wait_s)
            if done:
                return
            self._task.cancel()


class Link:
    """
    A session's connection to its server.

    Attributes:
        fault: Why nothing can be sent now; "" where it can.
        since: Since when, ISO 8601.
        tools: The server's tools, by name, as it listed them last; None before it did.

    """

    def __init__(self, chosen: Settings) -> None:
        self.fault, self.since = "", ""
        self.tools: dict[str, dict[str, Any]] | None = None
        self.place = place_of(chosen)
        self._chosen = chosen
        self._live: _Live | None = None
        self._lives: list[_Live] = []
        self._opening: asyncio.Task[_Live] | None = None
        self._not_before = 0.0
        self._pause_s = _FIRST_S
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="memproto-mcp", daemon=True)

    # -- from any thread --------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            # A server that would not end in time has left one.
            if left := asyncio.all_tasks(self._loop):
                for task in left:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(left, timeout=_GIVE_UP_S))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def ask(self, work: Callable[[], Coroutine[Any, Any, _T]], budget_s: float) -> _T:
        """
        Do something on the loop, and wait for it no longer than that.

        Raises:
            Unavailable: It took longer, or the session is over; or what `work` raises.

        """
        if not self._thread.is_alive() or self._loop.is_closed():
            raise NotSent("the session was shut down")
        asked = work()
        try:
            future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        except RuntimeError:  # Another thread has closed the loop meanwhile.
            asked.close()
            raise NotSent("the session was shut down") from None
        try:
            return future.result(budget_s)
        except TooLate:
            future.cancel()
            raise Unanswered(f"{self.place} did not answer within {budget_s:g} s") from None
        except Ended:
            raise Unanswered("the session was shut down") from None

    def soon(self, work: Callable[[], None]) -> None:
        """Do something small on the loop, and do not wait for it."""
        with contextlib.suppress(RuntimeError):  # The loop is closed: nothing is to be done.
            self._loop.call_soon_threadsafe(work)

    def close(self, budget_s: float) -> None:
        """End the connection, its server and the thread. Never raises."""
        with contextlib.suppress(Unavailable):
            self.ask(self._ended, budget_s)
        self.soon(self._loop.stop)
        if self._thread.is_alive():
            self._thread.join(2 * _GIVE_UP_S)

    # -- on the loop ------------------------------------------------------------------------------

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run something beside, until the end."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ended(self) -> None:
        tasks = [*self._tasks, *([self._opening] if self._opening else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_GIVE_UP_S)
        await asyncio.gather(*(live.end() for live in self._lives if not live.is_over))

    async def connected(self) -> _Live:
        """
        The connection, opened where there is none.

        Raises:
            NotSent: It cannot be opened, or there is a pause before the next attempt.

        """
        if self._opening is None:
            live = self._live
            if live is not None and not live.is_over:
                if live.is_in_doubt:
                    raise NotSent(self.fault or f"{self.place} does not answer")
                return live
            if asyncio.get_running_loop().time() < self._not_before:
                raise NotSent(self.fault)
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> _Live:
        live = self._live = _Live(self._chosen, self.place)
        self._lives = [one for one in self._lives if not one.is_over] + [live]
        try:
            await live.ready
            self.tools = live.tools
            self._require_tools()
        except BaseException as error:
            if isinstance(error, NotSent):
                self._failed(str(error))
            self.keep(live.end())
            raise
        else:
            self.fault, self.since, self._pause_s = "", "", _FIRST_S
            return live
        finally:
            self._opening = None

    def _require_tools(self) -> None:
        if lacks := self.lacks():
            raise NotSent(lacks)

    def lacks(self) -> str:
        """The fault of the server's tools; "" if there is none, or it never listed any."""
        if self.tools is None:
            return ""
        wanted = (self._chosen.search_tool, self._chosen.store_tool)
        missing = [name for name in wanted if name not in self.tools]
        if not missing:
            return ""
        there = ", ".join(sorted(self.tools)[:20]) or "none"
        fix = "name others as search_tool and store_tool"
        return f"{self.place} has no tool {missing[0]}; it has {there}; {fix}"

    def _failed(self, fault: str) -> None:
        self.fault, self.since = fault, self.since or datetime.now(UTC).isoformat()
        self._not_before = asyncio.get_running_loop().time() + self._pause_s
        self._pause_s = min(self._pause_s * 2, _LONGEST_S)

    @property
    def pause_s(self) -> float:
        """Seconds to wait before the next attempt makes sense."""
        return max(self._not_before - asyncio.get_running_loop().time(), 0.1)

    async def call(self, tool: str, arguments: dict[str, Any], budget_s: float) -> dict[str, Any]:
        """
        The answer of a tool, as on the wire; one that says it failed is an answer.

        Raises:
            NotSent: There is no server.
            Unanswered: It did not answer in time, or went away meanwhile.
            Refused: It knows no such tool, or no such arguments.

        """
        live = await self.connected()
        try:
            async with asyncio.timeout(budget_s):
                return sdk.as_sent(await live.session.call_tool(tool, arguments))
        except TimeoutError:
            self.doubt(live)
            raise Unanswered(f"{self.place} did not answer within {budget_s:g} s") from None
        except asyncio.CancelledError:
            self.doubt(live)
            raise
        except Exception as error:
            raise self._taken(live, error) from None

    def _taken(self, live: _Live, error: Exception) -> Unavailable | Refused:
        code = getattr(getattr(error, "error", None), "code", None)
        if code in _FINAL:
            return Refused(f"{self.place} refused the call (JSON-RPC error {code})")
        what = told(error, self.place, self._chosen)
        if code is None or live.is_over:
            self._drop(live, what)
            return Lost(what)
        self.doubt(live)
        return Lost(what)

    # -- whether it lives -------------------------------------------------------------------------

    def doubt(self, live: _Live) -> None:
        """Send nothing more until the server has given a sign of life; without one, drop it."""
        if not live.is_in_doubt and not live.is_over:
            live.is_in_doubt = True
            self.keep(self._asked(live))

    async def _asked(self, live: _Live) -> None:
        try:
            async with asyncio.timeout(_SIGN_S[bool(self._chosen.url)]):
                await live.session.send_ping()
            live.is_in_doubt = False
        except asyncio.CancelledError:
            raise
        except Exception:
            self._drop(live, f"{self.place} does not answer")

    def _drop(self, live: _Live, fault: str) -> None:
        if self._live is live:
            self._failed(fault)
            self._live = None
        self.keep(live.end())


# -- words -----------------------------------------------------------------------------------------


def place_of(chosen: Settings) -> str:
    """The server as one may show it: without what an address or a command may hold of secrets."""
    if not chosen.url:
        return f"the server {chosen.command[0]}"
    parts = urlsplit(chosen.url)
    return f"the server at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def told(error: BaseException, place: str, chosen: Settings) -> str:
    """The fault, without a word of what was sent or received."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, sdk.EndlessListError):
        return f"{place} {error}"
    if isinstance(error, TimeoutError):
        return f"{place} did not answer within {chosen.start_s:g} s"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"{place} answered with status {status}"
    if chosen.url:
        return f"{place} cannot be reached ({type(error).__name__})"
    return f"{place} ended ({type(error).__name__}); it may say why in {chosen.home / sdk.LOG}"
