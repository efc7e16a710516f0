"""The two tools: what a model may look for, and what it may keep."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from memproto.errors import ProviderError, Rejected
from memproto.reference_providers import asked

from .daemon import Thought
from .recall import excerpt, label

#: Types of a thought as daemons know them, and names by which models were told to ask for some.
TYPES = (
    "FactLearned",
    "LessonLearned",
    "Decision",
    "Finding",
    "Insight",
    "Summary",
    "PreferenceUpdate",
    "Constraint",
    "Plan",
    "Hypothesis",
)
_OTHERS = {"Fact": "FactLearned", "Observation": "Finding", "Reference": "Insight"}

_MOST, _USUAL = 25, 8

#: Characters that one answer may hold, and one hit of it.
_ANSWER_CHARS, _HIT_CHARS = 24_000, 3_000

_TAG_CHARS, _MOST_TAGS = 64, 16

SCHEMAS: list[dict[str, Any]] = [
    {
        "name": "mentisdb_recall",
        "description": "Search long-term memory for a past decision, fact or lesson."
        " Answers the best hits first, each with its type, its time and its text.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Things to look for, in a few words."},
                "limit": {
                    "type": "integer",
                    "description": f"The most hits; {_USUAL} if left out, {_MOST} at most.",
                },
            },
            "required": ["query"],
        },
    },
    {
        "name": "mentisdb_store",
        "description": "Keep a fact, a lesson or a decision for later sessions.",
        "parameters": {
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "The text, in whole sentences."},
                "thought_type": {
                    "type": "string",
                    "description": "The kind of thought; LessonLearned where it is left out.",
                    "enum": list(TYPES),
                },
                "tags": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Words to file it under.",
                },
            },
            "required": ["content"],
        },
    },
]

NAMES = [schema["name"] for schema in SCHEMAS]

Search = Callable[[str, int], list[Thought]]
Store = Callable[[str, str, list[str]], bool]


def call(search: Search, store: Store, name: object, args: object) -> str:
    """
    Serve one call; gives one JSON document, in ASCII, errors included.

    Args:
        search: Gives what is found for a question, so many at most.
        store: Keeps content of a type with tags; whether the daemon has confirmed it.
        name: The tool.
        args: Its arguments, as a model wrote them.

    """
    try:
        answer = {"success": True, **_served(search, store, name, args)}
    except ProviderError as error:
        answer = {"success": False, "error": str(error)}
    return json.dumps(answer)


def _served(search: Search, store: Store, name: object, args: object) -> dict[str, Any]:
    if name not in NAMES:
        raise Rejected(f"there is no tool {name!r}; there are {', '.join(NAMES)}")
    if not isinstance(args, Mapping):
        raise Rejected(f"{name} takes an object of arguments")
    if name == "mentisdb_recall":
        return _recall(search, args)
    return _store(store, args)


def _recall(search: Search, args: Mapping[str, Any]) -> dict[str, Any]:
    query = _text(args, "query")
    hits: list[dict[str, Any]] = []
    left = _ANSWER_CHARS
    for thought in search(query, asked.limit(args.get("limit"), usual=_USUAL, most=_MOST)):
        text = excerpt(thought["content"], query, _HIT_CHARS)
        left -= len(text)
        if left >= 0:
            hits.append({"type": label(thought), "time": _time(thought), "text": text})
    return {"count": len(hits), "results": hits}


def _store(store: Store, args: Mapping[str, Any]) -> dict[str, Any]:
    content = _text(args, "content")
    kind = args.get("thought_type") or "LessonLearned"
    kind = _OTHERS.get(kind, kind) if isinstance(kind, str) else kind
    if kind not in TYPES:
        raise Rejected(f"thought_type is {kind!r}, and not one of {', '.join(TYPES)}")
    is_stored = store(content, kind, _tags(args.get("tags")))
    return {"status": "stored" if is_stored else "queued until the daemon answers"}


def _text(args: Mapping[str, Any], key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Rejected(f"{key} is missing: a text that is not empty")
    return value


def _tags(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise Rejected("tags is no list of texts")
    return [tag[:_TAG_CHARS] for tag in value if tag.strip()][:_MOST_TAGS]


def _time(thought: Thought) -> str | None:
    time = thought.get("timestamp")
    return time if isinstance(time, str) else None
