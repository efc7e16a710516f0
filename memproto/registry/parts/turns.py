"""Turns: told when they begin, recorded whole where that is served, and prepared for."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from memproto.fence import strip_memory_context
from memproto.registry.calls.gather import Gather, not_stuck, started_worker
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.questions import Unwaited, ask
from memproto.registry.core import Core, Session
from memproto.registry.messages import copied, plain_text
from memproto.types import is_of_bot

_RECORD = "record"
_TURN = "on_turn_complete"
_START = "on_turn_start"
_PREWARM = "queue_prefetch"
_ALWAYS_THERE = ("turn_id", "started_at", "ended_at", "user_message", "assistant_response")


class Turns:
    """The part of a registry that hands over turns with what is known of them."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """
        Tell each provider that serves `turns` that a turn begins, before it is recalled for.

        All at once, each on a thread of its own; returns when all have returned, after
        `Deadlines.turn_start_s` at the latest.
        """
        lanes = self._core.serving("turns")
        if lanes:
            gather = self._core.gather(self._core.deadlines.turn_start_s)
            text = plain_text(message)
            ask(lanes, _START, gather, _anything, lambda: (turn_number, text), keywords=kwargs)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Record one finished turn with each provider; returns at once."""
        original = strip_memory_context(plain_text(user_message))
        told = original, plain_text(assistant_response)
        for lane in self._core.writable():
            self._hand_over(lane, _TURN, told, original)

    def record(self, turn: Mapping[str, Any]) -> None:
        """Record a finished turn with all that is known of it; returns at once."""
        if missing := [key for key in _ALWAYS_THERE if key not in turn]:
            raise ValueError(f"a turn has {', '.join(missing)}")
        whole = self._whole(turn)
        told = whole["user_message"], whole["assistant_response"]
        if not self._core.policy.calls_writes({"agent_context": whole.get("context", "primary")}):
            return
        for lane in self._core.writable():
            if _RECORD in lane.extensions:
                self._hand_over(lane, _RECORD, (copied(whole),), whole["user_message"])
            elif not is_of_bot(whole):
                # That hook takes all that is said for the user's words.
                once = plain_text(whole["turn_id"])
                self._hand_over(lane, _TURN, told, told[0], once=once)

    def _whole(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        whole: dict[str, Any] = {"session_id": self._core.session.key, **copied(turn)}
        whole["user_message"] = strip_memory_context(plain_text(whole["user_message"]))
        whole["assistant_response"] = plain_text(whole["assistant_response"])
        return whole

    def _hand_over(
        self, lane: ProviderLane, hook: str, args: tuple[Any, ...], query: Any, *, once: str = ""
    ) -> None:
        # Prepared behind the write, by its follower, and not beside it: the provider is to know the
        # turn that it prepares the next recall after.
        then = self.preparation(lane, query) if "prewarm" in lane.extensions else None
        lane.accept(hook, args, then=then, once=once)

    def preparation(self, lane: ProviderLane, query: str) -> Callable[[], None]:
        """A function that prepares the next recall, if its provider is still in this session."""
        # A queue that waits must not keep a dropped registry alive: nothing here refers to it. The
        # session is the one of this moment: if the host switches before the follower runs, there is
        # nothing left to prepare for.
        gather = functools.partial(Gather, self._core.clock, self._core.deadlines.ask_s)
        return functools.partial(_prewarm, lane, gather, query, self._core.session)


def _prewarm(
    lane: ProviderLane, gather: Callable[[], Gather], query: str, session: Session
) -> None:
    """Start to prepare recall for `query`, unless the session has gone or one is under way."""
    if session.is_left or not not_stuck([lane], _PREWARM):
        return
    worker = started_worker(lane, _PREWARM)
    if worker is not None:
        told = {"session_id": session.key}
        call = Unwaited(lane, _PREWARM, (query,), gather(), worker, fits=_anything, keywords=told)
        call.send(lambda: not session.is_left)


def _anything(answer: Any) -> None:
    """The answer of a hook that promises none: it is not looked at."""
