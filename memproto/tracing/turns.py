"""The host's way of handing over turns, as the calls of one instance show it."""

import collections
from collections.abc import Iterator

from memproto.tracing.order import Seen, Told
from memproto.tracing.reading import Call

#: With a shorter budget of recall a host may have given a call up before the hook began.
_LEAST_BUDGET_S = 1.0


def seen(told: Told) -> Iterator[Seen]:
    """The host's faults, rule by rule."""
    for look in (_twice, _ids, _starts, _preparations):
        yield from look(told)


def _twice(told: Told) -> Iterator[Seen]:
    """A turn that was handed over more often than the provider was asked for its message."""
    recalls, limit_s = told.of("recall"), told.deadline_s("recall", 5.0)
    if told.of("items"):
        return  # which message they were asked for is not in a trace
    if limit_s < _LEAST_BUDGET_S or any(call.took_s >= limit_s for call in recalls):
        return  # one that is given up is not asked for every turn
    asked = collections.Counter(_digest(call) for call in recalls)
    stored: dict[str, dict[object, Call]] = {}
    for call in told.of("record", "record_turn"):
        message = str(call.facts.get("turn_message", _digest(call)))
        mine = stored.setdefault(str(call.facts.get("turn_texts")), {})
        if call.outcome == "returned":
            mine.setdefault(str(call.facts.get("turn_id", call.number)), call)
        if asked[message] and len(mine) > asked[message]:
            before = [one for one in mine.values() if one is not call][-1]
            name = "MP-HOST-TURN-007" if before.hook == call.hook else "MP-HOST-REC-001"
            yield call.line, name, f"the turn of line {before.line} was handed over again"


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
    """A turn of which the provider was told after it had been asked for it."""
    calls = [None, *told.of("turn_start", "recall"), None]
    for number, call in enumerate(calls):
        if call is None or call.operation != "turn_start":
            continue
        asked, before, after = calls[number - 1], calls[max(number - 2, 0)], calls[number + 1]
        message = call.args.get("message", {}).get("digest")
        was_told = before is not None and before.operation == "turn_start"
        # With a recall of its own behind it, it is the start of another turn with these words.
        if _is_for(asked, message) and not was_told and not _is_for(after, message):
            assert asked is not None
            seen = f"`{call.hook}` began after the recall of line {asked.line} for that turn"
            yield call.line, "MP-HOST-TSTART-001", seen


def _is_for(call: Call | None, message: object) -> bool:
    return call is not None and call.operation == "recall" and _digest(call) == message


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
