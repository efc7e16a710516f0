"""Sessions as a host may live them, in order and out of it, written call by call."""

from typing import Any

from tests.tracing.traced import Script, digest, text

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


def late_start(*, waits: bool) -> Script:
    """A start that the host gives up, and its shutdown behind that start or beside it."""
    script = Script()
    script.call("available", "bool", found=_YES)
    opening = script.begin("open", deadlines={"initialize_s": 2.0})
    if waits:
        script.end(opening, took_s=2.1)
        return script.close()
    script.call("close")
    script.end(opening, took_s=1.9)
    script.stop()
    return script


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


def turn_starts(*operations: str) -> Script:
    """Turns with one message, each with a recall and a start, in that order or the other."""
    script = Script().start("turns")
    for name in operations:
        argument = "message" if name == "turn_start" else "user_message"
        script.call(name, args={argument: text("a")})
    return script.close()


def asked_and_stored(asked: int, stored: int) -> Script:
    """Recalls for one message, and turns with it."""
    script = Script().start()
    message = {"args": {"user_message": text("a")}}
    for _ in range(asked):
        script.call("recall", **message)
    for _ in range(stored):
        script.call("record", **message, **TURN)
    return script.close()


def asked_by_items() -> Script:
    """Two turns of equal words, of which the second is recalled for item by item."""
    script = Script().start("items")
    message = {"args": {"user_message": text("a")}}
    for operation, shown in (("recall", "str"), ("items", "object")):
        script.call(operation, shown, **(message if operation == "recall" else {}))
        script.call("record", **message, **TURN)
    return script.close()


def by_both_hooks(asked: int) -> Script:
    script = Script().start("record")
    message = {"args": {"user_message": text("a")}}
    for _ in range(asked):
        script.call("recall", **message)
    script.call("record_turn", **(whole("1", "a") | {"turn_message": digest("a")}))
    script.call("record", **message, **TURN)
    return script.close()


def skipped() -> Script:
    """Two turns of equal words, of which the second was not recalled for."""
    script = Script().start()
    message = {"args": {"user_message": text("a")}}
    recall = script.begin("recall", **message)
    script.now_s += 5
    script.call("record", **message, **TURN)
    script.call("record", **message, **TURN)
    script.end(recall, took_s=5.4)
    return script.close()


def prepared(*, early: bool) -> Script:
    script = Script().start("prewarm")
    message = {"args": {"user_message": text("a")}}
    turn = script.begin("record", **message, **TURN)
    if early:
        script.call("prewarm", **message)
    script.end(turn)
    script.call("prewarm", **message)
    return script.close()


def delegated(*children: str) -> Script:
    script = Script().start("delegation")
    for child in children:
        told = {"task": text("t"), "result": text("r"), "child_session_id": text(child)}
        script.call("delegation", args=told)
    return script.close()


def switched(new: str, *, recalls: bool = False, **kinds: bool) -> Script:
    script = Script().start("sessions")
    script.call("end")
    told = {"args": {"new_session_id": text(new)}, "reset": False, "rewound": False, **kinds}
    switch = script.begin("switch", **told)
    if recalls:
        script.call("recall")
    script.end(switch)
    if new != "session-7":
        script.session = digest(new)
        script.call("end")
    return script.close()


def prompts(
    first: str,
    second: str,
    *between: str,
    binding: str = "native",
    in_another_session: bool = False,
) -> Script:
    script = Script(binding).start("prompt", "sessions")
    script.call("prompt", text(first))
    for operation in between:
        script.call(operation)
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
