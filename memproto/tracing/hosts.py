"""What the calls of one instance show against its host, beside their order."""

import itertools
from collections.abc import Iterator
from typing import Any

from memproto import lifecycle
from memproto.operations import OPERATIONS
from memproto.tracing.order import Seen, Told
from memproto.tracing.reading import Call

_ASKED_BEFORE = ("name", "backup", "unavailable_reason")
_WRITES = ("record", "record_turn", "mirror", "delegation", "end", "switch")


def seen(told: Told) -> Iterator[Seen]:
    """What the host did wrong, rule by rule."""
    for look in (
        _shutdowns,
        _declarations,
        _blocks,
        _compressions,
        _contexts,
        _ends,
        _switches,
        _turns_by_two_hooks,
        _turn_ids,
        _tools,
        _extensions,
    ):
        yield from look(told)


# -- start and end ---------------------------------------------------------------------------------


def _shutdowns(told: Told) -> Iterator[Seen]:
    opened, closed = told.of("open"), told.of("close")
    for again in closed[1:]:
        yield (
            again.line,
            "MP-HOST-SHUT-002",
            f"`shutdown` was called again, after line {closed[0].line}",
        )
    if opened and not closed and told.is_over:
        line = told.calls[-1].end_line or told.calls[-1].line
        yield line, "MP-HOST-SHUT-002", "the trace ends, and `shutdown` was not called"


def _declarations(told: Told) -> Iterator[Seen]:
    opened = told.first("open")
    if told.is_native and told.is_over and opened and not told.of("declare"):
        yield opened.line, "MP-HOST-CAP-001", "`capabilities` was never called in this session"


# -- what is handed over ---------------------------------------------------------------------------


def _blocks(told: Told) -> Iterator[Seen]:
    for call in told.of("record", "record_turn"):
        if call.facts.get("block") is True:
            yield call.line, "MP-HOST-TURN-003", "the recorded message holds a context block"


def _compressions(told: Told) -> Iterator[Seen]:
    if told.is_native:  # the Hermes binding hands over messages as they are
        for call in told.of("compress"):
            if call.facts.get("plain") is False:
                yield (
                    call.line,
                    "MP-HOST-COMP-001",
                    "a message is something other than role and plain text",
                )


def _contexts(told: Told) -> Iterator[Seen]:
    opened = told.of("open")
    if not opened:
        return
    facts = opened[0].facts
    context, named = facts.get("context", "primary"), facts.get("contexts", ["primary"])
    if "other" in (context, *_words(named)):
        return  # words that this release does not know
    for call in told.of("record", "record_turn", "mirror", "delegation", "end"):
        mine = call.facts.get("turn_context", "primary")
        wrong = next((one for one in (context, mine) if one not in (*_words(named), "other")), "")
        if wrong:
            yield call.line, "contexts", f"`{call.hook}` was called in the context {wrong!r}"


def _words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


# -- sessions --------------------------------------------------------------------------------------


def _ends(told: Told) -> Iterator[Seen]:
    ended: dict[str, Call] = {}
    for call in told.of("end", "switch"):
        if call.operation == "switch":
            if _goes_elsewhere(call):
                ended.pop(call.session, None)  # who comes back to it may end it again
        elif call.session in ended:
            before = ended[call.session].line
            yield call.line, "end", f"the session was ended already, by line {before}"
        else:
            ended[call.session] = call


def _goes_elsewhere(switch: Call) -> bool:
    return switch.args.get("new_session_id", {}).get("digest") != switch.session


def _switches(told: Told) -> Iterator[Seen]:
    """A switch with `reset`, or the exit, before which the session was not ended."""
    if "sessions" not in _served(told) or not _may_write(told):
        return
    ended: set[str] = set()
    for call in told.of("end", "switch", "close"):
        if call.operation == "end":
            ended.add(call.session)
            continue
        is_reset = call.operation == "switch" and call.facts.get("reset") is True
        is_last = call.operation == "close" and not _writes_beside(told, call)
        if (is_reset or is_last) and call.session not in ended:
            yield call.line, "end", f"`{call.hook}` came, and the session had not been ended"
            return
        if call.operation == "switch" and _goes_elsewhere(call):
            ended.discard(call.session)


def _writes_beside(told: Told, close: Call) -> bool:
    """Whether a write hung at the exit, behind which the end waited in vain."""
    return any(call.began < close.began < call.ended for call in told.of(*_WRITES))


def _may_write(told: Told) -> bool:
    opened = told.first("open")
    facts = opened.facts if opened else {}
    return facts.get("context", "primary") in _words(facts.get("contexts", ["primary"]))


# -- turns -----------------------------------------------------------------------------------------


def _turns_by_two_hooks(told: Told) -> Iterator[Seen]:
    turns = told.of("record", "record_turn")
    for before, call in itertools.pairwise(turns):
        texts = call.facts.get("turn_texts")
        if texts and texts == before.facts.get("turn_texts") and call.hook != before.hook:
            yield call.line, "one_record", f"the turn was handed over by line {before.line} already"


def _turn_ids(told: Told) -> Iterator[Seen]:
    known: dict[str, Call] = {}
    for call in told.of("record_turn"):
        number = call.facts.get("turn_id")
        if not isinstance(number, str):
            continue
        before = known.setdefault(number, call)
        if before.facts.get("turn_texts") != call.facts.get("turn_texts"):
            yield (
                call.line,
                "turn_id",
                f"this turn has the `turn_id` of line {before.line} and other words",
            )


# -- extensions ------------------------------------------------------------------------------------


def _served(told: Told) -> tuple[str, ...]:
    """What the provider declared; nothing where it did not, or was not asked."""
    declared = told.first("declare")
    return tuple(_words(declared.found.get("extensions"))) if declared else ()


def _extensions(told: Told) -> Iterator[Seen]:
    declared, served = told.first("declare"), _served(told)
    if declared is None:
        return
    # What sets a provider up or explains it may be asked of one that was not opened.
    asked = set(lifecycle.life().states["session"].calls).difference(_ASKED_BEFORE)
    for call in told.calls:
        extension = OPERATIONS[call.operation].extension
        is_unserved = extension and extension not in served
        if is_unserved and call.operation in asked and call.began > declared.ended:
            seen = f"`{call.hook}` was called, and `{extension}` is not declared"
            yield call.line, "extension", seen


def _tools(told: Told) -> Iterator[Seen]:
    offered = told.of("tools")
    names = [name for call in offered for name in _words(call.found.get("tool_names"))]
    if not names or any("tool_names" not in call.found for call in offered):
        return
    for call in told.of("call_tool"):
        digest = call.args.get("tool_name", {}).get("digest")
        if digest and digest not in names:
            yield call.line, "offered", "the tool is none of those that the schemas name"
