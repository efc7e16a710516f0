"""The connection to a server: the SDK with a deadline, and what its errors mean."""

import contextlib
import importlib.util
import logging
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from memproto.errors import Misconfigured

from . import texts
from .values import Observation

log = logging.getLogger("memproto.honcho")

T = TypeVar("T")

#: For one request, unless its caller has less time.
READ_S, WRITE_S = 2.0, 5.0

#: For a conclusion, which the server embeds before it answers, and stores also where nobody waits
#: for the answer any more: who gives up early does not know whether it is stored.
CONCLUDE_S = 18.0

#: The most tokens of a session's context. The server puts the newest messages into what its summary
#: leaves, which are not used; a summary has 4,000 tokens and gets four tenths of the rest.
CONTEXT_TOKENS = 20_000

#: The longest that a server is heeded which asks for time.
LONGEST_WAIT_S = 30.0

#: The server's page, and the most of them that are read for one look.
_PAGE, _PAGES = 100, 20


class Fault(Exception):
    """
    A call that did not succeed. Its text holds nothing of what was sent or answered.

    Attributes:
        kind: `away`: it was not sent; `unsure`: it may have been done; `busy`: not now; `denied`:
            the key is wrong; `missing`: there is no such thing, or route; `refused`: the content.
        retry_after_s: When the server wants to be asked again, or None.
        status: The status of the server's answer; 0 if there was none.
        end: The ending of the request: `answered`; `lost`: with its connection; `given up`: nobody
            waited for the answer, so that the server may be at it still.

    """

    def __init__(
        self,
        kind: str,
        told: str,
        retry_after_s: float | None = None,
        *,
        status: int = 0,
        end: str = "answered",
    ) -> None:
        super().__init__(told)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.status = status
        self.end = end


class _Status(Exception):
    """A status of an answer to a request that the SDK has no method for."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def is_installed() -> bool:
    """True if the SDK is there; imports nothing of it."""
    return all(importlib.util.find_spec(name) is not None for name in ("honcho", "httpx"))


class HonchoManager:
    """
    One client for one workspace; several providers may share it.

    Every method may be called on any thread, blocks for at most its budget and raises `Fault`.

    Raises:
        Misconfigured: The SDK is missing, or cannot be imported.

    """

    def __init__(self, url: str, key: str, workspace: str) -> None:
        try:
            from honcho import Honcho

            from . import transport
        except ImportError as error:
            fix = "pip install 'memproto[honcho]'"
            raise Misconfigured(f"the SDK honcho-ai cannot be imported; fix: {fix}") from error
        self.url, self.workspace = url, workspace
        self._transport = transport
        self._wires = transport.Wires()
        self._client = transport.client(url, self._wires)
        self._sdk = Honcho(
            api_key=key,
            base_url=url,
            workspace_id=workspace,
            max_retries=0,
            timeout=60.0,
            http_client=self._client,
        )
        self._headers = {"Authorization": f"Bearer {key}"}
        self._lock = threading.Lock()
        self._known: dict[str, Observation] = {}

    def close(self) -> None:
        """End what is under way, and every connection."""
        self._wires.abort()
        with contextlib.suppress(Exception):
            self._client.close()

    def call(
        self, budget_s: float, do: Callable[[], T], is_given_up: Callable[[], bool] | None = None
    ) -> T:
        """Do something within a budget, or until it is given up; every error is a `Fault`."""
        try:
            with self._transport.within(budget_s, is_given_up):
                return do()
        except Fault:
            raise
        except Exception as error:
            fault = _fault(error)
        log.debug("honcho: %s", fault)
        raise fault

    @contextlib.contextmanager
    def budget(self, budget_s: float) -> Iterator[None]:
        """Everything in the body takes at most so long together."""
        with self._transport.within(budget_s):
            yield

    # -- objects of the SDK, made without a request -----------------------------------------------

    def _peer(self, name: str) -> Any:
        from honcho.peer import Peer

        return Peer(name, self._sdk)

    def _session(self, name: str) -> Any:
        from honcho.session import Session

        return Session(name, self._sdk)

    # -- sessions ---------------------------------------------------------------------------------

    def ready(self, place: dict[str, str], wanted: Observation) -> Observation:
        """
        Have the session with its two peers; once for each session.

        Gives who observes whom: what the server has for peers that are there already, else what is
        wanted. A flag that the server has no value for counts as the server counts it: a peer is
        observed, and observes nobody.
        """
        name = place["session"]
        with self._lock:
            if name in self._known:
                return self._known[name]
        found = self.call(WRITE_S, lambda: self._made(place, wanted))
        with self._lock:
            self._known[name] = found
        return found

    def _made(self, place: dict[str, str], wanted: Observation) -> Observation:
        from honcho.api_types import SessionPeerConfig

        session = self._session(place["session"])
        self._answered(lambda: self._sdk.session(place["session"]))
        members = {peer.id for peer in self._answered(session.peers) or ()}
        new = {
            "user": SessionPeerConfig(observe_me=wanted.user_me, observe_others=wanted.user_others),
            "ai": SessionPeerConfig(observe_me=wanted.ai_me, observe_others=wanted.ai_others),
        }
        absent = [(place[who], flags) for who, flags in new.items() if place[who] not in members]
        if absent:
            session.add_peers(absent)
        flags = {}
        for who in new:
            known = None
            if place[who] in members:
                known = self._answered(lambda: session.get_peer_configuration(place[who]))  # noqa: B023
            for short, key in (("me", "observe_me"), ("others", "observe_others")):
                name = f"{who}_{short}"
                value = getattr(wanted, name) if known is None else getattr(known, key)
                flags[name] = short == "me" if value is None else value
        return Observation(**flags)

    @staticmethod
    def _answered(ask: Callable[[], T]) -> T | None:
        """The server's answer; None if a newer one says more than the SDK can read."""
        try:
            return ask()
        except ValueError as error:  # pydantic's errors are ValueErrors; the SDK's are not
            log.debug("honcho: an answer cannot be read: %s", type(error).__name__)
            return None

    # -- messages ---------------------------------------------------------------------------------

    def post(self, session: str, messages: list[dict[str, Any]]) -> None:
        """Store up to 100 messages: all of them or none."""
        from honcho.api_types import MessageCreateParams

        try:
            made = [MessageCreateParams(**message) for message in messages]
        except ValueError as error:  # Such as a time that is none; its text quotes the message.
            told = f"the SDK refuses the content ({type(error).__name__})"
            raise Fault("refused", told) from None
        self.call(WRITE_S, lambda: self._session(session).add_messages(made))

    def parts(self, session: str, turn_id: str) -> set[int]:
        """Parts of a turn that the server has."""
        asked = {"metadata": {"turn_id": turn_id}}

        def ask() -> set[int]:
            page = self._session(session).messages(filters=asked, size=_PAGE)
            return {int((message.metadata or {}).get("part", 0)) for message in page}

        return self.call(READ_S, ask)

    def is_empty(self, session: str) -> bool:
        """True if nothing was said in a session yet."""
        return not self.call(READ_S, lambda: self._session(session).messages(size=1).items)

    def search(self, peer: str, question: str, most: int) -> list[Any]:
        """Messages of a peer that fit a question."""
        asked = texts.query(question)
        return self.call(READ_S, lambda: list(self._peer(peer).search(asked, limit=most)))

    # -- conclusions ------------------------------------------------------------------------------

    def conclude(
        self,
        observer: str,
        observed: str,
        parts: list[str],
        session: str,
        is_given_up: Callable[[], bool] | None = None,
    ) -> list[str]:
        """Store conclusions, up to 100: all of them or none; gives their ids."""

        def store() -> list[str]:
            rows = [{"content": text, "session_id": session} for text in parts]
            made = self._peer(observer).conclusions_of(observed).create(rows)
            return [str(each.id) for each in made]

        return self.call(CONCLUDE_S, store, is_given_up)

    def copies(self, observer: str, observed: str, text: str, budget_s: float) -> list[str]:
        """The ids of the conclusions that have just this text, the oldest first."""
        wanted = {"observer_id": observer, "observed_id": observed, "content": text}

        def ask() -> list[str]:
            # The SDK's list takes no filter of the content.
            address = f"{self.url}/v3/workspaces/{self.workspace}/conclusions/list"
            answer = self._client.post(
                address,
                params={"page": 1, "size": _PAGE},
                json={"filters": wanted},
                headers=self._headers,
            )
            if not answer.is_success:
                raise _Status(answer.status_code)
            rows = answer.json()["items"]
            # A text of one star stands for every text in a filter.
            return [str(row["id"]) for row in reversed(rows) if row["content"] == text]

        try:
            return self.call(budget_s, ask)
        except Fault as fault:
            if fault.kind != "refused":
                raise
        # An older server cannot filter by the content.
        rows, _ = self.conclusions(observer, observed)
        return [str(row.id) for row in reversed(rows) if row.content == text]

    def conclusions(self, observer: str, observed: str) -> tuple[list[Any], int]:
        """The conclusions of one peer about another, 2,000 at most, and how many there are."""
        view = self._peer(observer).conclusions_of(observed)
        found: list[Any] = []
        for number in range(1, _PAGES + 1):
            page = self.call(READ_S, lambda: view.list(page=number, size=_PAGE))  # noqa: B023
            found += page.items
            if len(page.items) < _PAGE:
                return found, len(found)
        return found, max(len(found), int(page.total or 0))

    def fitting(self, observer: str, observed: str, question: str, most: int = 10) -> list[Any]:
        """The conclusions that fit a question."""
        view, asked = self._peer(observer).conclusions_of(observed), texts.query(question)
        return self.call(READ_S, lambda: list(view.query(asked, top_k=most)))

    def remove(self, observer: str, observed: str, conclusion_id: str) -> None:
        """Remove a conclusion."""
        view = self._peer(observer).conclusions_of(observed)
        self.call(WRITE_S, lambda: view.delete(conclusion_id))

    # -- what is known ----------------------------------------------------------------------------

    def context(self, session: str, observer: str, observed: str) -> Any:
        """
        Summary of a session, and representation and card of a peer, as another one sees it.

        There is no question: it would be in the address, which HTTP clients and servers log.
        """
        seen: dict[str, Any] = {"peer_target": observed, "tokens": CONTEXT_TOKENS}
        if observer != observed:
            seen["peer_perspective"] = observer
        return self.call(READ_S, lambda: self._session(session).context(summary=True, **seen))

    def representation(self, observer: str, observed: str, question: str = "") -> str:
        """One peer's knowledge about another."""
        asked: dict[str, Any] = {"target": observed} if observer != observed else {}
        if question:
            asked["search_query"] = texts.query(question)
        return str(self.call(READ_S, lambda: self._peer(observer).representation(**asked)) or "")

    def card(self, observer: str, observed: str) -> list[str]:
        """The card of a peer; empty where it has none."""
        target = {"target": observed} if observer != observed else {}
        lines = self.call(READ_S, lambda: self._peer(observer).get_card(**target))
        return [texts.read(line) for line in lines or ()]

    def set_card(self, observer: str, observed: str, lines: list[str]) -> None:
        """Write the card of a peer."""
        target = {"target": observed} if observer != observed else {}
        written = [texts.sent(line) for line in lines]
        self.call(WRITE_S, lambda: self._peer(observer).set_card(written, **target))

    def chat(
        self, observer: str, observed: str, question: str, level: str, timeout_s: float
    ) -> str:
        """The answer of the server's model; "" if it knows nothing."""
        target = {"target": observed} if observer != observed else {}
        peer = self._peer(observer)
        asked = texts.sent(question)[: texts.CHAT_CHARS]
        ask = lambda: peer.chat(asked, reasoning_level=level, **target)  # noqa: E731
        return str(self.call(timeout_s, ask) or "")


# -- errors ----------------------------------------------------------------------------------------

_TOLD = {
    "away": "the server cannot be reached",
    "unsure": "the server did not answer in time, or not in a form that can be read",
    "busy": "the server is busy or broken",
    "denied": "the server refuses the key",
    "missing": "the server does not have what was asked for; it may be older than the SDK",
    "refused": "the server refuses the content",
}


def _fault(error: Exception) -> Fault:
    status = getattr(error, "status", 0)
    kind = _kind(error, status)
    told = f"{_TOLD[kind]} ({status})" if status else f"{_TOLD[kind]} ({type(error).__name__})"
    wait_s = _wait_s(getattr(error, "retry_after", None))
    return Fault(kind, told, wait_s, status=status, end=_end(error, status))


def _end(error: BaseException, status: int) -> str:
    """The ending of the request: `end` of a `Fault`."""
    import httpx

    if status:
        # Some of them are a proxy's answer in the server's place.
        return "given up" if status in (408, 502, 504) else "answered"
    if any(isinstance(each, httpx.TimeoutException) for each in _chain(error)):
        return "given up"
    # Else the answer cannot be read.
    is_lost = any(isinstance(each, httpx.TransportError) for each in _chain(error))
    return "lost" if is_lost else "answered"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _kind(error: BaseException, status: int) -> str:
    if status in (401, 403):
        return "denied"
    if status in (404, 405, 501):
        return "missing"
    if status in (400, 409, 413, 422):
        return "refused"
    if status:
        return "busy"
    return "away" if _was_not_sent(error) else "unsure"


def _was_not_sent(error: BaseException) -> bool:
    import httpx

    unsent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
    return any(isinstance(each, unsent) for each in _chain(error))


def _wait_s(value: Any) -> float | None:
    """Pause that the server asks for, as far as it makes sense."""
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return min(float(value), LONGEST_WAIT_S)
