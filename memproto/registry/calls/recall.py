"""Recall: the hook whose answer is text for the turn, asked of all providers at once."""

from collections.abc import Sequence
from typing import Any

from memproto.registry.calls.gather import Gather, HookCall, fly, not_stuck
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.events import type_name
from memproto.registry.messages import copier
from memproto.types import Message

_HOOK = "enrich_turn"


class Recall(HookCall):
    """
    One call of `enrich_turn`, by default on the recall thread of its provider.

    Attributes:
        answer: The str that was returned in time, or None.

    """

    __slots__ = ("answer",)

    answer: str | None

    def __init__(self, lane: ProviderLane, args: tuple[Any, ...], gather: Gather) -> None:
        super().__init__(lane, _HOOK, args, gather)
        self.answer = None

    def take(self, answer: Any) -> None:
        """Keep a text; of anything else, the name of its type."""
        if type(answer) is str or answer is None:
            self.answer = answer
        elif issubclass(type(answer), str):
            self.answer = str.__str__(answer)  # a subclass could answer differently when asked
        else:
            self.wrong = type_name(answer)

    def drop(self) -> None:
        """Let go of the text."""
        self.answer = None


def recall(
    lanes: Sequence[ProviderLane], user_message: str, messages: Sequence[Message], gather: Gather
) -> list[tuple[str, str]]:
    """Returns (label, text) of each provider that had something to say in time, in order."""
    calls = recalls(lanes, user_message, messages, gather)
    fly(calls, gather)
    return recalled(calls)


def recalls(
    lanes: Sequence[ProviderLane], user_message: str, messages: Sequence[Message], gather: Gather
) -> list[Recall]:
    """Returns a call for each provider that is not stuck; none was started."""
    copy = copier(messages)
    return [Recall(lane, (user_message, copy()), gather) for lane in not_stuck(lanes, _HOOK)]


def recalled(calls: Sequence[Recall]) -> list[tuple[str, str]]:
    """Returns (label, text) of each call that brought one in time."""
    return [
        (call.lane.label, call.answer)
        for call in calls
        if call.done and call.answer and not call.answer.isspace()
    ]
