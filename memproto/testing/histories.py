"""Conversations as message.schema.json allows them, and recall in the middle of one."""

from typing import Any

from memproto.testing.clauses import Violation
from memproto.testing.subject import HookRaised, Subject
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
    What recall gives for `query` with `messages`, a copy of the named conversation, before it.

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
            f"a str or None from {subject.hook('recall')} for every conversation",
            f"it raised {show(failure.error)} for {conversation}",
            operation="recall",
            requirement="MP-TEXT-001",
        ) from None
