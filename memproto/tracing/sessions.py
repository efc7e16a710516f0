"""The host's way of ending and switching sessions, as the calls of one instance show it."""

from collections.abc import Iterator

from memproto.tracing.order import Seen, Told, words
from memproto.tracing.reading import Call

_WRITES = ("record", "record_turn", "mirror", "delegation", "end", "switch")


def seen(told: Told) -> Iterator[Seen]:
    """The host's faults, rule by rule."""
    for look in (_ended_twice, _not_ended, _kinds, _recalls):
        yield from look(told)


def _ended_twice(told: Told) -> Iterator[Seen]:
    ended: dict[str, Call] = {}
    for call in told.of("end", "switch"):
        if call.operation == "switch":
            if _goes_elsewhere(call):
                ended.pop(call.session, None)  # who comes back to it may end it again
        elif call.session in ended:
            before = ended[call.session].line
            yield call.line, "MP-HOST-SESS-001", f"the session was ended already, by line {before}"
        else:
            ended[call.session] = call


def _goes_elsewhere(switch: Call) -> bool:
    return switch.args.get("new_session_id", {}).get("digest") != switch.session


def _not_ended(told: Told) -> Iterator[Seen]:
    """A switch with `reset`, or the exit, before which the session was not ended."""
    if "sessions" not in told.served or not _may_write(told):
        return
    ended: set[str] = set()
    for call in told.of("end", "switch", "close"):
        if call.operation == "end":
            ended.add(call.session)
            continue
        is_reset = call.operation == "switch" and call.facts.get("reset") is True
        is_last = call.operation == "close" and not _writes_beside(told, call)
        if (is_reset or is_last) and call.session not in ended:
            seen = f"`{call.hook}` came, and the session had not been ended"
            yield call.line, "MP-HOST-SESS-001", seen
            return
        if call.operation == "switch" and _goes_elsewhere(call):
            ended.discard(call.session)


def _writes_beside(told: Told, close: Call) -> bool:
    """True if a write hung at the exit, behind which the end waited in vain."""
    return any(call.began < close.began < call.ended for call in told.of(*_WRITES))


def _may_write(told: Told) -> bool:
    named = told.opening("contexts")
    contexts = ["primary"] if named is None else words(named)
    return (told.opening("context") or "primary") in contexts


def _kinds(told: Told) -> Iterator[Seen]:
    for call in told.of("switch"):
        elsewhere = _goes_elsewhere(call)
        if call.facts.get("rewound") is True and elsewhere:
            yield call.line, "MP-HOST-SESS-005", "`rewound` is true, and the session is another one"
        elif call.facts.get("reset") is True and not elsewhere:
            yield call.line, "MP-HOST-SESS-005", "`reset` is true, and the session is the same"


def _recalls(told: Told) -> Iterator[Seen]:
    switches = told.of("switch")
    for call in told.of("recall", "items"):
        for switch in switches:
            if switch.began < call.began < switch.ended:
                seen = f"`{call.hook}` began while the switch of line {switch.line} was under way"
                yield call.line, "MP-HOST-SESS-006", seen
