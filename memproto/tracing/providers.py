"""Faults of its provider that the calls of one instance show."""

from collections.abc import Iterator
from math import inf

from memproto import spec
from memproto.tracing.order import Seen, Told
from memproto.tracing.reading import Call

#: The rules on a block that stays, one for each binding.
_PROMPTS = ("MP-PROMPT-002", "MP-PROMPT-006")

#: Operation to the rule on its time, and the seconds; only where no backend has a say in it.
BUDGETS: dict[str, tuple[str, float]] = {
    "recall": ("MP-RECALL-002", 5.0),
    "close": ("MP-SHUT-005", 15.0),
    "items": ("MP-ITEMS-001", 5.0),
    "prewarm": ("MP-PREWARM-002", 5.0),
    "turn_start": ("MP-TSTART-002", 5.0),
    "call_tool": ("MP-TOOL-013", 60.0),
}

#: Operation to the rule by which its hook raises nothing, whatever the backend does.
SILENT: dict[str, str] = {
    "available": "MP-AVAIL-001",
    "declare": "MP-CAP-001",
    "close": "MP-SHUT-001",
    "prewarm": "MP-PREWARM-001",
    "turn_start": "MP-TSTART-001",
    "prompt": "MP-PROMPT-001",
    "status": "MP-STATUS-001",
    "unavailable_reason": "MP-STATUS-003",
    "config_schema": "MP-CONF-003",
    "backup": "MP-BACKUP-001",
    "tools": "MP-TOOL-002",
}

#: Operation to the rule on what it returns, and the types that fit.
RESULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "available": ("MP-AVAIL-002", ("bool",)),
    "declare": ("MP-CAP-001", ("object",)),
    "recall": ("MP-RECALL-001", ("str", "null")),
    "tools": ("MP-TOOL-002", ("list",)),
    "prompt": ("MP-PROMPT-001", ("str",)),
    "status": ("MP-STATUS-001", ("object",)),
    "unavailable_reason": ("MP-STATUS-003", ("str",)),
    "compress_notes": ("MP-NOTES-001", ("str",)),
    "items": ("MP-ITEMS-001", ("object",)),
    "export": ("MP-PRIV-001", ("object",)),
    "forget": ("MP-PRIV-002", ("object",)),
    "config_schema": ("MP-CONF-001", ("list",)),
    "backup": ("MP-BACKUP-002", ("list",)),
}


def seen(told: Told) -> Iterator[Seen]:
    """The provider's faults, rule by rule."""
    for call in told.calls:
        yield from _late(told, call)
        yield from _raised(call)
        yield from _returned(call)
    yield from _prompts(told)
    yield from _tool_names(told)


def _late(told: Told, call: Call) -> Iterator[Seen]:
    name, budget_s = BUDGETS.get(call.operation, ("", inf))
    if call.end_line and call.took_s > budget_s:
        yield call.end_line, name, f"`{call.hook}` took {call.took_s:.1f} s (from line {call.line})"
    elif not call.end_line and told.is_over:
        waited_s = told.ended_s - call.began_s
        if waited_s > budget_s:
            yield call.line, name, f"`{call.hook}` had not returned after {waited_s:.1f} s"


def _raised(call: Call) -> Iterator[Seen]:
    if call.outcome != "raised":
        return
    name = SILENT.get(call.operation, "")
    if call.operation == "open" and call.error not in ("Misconfigured", ""):
        name = "MP-INIT-001"
    if name and call.error not in ("KeyboardInterrupt", "CancelledError"):
        yield call.end_line, name, f"`{call.hook}` raised {call.error or 'an error'}"


def _returned(call: Call) -> Iterator[Seen]:
    kind = call.result.get("type")
    name, fits = RESULTS.get(call.operation, ("", ()))
    if name and isinstance(kind, str) and kind not in fits:
        yield call.end_line, name, f"`{call.hook}` returned a value of type {kind}"
    if call.operation == "call_tool" and call.found.get("json") is False:
        yield call.end_line, "MP-TOOL-008", f"`{call.hook}` returned something that is no JSON"


def _prompts(told: Told) -> Iterator[Seen]:
    """A block that changed; not with the session, nor after a compression, when it is made anew."""
    rule = next(rule for rule in _PROMPTS if spec.requirement(rule).applies_to(told.binding))
    first: Call | None = None
    for call in told.of("prompt", "switch", "compress"):
        digest = call.result.get("digest")
        if call.operation != "prompt":
            first = None
        elif first is None:
            first = call if digest else None
        elif digest and digest != first.result.get("digest"):
            seen = f"the block differs from the one of line {first.end_line}, of the same session"
            yield call.end_line, rule, seen


def _tool_names(told: Told) -> Iterator[Seen]:
    declared, offered = told.first("declare"), told.first("tools")
    if declared is None or offered is None:
        return
    named, schemas = declared.found.get("tool_names"), offered.found.get("tool_names")
    if isinstance(named, list) and isinstance(schemas, list):
        missing = len([name for name in named if name not in schemas])
        if missing:
            yield (
                offered.end_line,
                "MP-CAP-004",
                f"{missing} of the names in `tool_names` are those of no schema",
            )
