"""Faults of its host that the calls of one instance show, beside their order."""

from collections.abc import Iterator
from math import inf

from memproto import lifecycle
from memproto.operations import OPERATIONS
from memproto.tracing.order import Seen, Told, words
from memproto.tracing.reading import Call

#: Of extensions, what may be called of one that does not serve them: before a session, and a switch
#: that an adapter takes for its provider, to hand over the new key with later calls.
_ANYWAY = ("name", "backup", "unavailable_reason", "switch")


def seen(told: Told) -> Iterator[Seen]:
    """The host's faults, rule by rule."""
    for look in (
        _shutdowns,
        _declarations,
        _configurations,
        _blocks,
        _compressions,
        _contexts,
        _delegations,
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
    if opened is None or told.of("declare") or _is_given_up(told, opened):
        return
    if told.binding.can_declare and told.is_over:
        yield opened.line, "MP-HOST-CAP-001", "`capabilities` was never called in this session"


def _is_given_up(told: Told, opened: Call) -> bool:
    """True if a start came too late for the host, which goes on without the provider."""
    is_late = opened.took_s >= told.deadline_s("open", inf)
    return is_late or any(close.began < opened.ended for close in told.of("close"))


def _configurations(told: Told) -> Iterator[Seen]:
    for call in told.of("open"):
        keys = call.facts.get("keys")
        if isinstance(keys, list):
            missing = [key for key in told.binding.config_keys if key not in keys]
            if missing:
                yield call.line, "MP-HOST-INIT-003", f"the config lacks {', '.join(missing)}"


# -- what is handed over ---------------------------------------------------------------------------


def _blocks(told: Told) -> Iterator[Seen]:
    for call in told.of("record", "record_turn"):
        if call.facts.get("block") is True:
            yield call.line, "MP-HOST-TURN-003", "the recorded message holds a context block"


def _compressions(told: Told) -> Iterator[Seen]:
    if not told.binding.raw_messages:
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
    if "other" in (context, *words(named)):
        return  # words that this release does not know
    for call in told.of("record", "record_turn", "mirror", "delegation", "end"):
        mine = call.facts.get("turn_context", "primary")
        wrong = next((one for one in (context, mine) if one not in (*words(named), "other")), "")
        if wrong:
            yield call.line, "MP-HOST-CTX-001", f"`{call.hook}` was called in the context {wrong!r}"


def _delegations(told: Told) -> Iterator[Seen]:
    known: dict[tuple[object, ...], Call] = {}
    for call in told.of("delegation"):
        shown = [call.args.get(name, {}) for name in ("task", "result", "child_session_id")]
        if not shown[-1].get("size"):
            continue  # without the child's session two of them cannot be told apart
        before = known.setdefault(tuple(str(one.get("digest")) for one in shown), call)
        if before is not call:
            yield call.line, "MP-HOST-DELEG-001", f"line {before.line} has told this already"


# -- extensions ------------------------------------------------------------------------------------


def _extensions(told: Told) -> Iterator[Seen]:
    declared, served = told.first("declare"), told.served
    if declared is None:
        return
    asked = set(lifecycle.life().states["session"].calls).difference(_ANYWAY)
    for call in told.calls:
        extension = OPERATIONS[call.operation].extension
        is_unserved = extension and extension not in served
        if is_unserved and call.operation in asked and call.began > declared.ended:
            seen = f"`{call.hook}` was called, and `{extension}` is not declared"
            yield call.line, "MP-HOST-LIFE-001", seen


def _tools(told: Told) -> Iterator[Seen]:
    offered = told.of("tools")
    names = [name for call in offered for name in words(call.found.get("tool_names"))]
    if not names or any("tool_names" not in call.found for call in offered):
        return
    for call in told.of("call_tool"):
        digest = call.args.get("tool_name", {}).get("digest")
        if digest and digest not in names:
            yield call.line, "MP-HOST-LIFE-001", "the tool is none of those that the schemas name"
