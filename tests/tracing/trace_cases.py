"""Traces in order, and out of it with the rules that are violated."""

from collections.abc import Callable

from tests.tracing.trace_lives import (
    TURN,
    asked_and_stored,
    asked_by_items,
    beside,
    by_both_hooks,
    calls,
    closed_beside_a_write,
    delegated,
    early,
    failed_start,
    hanging,
    hermes,
    late_start,
    one,
    prepared,
    prompts,
    raising,
    sessions,
    skipped,
    slow_close,
    switched,
    tool,
    turn_starts,
    two_closes_at_once,
    unasked,
    whole,
    writes,
)
from tests.tracing.traced import Script

LIFE = "MP-HOST-LIFE-001"

IN_ORDER: dict[str, Callable[[], Script]] = {
    "a session": calls,
    "a recall beside a write": lambda: beside("record", "recall"),
    "a compression beside a write": lambda: beside("mirror", "compress"),
    "the end of one that failed to start": lambda: failed_start("Misconfigured"),
    "a start that came too late": lambda: late_start(waits=True),
    "a start that ends beside its shutdown": lambda: late_start(waits=False),
    "one that is not available": lambda: early(answer=False),
    "the reason of one that is not available": lambda: early(
        "unavailable_reason", "close", answer=False
    ),
    "a shutdown beside a write that took the exit budget": lambda: closed_beside_a_write(14),
    "a recall that raises, for its backend may be away": lambda: raising("recall", "OSError"),
    "a turn that is refused": lambda: raising("record", "WriteRefused"),
    "a tool of the schemas": lambda: tool("harbour_find"),
    "a session that was ended": lambda: sessions("record", "end"),
    "two sessions, both ended": lambda: sessions("record", "end", "switch", "record", "end"),
    "a turn handed over again": lambda: writes(
        ("record_turn", whole("1", "a")), ("record_turn", whole("1", "a"))
    ),
    "equal words twice": lambda: writes(
        ("record_turn", whole("1", "a")), ("record_turn", whole("2", "a"))
    ),
    "a block of the prompt that changes with the session": lambda: prompts(
        "a", "b", in_another_session=True
    ),
    "a block of the prompt that changes after a compression": lambda: prompts("a", "b", "compress"),
    "a Hermes host": hermes,
    "a compression beside a recall that the host may have given up": lambda: beside(
        "recall", "compress"
    ),
    "equal turns by both hooks": lambda: by_both_hooks(2),
    "a turn of which the provider could not be told": lambda: turn_starts(
        "turn_start", "recall", "recall", "turn_start", "recall"
    ),
    "a recall for each turn that begins": lambda: turn_starts(
        "turn_start", "recall", "turn_start", "recall"
    ),
    "the same words in two turns": lambda: asked_and_stored(2, 2),
    "the same words in two turns, recalled for in two ways": asked_by_items,
    "a turn that was not recalled for": lambda: asked_and_stored(0, 2),
    "a preparation behind its turn": lambda: prepared(early=False),
    "two children with equal results": lambda: delegated("c-1", "c-2"),
    "children without a session": lambda: delegated("", ""),
    "a rewind": lambda: switched("session-7", rewound=True),
    "a resumed session": lambda: switched("session-8"),
    "a job that writes nothing": lambda: writes(context="cron"),
    "a job whose writes are wanted": lambda: writes(
        ("record", TURN), context="cron", contexts=["cron", "primary"]
    ),
    "a context that this release does not know": lambda: writes(("record", TURN), context="other"),
}

#: Name to the trace and the rules that it violates, in the order of the file.
OUT_OF_ORDER: dict[str, tuple[Callable[[], Script], list[str]]] = {
    "a recall before the start": (lambda: early("recall", "close"), [LIFE]),
    "two recalls before the declaration": (
        lambda: early("open", "recall", "recall", "declare", "close"),
        [LIFE],
    ),
    "a start that was not asked for": (unasked, ["MP-HOST-INIT-001"]),
    "a start of one that is not available": (
        lambda: early("open", "declare", "close", answer=False),
        ["MP-HOST-INIT-001"],
    ),
    "a second start": (lambda: calls("open"), [LIFE]),
    "a second declaration": (lambda: one("declare", "object"), ["MP-HOST-CAP-001"]),
    "no declaration": (lambda: early("open", "close"), ["MP-HOST-CAP-001"]),
    "a recall after a failed start": (
        lambda: failed_start("Misconfigured", "recall"),
        ["MP-HOST-INIT-002"],
    ),
    "a recall after the end": (
        lambda: early("open", "declare", "close", "recall"),
        [LIFE],
    ),
    "a turn after the end": (
        lambda: early("open", "declare", "close", "record"),
        ["MP-HOST-SHUT-001"],
    ),
    "no shutdown": (lambda: early("open", "declare"), ["MP-HOST-SHUT-002"]),
    "neither a declaration nor a shutdown": (
        lambda: early("open"),
        ["MP-HOST-CAP-001", "MP-HOST-SHUT-002"],
    ),
    "two shutdowns": (lambda: early("open", "declare", "close", "close"), ["MP-HOST-SHUT-002"]),
    "two shutdowns at once": (two_closes_at_once, ["MP-HOST-SHUT-002"]),
    "two writes at once": (lambda: beside("record", "mirror"), ["MP-HOST-TURN-001"]),
    "a write behind one that hangs": (
        lambda: hanging("record", 60, "record"),
        ["MP-HOST-TURN-001"],
    ),
    "two recalls at once": (lambda: beside("recall", "recall"), ["MP-HOST-RECALL-003"]),
    "a second recall of one that hangs": (
        lambda: hanging("recall", 9, "recall"),
        ["MP-RECALL-002", "MP-HOST-RECALL-003"],
    ),
    "a shutdown before the last write ended": (
        lambda: closed_beside_a_write(1),
        ["MP-HOST-SHUT-001"],
    ),
    "a tool before the schemas": (
        lambda: calls("call_tool", serves=("tools",)),
        [LIFE],
    ),
    "a tool that no schema names": (lambda: tool("harbour_lose"), [LIFE]),
    "a hook of an extension that is not served": (
        lambda: one("prompt", "str"),
        [LIFE],
    ),
    "a context block in a turn": (
        lambda: writes(("record", TURN | {"block": True})),
        ["MP-HOST-TURN-003"],
    ),
    "parts in a compression": (
        lambda: writes(("compress", {"plain": False})),
        ["MP-HOST-COMP-001"],
    ),
    "a turn of a job": (lambda: writes(("record", TURN), context="cron"), ["MP-HOST-CTX-001"]),
    "a turn of a job in a conversation": (
        lambda: writes(("record_turn", whole("1", "a") | {"turn_context": "cron"})),
        ["MP-HOST-CTX-001"],
    ),
    "a session that was ended twice": (lambda: sessions("end", "end"), ["MP-HOST-SESS-001"]),
    "a session that was never ended": (lambda: sessions("record"), ["MP-HOST-SESS-001"]),
    "a switch before the end": (lambda: sessions("switch", "end"), ["MP-HOST-SESS-001"]),
    "a turn by both hooks": (lambda: by_both_hooks(1), ["MP-HOST-REC-001"]),
    "another turn with a used id": (
        lambda: writes(("record_turn", whole("1", "a")), ("record_turn", whole("1", "b"))),
        ["MP-HOST-REC-002"],
    ),
    "a recall before its turn begins": (
        lambda: turn_starts("recall", "turn_start"),
        ["MP-HOST-TSTART-001"],
    ),
    "a turn without a recall, since the last one is late": (skipped, ["MP-RECALL-002"]),
    "a turn recorded twice": (lambda: asked_and_stored(1, 2), ["MP-HOST-TURN-007"]),
    "a preparation that overtakes its turn": (
        lambda: prepared(early=True),
        ["MP-HOST-PREWARM-001"],
    ),
    "a delegation told twice": (lambda: delegated("c-1", "c-1"), ["MP-HOST-DELEG-001"]),
    "a rewind to another session": (
        lambda: switched("session-8", rewound=True),
        ["MP-HOST-SESS-005"],
    ),
    "a new conversation in the same session": (
        lambda: switched("session-7", reset=True),
        ["MP-HOST-SESS-005"],
    ),
    "a recall beside a switch": (
        lambda: switched("session-8", recalls=True),
        ["MP-HOST-SESS-006"],
    ),
    "a config without what is promised": (
        lambda: Script().start(keys=["home", "platform"]).close(),
        ["MP-HOST-INIT-003"],
    ),
    "a late recall": (lambda: one("recall", took_s=5.5), ["MP-RECALL-002"]),
    "a late shutdown": (slow_close, ["MP-SHUT-005"]),
    "a recall that hangs": (lambda: hanging("recall", 30), ["MP-RECALL-002"]),
    "a recall that hangs beside a compression": (
        lambda: hanging("recall", 6, "compress"),
        ["MP-RECALL-002"],
    ),
    "a preparation that hangs": (lambda: hanging("prewarm", 30), ["MP-PREWARM-002"]),
    "a turn that begins for 6 s": (
        lambda: one("turn_start", "null", "turns", took_s=6),
        ["MP-TSTART-002"],
    ),
    "a recall that returns a list": (lambda: one("recall", "list"), ["MP-RECALL-001"]),
    "a tool result that is no JSON": (lambda: tool("harbour_find", is_json=False), ["MP-TOOL-008"]),
    "a tool without a schema": (lambda: tool("harbour_find", declared="harbour_x"), ["MP-CAP-004"]),
    "a block of the prompt that changes": (
        lambda: prompts("a", "b", "recall"),
        ["MP-PROMPT-002"],
    ),
    "a block of a Hermes provider that changes": (
        lambda: prompts("a", "b", "recall", binding="hermes"),
        ["MP-PROMPT-006"],
    ),
    "a preparation that raises": (
        lambda: raising("prewarm", "ValueError", "prewarm"),
        ["MP-PREWARM-001"],
    ),
    "a start that raises something else": (lambda: failed_start("KeyError"), ["MP-INIT-001"]),
}
