"""The state of a registry's providers: their status, reasons, counters, and what to back up."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memproto.registry.answers import Answer
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.questions import Asked, UnfitAnswer, as_document, as_text, ask
from memproto.registry.core import Core
from memproto.registry.events import attempt

_STATUS = "recall_status"
_REASON = "unavailable_reason"
_BACKUP = "backup_paths"
_STATES = ("ok", "degraded", "down")


def answer_of(call: Asked) -> Answer:
    """The outcome of one call, as the host gets it."""
    label = call.lane.label
    if not call.done:
        return Answer(label, "late" if call.started else "stuck")
    if call.is_refused:
        return Answer(label, "refused", reason=call.report or call.error)
    if call.error or call.wrong:
        return Answer(
            label, "raised" if call.error else "wrong_type", reason=call.error or call.wrong
        )
    return Answer(label, "ok", call.found)


def answers(lanes: Iterable[ProviderLane], extension: str, calls: Sequence[Asked]) -> list[Answer]:
    """One answer for each of `lanes`, in order, whether it was asked or not."""
    made = {call.lane: answer_of(call) for call in calls}
    return [
        made.get(lane)
        or Answer(lane.label, "stuck" if extension in lane.extensions else "not_served")
        for lane in lanes
    ]


class Status:
    """The part of a registry that a status command asks."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def dropped(self) -> Mapping[str, str]:
        """The providers that take no part, and why, in words for the operator."""
        return {label: lane.dropped_for for label, lane in self._core.refused.items()}

    def recall_status(self) -> list[Answer]:
        """Returns how recall fares, of each provider that serves `status`, in order."""
        lanes = self._core.serving("status")
        return answers(lanes, "status", self._ask(lanes, _STATUS, _as_status))

    def unavailable_reason(self) -> dict[str, str]:
        """Returns what is wrong with each provider with which something is."""
        calls = self._ask(self._core.serving("status"), _REASON, as_text)
        found = {c.lane.label: c.found for c in calls if c.outcome == "ok" and c.found.strip()}
        return {**self.dropped, **found}

    def backup_paths(self) -> list[Answer]:
        """Returns the paths outside of the homes, of each provider that serves `backup`."""
        if self._core.is_elsewhere():
            return []
        waiting = tuple(self._core.registered.values())
        lanes = [lane for lane in waiting if _has(lane, _BACKUP)] or self._core.serving("backup")
        calls = self._ask(lanes, _BACKUP, _as_paths)
        made = {call.lane: answer_of(call) for call in calls}
        return [made.get(lane) or Answer(lane.label, "stuck") for lane in lanes]

    def stats(self) -> dict[str, Any]:
        """Returns each provider's state, queue and counters, as plain JSON."""
        active, ended = (dict.fromkeys(lanes) for lanes in (self._core.lanes, self._core.ended))
        states = [
            *((lane, "active") for lane in active),
            *((lane, "ended") for lane in ended if lane not in active),
            *((lane, "dropped") for lane in self._core.refused.values()),
            *((lane, "registered") for lane in tuple(self._core.registered.values())),
        ]
        return {"providers": {lane.label: self._counted(lane, state) for lane, state in states}}

    def _counted(self, lane: ProviderLane, state: str) -> dict[str, Any]:
        return {
            "state": state,
            "reason": lane.dropped_for,
            "queued": lane.queued,
            "stuck": sorted(hook for hook, calls in tuple(lane.late.items()) if calls),
            "lost": self._core.sink.lost(lane.label),
            "hooks": self._core.sink.counts(lane.label),
        }

    def _ask(self, lanes: Sequence[ProviderLane], hook: str, fits: Any) -> list[Asked]:
        return (
            ask(lanes, hook, self._core.gather(self._core.deadlines.ask_s), fits) if lanes else []
        )


def _has(lane: ProviderLane, hook: str) -> bool:
    return callable(attempt(getattr, lane.provider, hook)[0])


def _as_status(answer: Any) -> dict[str, Any]:
    status = as_document(answer)
    if status.get("state") not in _STATES:
        raise UnfitAnswer("no state that there is")
    return status


def _as_paths(answer: Any) -> tuple[str, ...]:
    if not isinstance(answer, list | tuple):
        raise TypeError("paths come as a list")
    paths = tuple(as_text(path) for path in answer)
    if not all(os.path.isabs(path) for path in paths):  # noqa: PTH117 - text in, text out
        raise UnfitAnswer("a path that is not absolute")
    return paths
