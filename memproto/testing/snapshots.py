"""Lists of messages as a host hands them over, and how two of them differ."""

from typing import Any, Protocol

from memproto.testing import texts
from memproto.testing.facts import Fact
from memproto.testing.wire import show

Messages = list[dict[str, Any]]


class _Run(Protocol):
    """What is needed of a `Run`."""

    binding: Any
    context: Any

    @property
    def examples(self) -> int: ...


_ROLES = ("system", "user", "assistant", "tool", "function", "developer", "moderator")


def plain(role: str, content: str) -> dict[str, Any]:
    """One message of plain text."""
    return {"role": role, "content": content}


def talk(*facts: Fact) -> Messages:
    """An ordinary conversation in which the user tells the facts."""
    messages = []
    for fact in facts:
        messages += [plain("user", fact.text), plain("assistant", f"I will remember {fact.name}.")]
    return [*messages, plain("user", "And how is the weather?"), plain("assistant", "Calm.")]


def of(run: _Run) -> dict[str, Messages]:
    """Lists of messages as a host of the binding hands them over, by what is special in them."""
    odd = {**texts.NAMED, **texts.generated(run.context.seed, run.examples)}
    found = {
        "an empty list": [],
        "a single message of the user": [plain("user", "Which berth is free?")],
        "a single message of the assistant": [plain("assistant", "Berth 4.")],
        "nothing but a system message": [plain("system", "You help with a harbour.")],
        "every role": [plain(role, f"Words of the {role}.") for role in _ROLES],
        "messages without text": [plain("user", ""), plain("assistant", "")],
        "odd texts": [plain("user", text) for text in odd.values()],
        "200 messages": [
            plain(_ROLES[1 + number % 2], f"Turn {number}: the ferry left.")
            for number in range(200)
        ],
    }
    return {**found, **_raw()} if run.binding.raw_messages else found


def _raw() -> dict[str, Messages]:
    """What a Hermes host hands over as it is: parts, and messages that hold only tool calls."""
    function = {"name": "look_up", "arguments": "{}"}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}
    return {
        "tool calls": [
            plain("user", "Look it up."),
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "content": "found", "tool_call_id": "call_1"},
        ],
        "a message of parts": [
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
        ],
    }


def difference(before: Messages, after: Messages) -> str:
    """In which way a list was changed, in words."""
    if len(before) != len(after):
        return f"{len(before)} messages became {len(after)}"
    changed = next(i for i, message in enumerate(before) if message != after[i])
    return f"message {changed}, {show(before[changed])}, became {show(after[changed])}"
