"""A native provider under the hooks of a framework of coroutines, which add nothing to it."""

import asyncio
import contextlib
import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memproto.testing.driver import Start
from memproto.types import SPEC_VERSION


class Hosted:
    """
    A provider, with the little that a framework's interface needs of it beside its hooks.

    Each hook runs on a thread of its own, so that one that hangs holds no event loop.
    """

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self._declared: Any = None
        self._schemas: list[dict[str, Any]] | None = None

    def open(self, session: Start, host: str, hooks: Sequence[str]) -> None:
        """Initialize the provider; raises what it raises."""
        promised = {
            "home": session.home,
            "protocol": {
                "version": SPEC_VERSION,
                "host": host,
                "hooks": list(hooks),
                "contexts": ["primary"],
            },
            "deadlines": {},
            "limits": {},
        }
        self.provider.initialize(session.session_id, {**promised, **session.config})
        self._declared = self.provider.capabilities().get("extensions", ())

    async def recall(self, query: str) -> Any:
        """The answer of `enrich_turn`, which hears of no other messages; None for a blank one."""
        found = await apart(self.provider.enrich_turn, query, [])
        return None if isinstance(found, str) and not found.strip() else found

    async def record(self, user_message: str, answer: str) -> None:
        """Hand a turn over."""
        await apart(self.provider.on_turn_complete, user_message, answer)

    async def call(self, name: str, args: Any) -> Any:
        """The provider's answer to a call of its tool."""
        return await apart(self.provider.handle_tool_call, name, args)

    def schemas(self) -> list[dict[str, Any]]:
        """Schemas of which a framework can make a tool: those with a name. Read once, as copies."""
        if self._schemas is None:
            # A framework may ask before a session; then nothing is declared yet.
            is_served = self._declared is None or "tools" in self._declared
            asked: list[Any] = []
            if is_served:
                asked = getattr(self.provider, "get_tool_schemas", list)()
            self._schemas = [copy.deepcopy(one) for one in asked if _is_named(one)]
        return self._schemas


def _is_named(schema: Any) -> bool:
    return isinstance(schema, Mapping) and isinstance(schema.get("name"), str)


async def apart(function: Callable[..., Any], *args: Any) -> Any:
    """
    The result of a call on a thread of its own; raises what it raises, exits as well.

    A StopIteration becomes a RuntimeError, since no coroutine may raise one.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(error: BaseException | None, value: Any) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):
            # Python 3.12 does the same; before it `set_exception` raises, and nobody goes on.
            future.set_exception(RuntimeError("StopIteration cannot be raised into a Future"))
        else:
            future.set_exception(error)

    def work() -> None:
        error, value = None, None
        try:
            value = function(*args)
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # The loop has ended, and nobody waits.
            loop.call_soon_threadsafe(settle, error, value)

    threading.Thread(target=work, name="kit-provider", daemon=True).start()
    return await future
