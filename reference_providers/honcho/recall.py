"""Recalled texts: fetched in the background after each turn, and read without a wait."""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from . import dialectic, texts
from .manager import Fault, HonchoManager
from .places import Place
from .sender import Sender
from .settings import Settings
from .values import Observation
from .worker import Worker

log = logging.getLogger("memproto.honcho")

T = TypeVar("T")

#: Seconds that the first turn waits for the base and for the fitting texts; later ones never wait.
BASE_S, FITTING_S = 3.0, 1.5

#: Seconds that a fetch waits for texts that were accepted before it.
_SENT_S = 3.0

#: The most messages of one search that are recalled.
_MESSAGES = 10
_TOKEN_CHARS = 4


@dataclasses.dataclass(slots=True)
class Cache:
    """
    The texts that the next recall gives.

    Attributes:
        asked_in: After how many turns the question was asked that `dialectic` answers.

    """

    base: list[str] = dataclasses.field(default_factory=list)
    passages: list[str] = dataclasses.field(default_factory=list)
    dialectic: str = ""
    asked_in: int = 0


class _Asked:
    """
    The questions of one fetch: what is answered is used, whatever became of the others.

    A server that cannot be reached, that does not answer in time or refuses the key is asked
    nothing more.

    Attributes:
        answers: Number of questions that were answered.
        fault: The worst fault; None also if the server lacks a thing or a route, or refuses a text.

    """

    def __init__(self) -> None:
        self.answers = 0
        self.fault: Fault | None = None

    def of(self, ask: Callable[[], T]) -> T | None:
        """The answer; None if there is none."""
        if self.fault is not None and self.fault.kind != "busy":
            return None
        try:
            answer = ask()
        except Fault as fault:
            if fault.kind not in ("missing", "refused"):
                self.fault = fault
            return None
        self.answers += 1
        return answer

    def told(self) -> Fault | None:
        """The fault of the questions so far; a server that is asked further begins anew."""
        fault = self.fault
        if fault is not None and fault.kind == "busy" and self.answers:
            self.fault = None
        return fault


class Recall:
    """
    The cache of one session and the two threads that fill it.

    Attributes:
        fault: Why the last fetch gave nothing; None after one that was answered.

    """

    def __init__(
        self, settings: Settings, manager: HonchoManager, place: Place, sender: Sender
    ) -> None:
        self._settings = settings
        self._manager = manager
        self._sender = sender
        self._lock = threading.Lock()
        self._reader, self._thinker = Worker("honcho-reader"), Worker("honcho-thinker")
        self.fault: Fault | None = None
        self._told: Fault | None = None
        self.recalled = 0
        self.go_to(place)

    def start(self) -> None:
        """Start the threads."""
        self._reader.start()
        self._thinker.start()

    def go_to(self, place: Place) -> None:
        """Forget what was fetched, and go on for another session."""
        with self._lock:
            self._place = place
            self._cache = Cache()
            self._turns = 0
            self._contexts = dialectic.Cadence(self._settings.context_cadence)
            self._questions = dialectic.Cadence(self._settings.dialectic_cadence)
            self._is_first = True
            self._lacks: dict[str, Fault | None] = {}
            self._base_number = 0
            self._prepared: str | None = None

    # -- asking -----------------------------------------------------------------------------------

    def warm(self) -> None:
        """Fetch what does not depend on a message."""
        self._base_number = self._fetch("", needs_base=True)

    def prefetch(self, message: str) -> None:
        """The same for a host that asks for it; once for a turn that was prepared for already."""
        if message != self._prepared:
            self.prepare(message)

    def prepare(self, message: str) -> None:
        """Fetch for the turn after the one with this message."""
        self._prepared = message
        if texts.is_trivial(message) and self._cache.base:
            return
        self._fetch(message, needs_base=self._contexts.is_due())
        if self._questions.is_due():
            self._think(message)

    def refresh(self) -> None:
        """Fetch the base again, since something was written that belongs to it."""
        self._fetch("", needs_base=True)

    def _fetch(self, message: str, *, needs_base: bool) -> int:
        place = self._place
        if needs_base:
            self._contexts.asked()
        return self._reader.ask(lambda: self._read(place, message, needs_base=needs_base))

    def _think(self, message: str) -> int:
        place, is_first, turn = self._place, self._is_first, self._turns
        self._questions.asked()
        return self._thinker.ask(lambda: self._ask(place, message, turn, is_first=is_first))

    # -- what a turn gets -------------------------------------------------------------------------

    def take(self, message: str) -> str | None:
        """The texts known now; the first turn of a session waits for them a little."""
        if self._is_first:
            self._first(message)
        elif self._settings.first_turn_only:
            return None
        with self._lock:
            self._turns += 1
            self._prepared = None
            cache = self._cache
            said, cache.dialectic = cache.dialectic, ""
            is_stale = self._turns - cache.asked_in > 2 * self._settings.dialectic_cadence
            sections = [*cache.base, *cache.passages]
        if said and not is_stale:
            sections.append(f"## Answer of the memory\n{said}")
        self.recalled = len(sections)
        return "\n\n".join(sections) or None

    def _first(self, message: str) -> None:
        self._is_first = False
        began = time.monotonic()
        has_base = self._reader.wait(self._base_number, began + BASE_S)
        if texts.is_trivial(message) or not has_base:
            # A server that does not answer in that time is not waited for again.
            return
        number = self._fetch(message, needs_base=not self._cache.base)
        until = min(time.monotonic() + FITTING_S, began + BASE_S + FITTING_S)
        self._reader.wait(number, until)

    # -- fetching, on the threads -----------------------------------------------------------------

    def _read(self, place: Place, message: str, *, needs_base: bool) -> None:
        self._sender.wait_idle(_SENT_S)
        asked = _Asked()
        try:
            seen = self._manager.ready(dataclasses.asdict(place), self._settings.observation)
        except Fault as fault:
            asked.fault = fault
        else:
            if needs_base:
                # The answers so far are given also if the next one takes its time.
                self._keep(place, base=self._base(asked, place, seen, message))
                self._lacks["base"] = asked.told()
            if message:
                self._keep(place, passages=self._passages(asked, place, seen, message))
                self._lacks["passages"] = asked.told()
        self._noted(asked)

    def _keep(self, place: Place, **found: list[str] | None) -> None:
        """Put what was found into the cache; None leaves what is there."""
        with self._lock:
            if self._place == place:
                for name, sections in found.items():
                    if sections is not None:
                        setattr(self._cache, name, sections)

    def _noted(self, asked: "_Asked") -> None:
        if self._reader.is_stopped:
            return  # The end of the session ended the fetch.
        before = self._told
        self.fault = None if asked.answers else asked.fault
        self._told = self.fault or self.lack
        if self._told is not None and (before is None or before.kind != self._told.kind):
            what = "nothing" if self.fault else "a part of what is known"
            log.warning("honcho: %s can be recalled: %s", what, self._told)

    @property
    def lack(self) -> Fault | None:
        """Why a part of what is recalled was not answered when it was asked for last."""
        return next((fault for fault in self._lacks.values() if fault), None)

    def _base(
        self, asked: "_Asked", place: Place, seen: Observation, message: str
    ) -> list[str] | None:
        """Summary, representations and cards, each under its heading; None if none answered."""
        before = asked.answers
        observer = place.ai if seen.ai_others else place.user
        manager, question = self._manager, message[: self._settings.query_chars]
        known = asked.of(lambda: manager.context(place.session, observer, place.user))
        about = getattr(known, "peer_representation", None) or ""
        if question:
            fitting = asked.of(lambda: manager.representation(observer, place.user, question))
            about = fitting or about
        own = asked.of(lambda: manager.representation(place.ai, place.ai))
        card = asked.of(lambda: manager.card(place.ai, place.ai))
        found = {
            "Session Summary": getattr(getattr(known, "summary", None), "content", None) or "",
            "User Representation": about,
            "User Peer Card": "\n".join(getattr(known, "peer_card", None) or ()),
            "AI Self-Representation": own or "",
            "AI Identity Card": "\n".join(card or ()),
        }
        sections = [
            f"## {name}\n{texts.dated(texts.read(said)).strip()}"
            for name, said in found.items()
            if said
        ]
        return self._within(sections) if asked.answers > before else None

    def _within(self, sections: list[str]) -> list[str]:
        if self._settings.context_tokens is None:
            return sections
        return texts.fitting(sections, self._settings.context_tokens * _TOKEN_CHARS)

    def _passages(
        self, asked: "_Asked", place: Place, seen: Observation, message: str
    ) -> list[str] | None:
        """Messages and conclusions that fit a message, best first; None if none answered."""
        before = asked.answers
        observers = [place.ai] if seen.ai_others else [place.user, place.ai]
        lines: list[str] = []
        for observer in observers:
            # The assistant's own is what was mirrored while it still watched.
            rows = asked.of(lambda: self._manager.fitting(observer, place.user, message))  # noqa: B023
            lines += [f"- {texts.read(row.content)}" for row in rows or ()]
        fresh = list(dict.fromkeys([*lines, *self._said(asked, place, message)]))
        if asked.answers == before:
            return None
        return ["## What was said before\n" + "\n".join(fresh)] if fresh else []

    def said(self, place: Place, message: str) -> list[str]:
        """
        The messages that fit, those that several searches found first.

        Raises:
            Fault: No search was answered.

        """
        asked = _Asked()
        found = self._said(asked, place, message)
        if asked.fault is not None and not asked.answers:
            raise asked.fault
        return found

    def _said(self, asked: "_Asked", place: Place, message: str) -> list[str]:
        hits: dict[str, Any] = {}
        scores: dict[str, int] = {}
        questions = [message, *texts.telling(message)]
        for peer in (place.user, place.ai):
            for question in questions if peer == place.user else questions[:1]:
                if not question.strip():
                    continue
                rows = asked.of(lambda: self._manager.search(peer, question, _MESSAGES))  # noqa: B023
                for row in rows or ():
                    hits[row.id] = row
                    scores[row.id] = scores.get(row.id, 0) + 1
        best = sorted(hits, key=lambda key: -scores[key])[:_MESSAGES]
        return [f"- {texts.read(hits[key].content)}" for key in best]

    def _ask(self, place: Place, message: str, turn: int, *, is_first: bool) -> None:
        self._sender.wait_idle(_SENT_S)
        try:
            seen = self._manager.ready(dataclasses.asdict(place), self._settings.observation)
            observer = place.ai if seen.ai_others else place.user

            def chat(question: str, level: str) -> str:
                longest_s = self._settings.timeout_s
                return self._manager.chat(observer, place.user, question, level, longest_s)

            answer = dialectic.ask(self._settings, message, chat, is_first=is_first)
        except Fault as fault:
            log.debug("honcho: no answer: %s", fault)
            answer = ""
        self._questions.answered(answer)
        with self._lock:
            if self._place == place:
                self._cache.dialectic, self._cache.asked_in = texts.read(answer), turn

    # -- the end ----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Begin nothing more."""
        self._reader.stop()
        self._thinker.stop()

    def join(self, until: float) -> None:
        """Wait for the threads, until a moment."""
        for worker in (self._reader, self._thinker):
            worker.join(until - time.monotonic())
