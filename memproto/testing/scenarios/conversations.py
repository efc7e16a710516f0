"""Conversations as message.schema.json allows them, and recall in the middle of one."""

from typing import Any, Protocol

from memproto import spec
from memproto.testing.clauses import Violation
from memproto.testing.evidence import Raised
from memproto.testing.facts import Fact
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import texts
from memproto.testing.wire import show

_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}

#: Name to conversation, those that every agent has; the name completes "it raised for ...".
COMMON: dict[str, list[dict[str, Any]]] = {
    "no messages": [],
    "plain messages": [
        {"role": "system", "content": "You help with a harbour."},
        {"role": "user", "content": "Which berth is free?"},
        {"role": "assistant", "content": "Berth 4."},
    ],
    "a message of parts": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is on this picture?"}, _PICTURE],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "A tug."}]},
    ],
    "tool messages": [
        {"role": "user", "content": "Look it up."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "content": "found", "tool_call_id": "call_1", "name": "f"},
    ],
}

#: And those that are legal too.
NAMED: dict[str, list[dict[str, Any]]] = {
    **COMMON,
    "a message of one image": [{"role": "user", "content": [_PICTURE]}],
    "a message of no parts": [{"role": "user", "content": []}],
    "a message without content": [{"role": "assistant", "content": None}],
    "a message of an empty text": [{"role": "user", "content": ""}],
    "a part of another type": [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklGRg"}}]}
    ],
    "a tool result of parts": [
        {"role": "tool", "content": [{"type": "text", "text": "4 m"}], "tool_call_id": "call_1"}
    ],
    "roles and keys of the host's own": [
        {"role": "developer", "content": "Be brief.", "created_at": 1_700_000_000, "meta": {}}
    ],
    "a message with a NUL and half a surrogate pair": [
        {"role": "user", "content": "before\x00after \ud83d"}
    ],
}


def recall_amid(
    subject: Subject, query: str, conversation: str, messages: list[dict[str, Any]]
) -> Any:
    """
    The answer of recall to `query` with `messages`, a copy of the named conversation, before it.

    Raises:
        Violation: Of MP-TEXT-001: it raises with these messages, and without any it does not.
        HookRaised: It raises without messages too, or reports.

    """
    try:
        return subject.recall(query, messages)
    except HookRaised as failure:
        if failure.ends_process or failure.is_report:
            raise
        subject.recall(query, [])
        raise Violation(
            Raised.by(
                failure.error,
                wanted=f"a str or None from {subject.hook('recall')} for every conversation",
                hook=subject.hook("recall"),
                given=conversation,
            ),
            operation="recall",
            requirement=spec.role("any_conversation"),
        ) from None


# -- snapshots -------------------------------------------------------------------------------------

# Lists of messages as a host hands them over, and how two of them differ.


Messages = list[dict[str, Any]]


class _Run(Protocol):
    """Members that are needed of a `Run`."""

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
    """Messages that a Hermes host hands over as they are: parts, and those with only tool calls."""
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
    """The change of a list, in words."""
    if len(before) != len(after):
        return f"{len(before)} messages became {len(after)}"
    changed = next(i for i, message in enumerate(before) if message != after[i])
    return f"message {changed}, {show(before[changed])}, became {show(after[changed])}"
