"""The table of routes: which function answers which method and path."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from .limits import MAX_PAGE, Refused, name, number
from .store import Session, Store, Workspace

PREFIX = "/v3/workspaces"


@dataclasses.dataclass(frozen=True)
class Options:
    """
    What kind of a server it is.

    Attributes:
        has_model: Whether a language model answers; without one `chat` fails.
        has_embeddings: Whether texts can be embedded; without that no conclusion can be written.
        derives: Whether conclusions and summaries are made at once, and what was deleted is
            removed at once; otherwise when `derive` is called.
        keys: Key to the one workspace that it opens, or None for all; None: keys are not asked for.

    """

    has_model: bool = True
    has_embeddings: bool = True
    derives: bool = True
    keys: Mapping[str, str | None] | None = None


@dataclasses.dataclass(frozen=True)
class Call:
    """A request, taken apart."""

    store: Store
    options: Options
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
    answer: Callable[[Call], Answer]


ROUTES: list[Route] = []


def route(method: str, path: str) -> Callable[[Callable[[Call], Answer]], Callable[[Call], Answer]]:
    """Have a function answer a path below the prefix."""

    def put(answer: Callable[[Call], Answer]) -> Callable[[Call], Answer]:
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


def page(call: Call, items: list[Any], size: int = 50) -> Answer:
    """One page of `items`, as the query asks for it."""
    size = number(call.query, "size", size, MAX_PAGE)
    at = number(call.query, "page", 1, 1 << 31)
    shown = items[(at - 1) * size : at * size]
    told = {"items": shown, "total": len(items), "page": at, "size": size}
    return Answer(200, {**told, "pages": -(-len(items) // size)})
