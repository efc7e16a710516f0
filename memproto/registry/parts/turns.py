"""Turns: told when they begin, recorded whole where that is served, and prepared for."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from memproto.fence import strip_memory_context
from memproto.registry.base import Session, Shared
from memproto.registry.calls.lanes import Lane
from memproto.registry.calls.questions import Unwaited, ask
from memproto.registry.calls.recall import Gather, not_stuck, started_worker
from memproto.registry.messages import copied, plain_text

_RECORD = "record"
_TURN = "on_turn_complete"
_START = "on_turn_start"
_PREWARM = "queue_prefetch"
_ALWAYS_THERE = ("turn_id", "started_at", "ended_at", "user_message", "assistant_response")


class TurnHooks(Shared):
    """The part of a registry that hands over turns with what is known of them."""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """
        Tell each provider that serves `turns` that a turn begins, before it is recalled for.

        All at once, each on a thread of its own; returns when all have returned, after
        `Deadlines.turn_start_s` at the latest.
        """
        lanes = self._serving("turns")
        if lanes:
            gather = self._gather(self._deadlines.turn_start_s)
            text = plain_text(message)
            ask(lanes, _START, gather, _anything, lambda: (turn_number, text), keywords=kwargs)

    def record(self, turn: Mapping[str, Any]) -> None:
        """
        Record a finished turn with all that is known of it; returns at once.

        In place of `on_turn_complete`, not beside it: providers that do not serve `record` get
        that hook, once for each `turn_id` of the last thousand, so that a host that does not know
        whether a turn was taken may call this again. `turn` is as in
        `recorded-turn.schema.json`; `session_id` is that of the session where it is missing. A
        block that was injected into the message is taken out. A turn of a context in which no
        write hooks are called is not recorded.

        Raises:
            ValueError: A key is missing that is always there.

        """
        if missing := [key for key in _ALWAYS_THERE if key not in turn]:
            raise ValueError(f"a turn has {', '.join(missing)}")
        whole = self._whole(turn)
        told = whole["user_message"], whole["assistant_response"]
        if not self._policy.calls_writes({"agent_context": whole.get("context", "primary")}):
            return
        if self._is_elsewhere() or not self._writes_are_called:
            return
        for lane in self._lanes or self._ended:
            if _RECORD in lane.extensions:
                self._hand_over(lane, _RECORD, (copied(whole),))
            else:
                self._hand_over(lane, _TURN, told, once=plain_text(whole["turn_id"]))

    def _whole(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        whole: dict[str, Any] = {"session_id": self._session.key, **copied(turn)}
        whole["user_message"] = strip_memory_context(plain_text(whole["user_message"]))
        whole["assistant_response"] = plain_text(whole["assistant_response"])
        return whole

    def _hand_over(self, lane: Lane, hook: str, args: tuple[Any, ...], **named: str) -> None:
        # Prepared behind the write, by its follower, and not beside it: the provider is to know the
        # turn that it prepares the next recall after.
        if hook in (_TURN, _RECORD) and "prewarm" in lane.extensions:
            query = args[0]["user_message"] if hook == _RECORD else args[0]
            lane.accept(hook, args, then=self._preparation(lane, query), **named)  # type: ignore[arg-type]
        else:
            super()._hand_over(lane, hook, args, **named)

    def _preparation(self, lane: Lane, query: str) -> Callable[[], None]:
        # A queue that waits must not keep a dropped registry alive: nothing here refers to it. The
        # session is the one of this moment: if the host switches before the follower runs, there is
        # nothing left to prepare for.
        gather = functools.partial(Gather, self._clock, self._deadlines.ask_s)
        return functools.partial(_prewarm, lane, gather, query, self._session)


def _prewarm(lane: Lane, gather: Callable[[], Gather], query: str, session: Session) -> None:
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
