"""Sessions as a host may live them, in order and out of it, with the rules that are violated."""

from collections.abc import Callable
from typing import Any

from tests.traced import Script, digest, text

TURN = {"turn_texts": digest("a"), "block": False}
SWITCH = {"args": {"new_session_id": text("session-8")}, "reset": True, "rewound": False}
_YES = {"answer": True}


def whole(number: str, words: str) -> dict[str, Any]:
    texts = {"turn_id": digest(number), "turn_texts": digest(words)}
    return {**texts, "turn_context": "primary", "block": False}


def beside(first: str, second: str, after_s: float = 0.0) -> Script:
    """The second call is made and returns while the first one runs."""
    script = Script().start()
    under_way = script.begin(first)
    script.now_s += after_s
    script.call(second)
    script.end(under_way, took_s=after_s + 0.2)
    return script.close()


def hanging(operation: str, after_s: float, *then: str) -> Script:
    """A call that never returns, and what comes after some seconds."""
    script = Script().start("prewarm", "turns")
    script.begin(operation)
    script.now_s += after_s
    for name in then:
        script.call(name)
    return script.close()


def closed_beside_a_write(after_s: float) -> Script:
    script = Script().start()
    script.call("recall")
    under_way = script.begin("record", **TURN)
    script.now_s += after_s
    script.call("close")
    script.end(under_way)
    script.stop()
    return script


def calls(*operations: str, serves: tuple[str, ...] = ()) -> Script:
    """A session with these calls."""
    script = Script().start(*serves)
    for name in operations:
        script.call(name)
    return script.close()


def one(operation: str, result: Any = "null", *serves: str, took_s: float = 0.1) -> Script:
    script = Script().start(*serves)
    script.call(operation, result, took_s=took_s)
    return script.close()


def raising(operation: str, error: str, *serves: str) -> Script:
    script = Script().start(*serves)
    script.fail(script.begin(operation), error)
    return script.close()


def early(*operations: str, answer: Any = True) -> Script:
    """Calls of an instance that was asked whether it can start; `close` is one of them."""
    script = Script()
    script.call("available", "bool", found={"answer": answer})
    for name in operations:
        script.call(name, {"declare": "object", "unavailable_reason": "str"}.get(name, "null"))
    script.stop()
    return script


def unasked() -> Script:
    script = Script()
    script.call("open")
    script.call("declare", "object")
    return script.close()


def failed_start(error: str, *then: str) -> Script:
    script = Script()
    script.call("available", "bool", found=_YES)
    script.fail(script.begin("open"), error)
    for name in then:
        script.call(name)
    return script.close()


def two_closes_at_once() -> Script:
    script = Script().start()
    first = script.begin("close")
    script.call("close")
    script.end(first)
    script.stop()
    return script


def slow_close() -> Script:
    script = Script().start()
    script.call("close", took_s=15.2)
    script.stop()
    return script


def tool(called: str, *, is_json: bool = True, declared: str = "harbour_find") -> Script:
    script = Script().start("tools", tools=(declared,))
    script.call("tools", "list", found={"tool_names": [digest("harbour_find")]})
    script.call("call_tool", "str", args={"tool_name": text(called)}, found={"json": is_json})
    return script.close()


def sessions(*steps: str) -> Script:
    """A session with the steps; `switch` leads to another one."""
    script = Script().start("sessions")
    for step in steps:
        if step == "switch":
            script.call("switch", **SWITCH)
            script.session = digest("session-8")
        else:
            script.call(step, **(TURN if step == "record" else {}))
    return script.close()


def writes(*rows: tuple[str, dict[str, Any]], **opened: Any) -> Script:
    script = Script().start("record", **opened)
    for operation, facts in rows:
        script.call(operation, **facts)
    return script.close()


def prompts(first: str, second: str, *, in_another_session: bool = False) -> Script:
    script = Script().start("prompt", "sessions")
    script.call("prompt", text(first))
    script.call("end")
    if in_another_session:
        script.call("switch", **SWITCH)
        script.session = digest("session-8")
        script.call("end")
    script.call("prompt", text(second))
    return script.close()


def hermes() -> Script:
    """A host of the Hermes binding, which reads schemas when it takes a provider in."""
    script = Script("hermes")
    script.call("tools", "list")
    script.start()
    script.call("compress", plain=False)
    script.call("recall", text(""))
    return script.close()


IN_ORDER: dict[str, Callable[[], Script]] = {
    "a session": calls,
    "a recall beside a write": lambda: beside("record", "recall"),
    "a compression beside a write": lambda: beside("mirror", "compress"),
    "the end of one that failed to start": lambda: failed_start("Misconfigured"),
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
    "a Hermes host": hermes,
    "a job that writes nothing": lambda: writes(context="cron"),
    "a job whose writes are wanted": lambda: writes(
        ("record", TURN), context="cron", contexts=["cron", "primary"]
    ),
    "a context that this release does not know": lambda: writes(("record", TURN), context="other"),
}

#: Name to the trace and the rules that it violates, in the order of the file.
OUT_OF_ORDER: dict[str, tuple[Callable[[], Script], list[str]]] = {
    "a recall before the start": (lambda: early("recall", "close"), ["25-lifecycle"]),
    "two recalls before the declaration": (
        lambda: early("open", "recall", "recall", "declare", "close"),
        ["25-lifecycle"],
    ),
    "a start that was not asked for": (unasked, ["MP-HOST-INIT-001"]),
    "a start of one that is not available": (
        lambda: early("open", "declare", "close", answer=False),
        ["MP-HOST-INIT-001"],
    ),
    "a second start": (lambda: calls("open"), ["25-lifecycle"]),
    "a second declaration": (lambda: one("declare", "object"), ["MP-HOST-CAP-001"]),
    "no declaration": (lambda: early("open", "close"), ["MP-HOST-CAP-001"]),
    "a recall after a failed start": (
        lambda: failed_start("Misconfigured", "recall"),
        ["MP-HOST-INIT-002"],
    ),
    "a recall after the end": (
        lambda: early("open", "declare", "close", "recall"),
        ["25-lifecycle"],
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
    "a compression beside a recall": (lambda: beside("recall", "compress"), ["25-lifecycle"]),
    "a shutdown before the last write ended": (
        lambda: closed_beside_a_write(1),
        ["MP-HOST-SHUT-001"],
    ),
    "a tool before the schemas": (lambda: calls("call_tool", serves=("tools",)), ["25-lifecycle"]),
    "a tool that no schema names": (lambda: tool("harbour_lose"), ["80-hosts"]),
    "a hook of an extension that is not served": (lambda: one("prompt", "str"), ["25-lifecycle"]),
    "a context block in a turn": (
        lambda: writes(("record", TURN | {"block": True})),
        ["MP-HOST-TURN-003"],
    ),
    "parts in a compression": (
        lambda: writes(("compress", {"plain": False})),
        ["MP-HOST-COMP-001"],
    ),
    "a turn of a job": (lambda: writes(("record", TURN), context="cron"), ["80-hosts"]),
    "a turn of a job in a conversation": (
        lambda: writes(("record_turn", whole("1", "a") | {"turn_context": "cron"})),
        ["80-hosts"],
    ),
    "a session that was ended twice": (lambda: sessions("end", "end"), ["80-hosts"]),
    "a session that was never ended": (lambda: sessions("record"), ["80-hosts"]),
    "a switch before the end": (lambda: sessions("switch", "end"), ["80-hosts"]),
    "a turn by both hooks": (
        lambda: writes(("record_turn", whole("1", "a")), ("record", TURN)),
        ["74-record"],
    ),
    "another turn with a used id": (
        lambda: writes(("record_turn", whole("1", "a")), ("record_turn", whole("1", "b"))),
        ["74-record"],
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
    "a block of the prompt that changes": (lambda: prompts("a", "b"), ["MP-PROMPT-002"]),
    "a preparation that raises": (
        lambda: raising("prewarm", "ValueError", "prewarm"),
        ["MP-PREWARM-001"],
    ),
    "a start that raises something else": (lambda: failed_start("KeyError"), ["MP-INIT-001"]),
}
