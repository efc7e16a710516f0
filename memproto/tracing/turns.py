"""What the calls of one instance show of how its host hands over turns."""

import collections
import itertools
from collections.abc import Iterator

from memproto.tracing.order import Seen, Told, words
from memproto.tracing.reading import Call


def seen(told: Told) -> Iterator[Seen]:
    """What the host did wrong, rule by rule."""
    for look in (_by_two_hooks, _twice, _ids, _starts, _preparations):
        yield from look(told)


def _by_two_hooks(told: Told) -> Iterator[Seen]:
    for before, call in itertools.pairwise(told.of("record", "record_turn")):
        texts = call.facts.get("turn_texts")
        if texts and texts == before.facts.get("turn_texts") and call.hook != before.hook:
            seen = f"the turn was handed over by line {before.line} already"
            yield call.line, "MP-HOST-REC-001", seen


def _twice(told: Told) -> Iterator[Seen]:
    """A turn of two texts that was stored more often than it was recalled for."""
    recalls = told.of("recall")
    limit_s = told.deadline_s("recall", 5.0)
    if any(call.took_s >= limit_s for call in recalls):
        return  # one that is given up is not asked for every turn
    asked = collections.Counter(_digest(call) for call in recalls)
    stored: collections.Counter[object] = collections.Counter()
    for call in told.of("record"):
        texts, message = str(call.facts.get("turn_texts")), _digest(call)
        stored[texts] += call.outcome == "returned"
        if asked[message] and stored[texts] > asked[message]:
            yield call.line, "MP-HOST-TURN-007", "the same turn was recorded before"


def _digest(call: Call) -> str:
    return str(call.args.get("user_message", {}).get("digest"))


def _ids(told: Told) -> Iterator[Seen]:
    known: dict[str, Call] = {}
    for call in told.of("record_turn"):
        number = call.facts.get("turn_id")
        if not isinstance(number, str):
            continue
        before = known.setdefault(number, call)
        if before.facts.get("turn_texts") != call.facts.get("turn_texts"):
            seen = f"this turn has the `turn_id` of line {before.line} and other words"
            yield call.line, "MP-HOST-REC-002", seen


def _starts(told: Told) -> Iterator[Seen]:
    """A recall for a turn of which the provider was not told that it begins."""
    if "turns" not in told.served or "on_turn_start" not in words(told.opening("hooks")):
        return
    was_told = False
    for call in told.of("turn_start", "recall"):
        if call.operation == "recall" and not was_told and not _is_stuck(told, call):
            seen = f"`{call.hook}` began, and `on_turn_start` not before it"
            yield call.line, "MP-HOST-TSTART-001", seen
        was_told = call.operation == "turn_start"


def _is_stuck(told: Told, recall: Call) -> bool:
    """Whether the provider had not returned in time from the start of some turn before."""
    limit_s = told.deadline_s("turn_start", 5.0)
    starts = [call for call in told.of("turn_start") if call.began < recall.began]
    return any(call.ended > recall.began or call.took_s > limit_s for call in starts)


def _preparations(told: Told) -> Iterator[Seen]:
    """A preparation that overtook the write of the turn that it is prepared by."""
    turns: dict[str, list[Call]] = {}
    for call in told.of("record"):
        turns.setdefault(_digest(call), []).append(call)
    for call in told.of("record_turn"):
        turns.setdefault(str(call.facts.get("turn_message")), []).append(call)
    for call in told.of("prewarm"):
        mine = turns.get(_digest(call), [])
        if mine and all(turn.ended > call.began for turn in mine):
            seen = f"`{call.hook}` began before the turn of line {mine[0].line} was stored"
            yield call.line, "MP-HOST-PREWARM-001", seen
