"""The `memory` tool: what the model is told about it, and what a call does."""

import json
from collections.abc import Mapping
from typing import Any

from memproto.errors import ProviderError, Rejected, WriteRefused

from .edits import Ambiguous, Outcome
from .store import Store

#: The tool's name. Hosts keep it for the built-in memory.
NAME = "memory"

#: The actions that change a file.
WRITE_ACTIONS = ("add", "replace", "remove")

TARGETS = ("memory", "user")

_PREVIEW_CHARS = 240

_DESCRIPTION = """\
Keep what will still matter in later sessions. There are two small files; what they held at the \
start of this session stands in your instructions, each under a header that shows how full it is, \
for example [68% — 1,496/2,200 chars].

target "memory": your own notes - the environment, conventions of a project, oddities of a tool, \
what took effort to find out.
target "user": the person - preferences, way of working, tone, corrections you were given.

Actions
add: store `content` as a new entry.
replace: put `content` in the place of the entry that `old_text` quotes.
remove: delete the entry that `old_text` quotes.
read: list what is stored now. The text in your instructions does not change during a session; \
read shows your later writes.

`old_text` is a few words that occur in one entry only. If they occur in several, nothing is \
changed and the answer lists those entries: call again with a longer quotation, or with the whole \
entry.

Save without being asked when the user states a preference or corrects you, when you learn \
something about the environment that was not obvious, or when a way of working has proved itself. \
Save at once when asked to remember something.
Do not save passwords, keys or tokens; what concerns this task only; what can be looked up again \
in a moment; a whole procedure, where there is a better place for one.

Write one short, self-contained statement per entry. Prefer replace to remove and add. Above 80% \
merge related entries and drop stale ones before you add; a write that does not fit is refused \
with the present usage, and nothing is ever deleted to make room.
"""

_SCHEMA: dict[str, Any] = {
    "name": NAME,
    "description": _DESCRIPTION.strip(),
    "parameters": {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": [*WRITE_ACTIONS, "read"],
                "description": "The thing to do.",
            },
            "target": {
                "type": "string",
                "enum": list(TARGETS),
                "description": "The file: your notes, or what you know about the user.",
            },
            "content": {
                "type": "string",
                "description": "The text of the entry. Needed by add and replace.",
            },
            "old_text": {
                "type": "string",
                "description": "Words from the one entry that is meant. Needed by replace and "
                "remove.",
            },
        },
        "required": ["action", "target"],
    },
}


def schema() -> dict[str, Any]:
    """The tool's function schema; a fresh copy, the same in every session."""
    copy: dict[str, Any] = json.loads(json.dumps(_SCHEMA))
    return copy


def call(stores: Mapping[str, Store], tool_name: object, args: object) -> str:
    """
    The answer to one call, a JSON document; a refusal is an answer too.

    Arguments that the schema does not name are ignored: none of them can choose another user.
    """
    try:
        if tool_name != NAME:
            raise Rejected(f"there is no tool of this name here; the one there is: {NAME}")
        return as_json(_answer(stores, args))
    except ProviderError as refusal:
        return as_json(_refused(refusal))


def write(
    stores: Mapping[str, Store], action: object, target: object, content: object, old_text: object
) -> Outcome:
    """
    Do one write action.

    Raises:
        Rejected: An argument is missing, of the wrong type, or names nothing that there is.
        WriteRefused: The target is switched off, or the edit is refused.
        TooLarge: The content alone is over the limit.
        Unavailable: The file system refuses.

    """
    if action not in WRITE_ACTIONS:
        raise Rejected(f"action is not one of {', '.join(WRITE_ACTIONS)}")
    store = _store(stores, target)
    if action == "add":
        return store.add(_text("content", content))
    snippet = _text("old_text", old_text)
    if action == "replace":
        return store.replace(snippet, _text("content", content))
    return store.remove(snippet)


def as_json(value: object) -> str:
    """`value` as JSON: readable where the text can leave as UTF-8, escaped where it cannot."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def _answer(stores: Mapping[str, Store], args: object) -> dict[str, Any]:
    if not isinstance(args, Mapping):
        raise Rejected("the arguments are not an object with action and target")
    action, target = args.get("action"), args.get("target")
    if action == "read":
        return _state(_store(stores, target), target)
    if action not in WRITE_ACTIONS:
        raise Rejected(f"action is not one of {', '.join(WRITE_ACTIONS)}, read")
    # Some prompts know the text of a replacement as new_content.
    content = args.get("content", args.get("new_content"))
    outcome = write(stores, action, target, content, args.get("old_text"))
    usage = _store(stores, target).usage(outcome.entries)
    count = len(outcome.entries)
    return _ok(target, note=outcome.note, usage=usage, entry_count=count)


def _state(store: Store, target: object) -> dict[str, Any]:
    entries = store.read()
    contents = [entry.content for entry in entries]
    return _ok(target, usage=store.usage(entries), entry_count=len(entries), entries=contents)


def _ok(target: object, **rest: object) -> dict[str, Any]:
    return {"success": True, "target": target, **rest}


def _refused(refusal: ProviderError) -> dict[str, Any]:
    answer: dict[str, Any] = {"success": False, "error": str(refusal)}
    if isinstance(refusal, Ambiguous):
        answer["matches"] = [_preview(content) for content in refusal.matches]
    return answer


def _preview(content: str) -> str:
    if len(content) <= _PREVIEW_CHARS:
        return content
    return f"{content[:_PREVIEW_CHARS]}… ({len(content):,} characters)"


def _store(stores: Mapping[str, Store], target: object) -> Store:
    if target not in TARGETS:
        raise Rejected(f"target is not one of {', '.join(TARGETS)}")
    if target not in stores:
        raise WriteRefused(f"the target {target} is switched off in the configuration")
    return stores[str(target)]


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        raise Rejected(f"{name} is missing")
    raise Rejected(f"{name} is {type(value).__name__}, not text")
