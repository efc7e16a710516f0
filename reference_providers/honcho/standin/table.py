"""The table of routes: which function answers which method and path."""

import dataclasses
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .limits import MAX_PAGE, Refused, broken, name, number
from .store import Session, Store, Workspace

PREFIX = "/v3/workspaces"

#: Seconds that the real server tries before it gives up: to embed texts that it stores, and those
#: that it is asked; and to reach a model, without a key and with one.
RETRIED_S, ASKED_S = 6.7, 1.3
KEYLESS_S, THOUGHT_S = 8.0, 12.0

#: A message waits so long for its table, and is refused then.
LOCK_S = 5.0


@dataclasses.dataclass(frozen=True)
class Options:
    """
    The kind of a server.

    Attributes:
        has_model: True if a language model answers; without one `chat` fails.
        has_embeddings: True if there is a key for embeddings; without one no conclusion can be
            written.
        embeds_messages: True if messages are embedded, which the real server does unless it is
            told otherwise: without a key it stores and finds none then. None: if there is a key.
        reaches_embeddings: True if the service of the embeddings answers.
        derives: True if conclusions and summaries are made at once, and what was deleted is
            removed at once; otherwise when `derive` is called.
        patience: Share of the time that the real server takes to give up, which this one takes.
        keys: Key to the one workspace that it opens, or None for all; None: keys are not asked for.

    """

    has_model: bool = True
    has_embeddings: bool = True
    derives: bool = True
    keys: Mapping[str, str | None] | None = None
    embeds_messages: bool | None = None
    reaches_embeddings: bool = True
    patience: float = 0.0

    @property
    def searches_by_meaning(self) -> bool:
        """True if messages are embedded, or would be."""
        embeds = self.embeds_messages
        return self.has_embeddings if embeds is None else embeds


class Load:
    """
    Causes of the server's slowness.

    Attributes:
        embedding_s: Seconds that an embedding takes.
        locked: The tables that cannot be written, of `messages` and `conclusions`.

    """

    def __init__(self) -> None:
        self.embedding_s = 0.0
        self.locked: set[str] = set()
        self.changed = threading.Condition()
        self.has_ended = False

    def wait(self, is_due: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until something holds, or the server ends, or the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: self.has_ended or is_due(), timeout_s)
            return is_due()


@dataclasses.dataclass(frozen=True)
class ApiRequest:
    """A request, taken apart."""

    store: Store
    options: Options
    load: Load
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def workspace(self) -> Workspace:
        """The workspace of the path."""
        return self.store.workspace(self._name("workspace_id"))

    @property
    def peer(self) -> str:
        """The peer of the path."""
        return self._name("peer_id")

    @property
    def session(self) -> str:
        """The session of the path."""
        return self._name("session_id")

    def embed(self, retried_s: float) -> None:
        """
        Take the time of an embedding; other requests are served meanwhile.

        Raises:
            Refused: 500, after the time of some tries, if the service does not answer.

        """
        if not self.options.reaches_embeddings:
            self.pause(retried_s * self.options.patience)
            raise broken()
        self.pause(self.load.embedding_s)

    def write(self, table: str, most_s: float | None = None) -> None:
        """
        Wait until a table may be written.

        Raises:
            Refused: 500, after a time, if one is set.

        """
        if table not in self.load.locked:
            return
        self.store.lock.release()
        try:
            is_free = self.load.wait(lambda: table not in self.load.locked, most_s)
        finally:
            self.store.lock.acquire()
        if not is_free:
            raise broken()

    def pause(self, pause_s: float) -> None:
        """Let a time pass; other requests are served meanwhile."""
        if pause_s <= 0:
            return
        self.store.lock.release()
        try:
            self.load.wait(lambda: False, pause_s)
        finally:
            self.store.lock.acquire()

    def held(self) -> Session | None:
        """The session of the path, where there is one."""
        return self.workspace.sessions.get(self.session)

    def _name(self, key: str) -> str:
        return name(self.params, key)


@dataclasses.dataclass(frozen=True)
class Answer:
    """Status and body; a list of parts is a stream of events."""

    status: int
    body: Any = None
    stream: bool = False


@dataclasses.dataclass(frozen=True)
class Route:
    """A route: its name is that of its function."""

    name: str
    method: str
    path: str
    pattern: re.Pattern[str]
    answer: Callable[[ApiRequest], Answer]


ROUTES: list[Route] = []


def route(
    method: str, path: str
) -> Callable[[Callable[[ApiRequest], Answer]], Callable[[ApiRequest], Answer]]:
    """Have a function answer a path below the prefix."""

    def put(answer: Callable[[ApiRequest], Answer]) -> Callable[[ApiRequest], Answer]:
        whole = PREFIX + path
        pattern = re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]*)", whole))
        ROUTES.append(Route(answer.__name__, method, whole, pattern, answer))
        return answer

    return put


def find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """
    The route of a request and the names in its path.

    Raises:
        Refused: 404 or 405, as the server has it.

    """
    fits = [(each, found) for each in ROUTES if (found := each.pattern.fullmatch(path))]
    for each, found in fits:
        if each.method == method:
            return each, found.groupdict()
    if fits:
        raise Refused(405, "Method Not Allowed")
    raise Refused(404, "Not Found")


def page(call: ApiRequest, items: list[Any], size: int = 50) -> Answer:
    """One page of `items`, as the query asks for it."""
    size = number(call.query, "size", size, MAX_PAGE)
    at = number(call.query, "page", 1, 1 << 31)
    shown = items[(at - 1) * size : at * size]
    told = {"items": shown, "total": len(items), "page": at, "size": size}
    return Answer(200, {**told, "pages": -(-len(items) // size)})
