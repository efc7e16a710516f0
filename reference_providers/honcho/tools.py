"""The five tools: names, schemas and arguments are those of the integration."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

from memproto.errors import ProviderError

from . import texts
from .live import Live
from .manager import Fault
from .values import LEVELS, Observation

_PEER = {
    "type": "string",
    "description": "The person it is about: user (the default), ai for the assistant, or the name"
    " of another peer where the memory is one person's",
}
_QUERY = {"type": "string", "description": "The thing to look for, in plain words"}

#: For one call together; a question to the server's model takes longer.
_BUDGET_S, _CHAT_S = 8.0, 45.0

_TOKENS, _MOST_TOKENS, _TOKEN_CHARS = 800, 2000, 4


def _schema(name: str, told: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": told, "parameters": parameters}


_TEXT = {"type": "string"}
SCHEMAS: list[dict[str, Any]] = [
    _schema(
        "honcho_profile",
        "Read the card of key facts about the user or the assistant, or replace it.",
        {"card": {"type": "array", "items": _TEXT, "description": "The new facts"}, "peer": _PEER},
    ),
    _schema(
        "honcho_search",
        "Search what was said and concluded; gives excerpts, without a language model.",
        {
            "query": _QUERY,
            "max_tokens": {
                "type": "integer",
                "minimum": 1,
                "maximum": _MOST_TOKENS,
                "description": f"The most tokens to give; {_TOKENS} unless it is said",
            },
            "peer": _PEER,
        },
        "query",
    ),
    _schema(
        "honcho_reasoning",
        "Ask what the memory makes of what it knows; a language model answers, which takes longer.",
        {
            "query": _QUERY,
            "reasoning_level": {
                "type": "string",
                "enum": list(LEVELS),
                "description": "The amount of thought that it is worth",
            },
            "peer": _PEER,
        },
        "query",
    ),
    _schema(
        "honcho_context",
        "Everything that is known at a glance: summary of the session, representation and card.",
        {"peer": _PEER},
    ),
    _schema(
        "honcho_conclude",
        "Store one lasting fact (conclusion), remove one (delete_id), or list them (list);"
        " exactly one of the three.",
        {
            "conclusion": {"type": "string", "description": "The fact, as a whole sentence"},
            "delete_id": {"type": "string", "description": "The id of the fact to remove"},
            "list": {"type": "boolean", "description": "True to list what is stored"},
            "query": {"type": "string", "description": "With list: what to look for"},
            "peer": _PEER,
        },
    ),
]

NAMES = tuple(schema["name"] for schema in SCHEMAS)


class _Wrong(Exception):
    """An argument that does not fit."""


def call(live: Live, name: str, args: Any) -> str:
    """Serve one call; whatever goes wrong is an answer with `error`."""
    serve = _SERVES.get(name)
    if serve is None:
        return _error(f"there is no tool {name[:60]!r}; there are {', '.join(NAMES)}")
    if not isinstance(args, Mapping):
        return _error("the arguments are no object")
    budget_s = _CHAT_S if name == "honcho_reasoning" else _BUDGET_S
    try:
        with live.manager.budget(budget_s):
            return json.dumps(serve(live, args))
    except (_Wrong, Fault, ProviderError) as error:
        return _error(str(error))


def _error(told: str) -> str:
    return json.dumps({"error": told})


def _text(args: Mapping[str, Any], key: str) -> str:
    value = args.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{key} is missing, or no text")
    return value


def _about(args: Mapping[str, Any], *, of_others: bool = False) -> str:
    """The peer that a call is about; one by name if other people's memory may be read."""
    value = args.get("peer") or "user"
    if value in ("user", "ai") or (of_others and isinstance(value, str)):
        return str(value)
    raise _Wrong("peer is neither user nor ai, and no other may be named here")


def _profile(live: Live, args: Mapping[str, Any]) -> dict[str, Any]:
    about, lines = _about(args, of_others=live.is_of_one), args.get("card")
    if lines is not None and not (
        isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    ):
        raise _Wrong("card is no list of texts")
    pair = live.pair(about, _prepared(live))
    if lines is None:
        return {"card": live.manager.card(*pair)}
    live.manager.set_card(*pair, lines)
    live.recall.refresh()
    return {"result": "the card was replaced", "card": lines}


def _search(live: Live, args: Mapping[str, Any]) -> dict[str, Any]:
    query, about = _text(args, "query"), _about(args, of_others=live.is_of_one)
    most = args.get("max_tokens", _TOKENS)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise _Wrong("max_tokens is no number from 1 on")
    observer, observed = live.pair(about, _prepared(live))
    said = live.recall.said(live.place, query)
    known = live.manager.representation(observer, observed, query)
    lines = [*said, *texts.dated(texts.read(known)).splitlines()]
    room = min(most, _MOST_TOKENS) * _TOKEN_CHARS
    return {"result": "\n".join(texts.fitting(lines, room)) or "nothing was found"}


def _reasoning(live: Live, args: Mapping[str, Any]) -> dict[str, Any]:
    query, about = _text(args, "query"), _about(args, of_others=live.is_of_one)
    level = args.get("reasoning_level") or live.settings.level
    if level not in LEVELS:
        raise _Wrong(f"reasoning_level is not one of {', '.join(LEVELS)}")
    pair = live.pair(about, _prepared(live))
    answer = live.manager.chat(*pair, query[: live.settings.query_chars], level, _CHAT_S)
    return {"result": texts.read(answer) or "nothing is known about it"}


def _context(live: Live, args: Mapping[str, Any]) -> dict[str, Any]:
    about = _about(args, of_others=live.is_of_one)
    observer, observed = live.pair(about, _prepared(live))
    known = live.manager.context(live.place.session, observer, observed)
    found = {
        "summary": texts.read(getattr(known.summary, "content", None) or ""),
        "representation": texts.dated(texts.read(known.peer_representation or "")),
        "card": [texts.read(line) for line in known.peer_card or ()],
        "recent_messages": [texts.read(row.content) for row in known.messages[-10:]],
    }
    return {"result": {key: value for key, value in found.items() if value}}


def _conclude(live: Live, args: Mapping[str, Any]) -> dict[str, Any]:
    about = _about(args)
    wanted = [key for key in ("conclusion", "delete_id", "list") if args.get(key)]
    if len(wanted) != 1:
        raise _Wrong("exactly one of conclusion, delete_id and list is needed")
    if wanted == ["conclusion"]:
        item = live.conclude(_text(args, "conclusion"), about)
        if item.state == "waiting":
            return {"result": "accepted; it is stored as soon as the server answers"}
        return {"result": "stored", "id": next(iter(item.body.get("made", ())), "")}
    if wanted == ["delete_id"]:
        return _removed(live, about, _id(args))
    return _listed(live, live.pair(about, _prepared(live)), args)


def _removed(live: Live, about: str, conclusion_id: str) -> dict[str, Any]:
    pair = live.pair(about, _prepared(live))
    try:
        live.manager.remove(*pair, conclusion_id)
    except Fault as fault:
        if fault.kind != "missing" or fault.status != 404:
            raise
        raise _Wrong(f"there is no fact {conclusion_id[:60]!r}; list shows the ids") from None
    live.recall.refresh()
    return {"result": "removed"}


def _id(args: Mapping[str, Any]) -> str:
    value = _text(args, "delete_id")
    # It becomes a part of an address.
    if not all(char.isalnum() or char in "_-" for char in value) or not value.isascii():
        raise _Wrong("delete_id is no id of a conclusion")
    return value


def _listed(live: Live, pair: tuple[str, str], args: Mapping[str, Any]) -> dict[str, Any]:
    query = args.get("query")
    if isinstance(query, str) and query.strip():
        rows, total = live.manager.fitting(*pair, query), 0
    else:
        rows, total = live.manager.conclusions(*pair)
    listed = {"conclusions": [{"id": row.id, "text": texts.read(row.content)} for row in rows]}
    return {**listed, "left_out": total - len(rows)} if total > len(rows) else listed


def _prepared(live: Live) -> Observation:
    """Have the peers, and what was accepted before the call; gives who watches whom."""
    live.sender.wait_idle(2.0)
    return live.manager.ready(dataclasses.asdict(live.place), live.settings.observation)


_SERVES: dict[str, Callable[[Live, Mapping[str, Any]], dict[str, Any]]] = {
    "honcho_profile": _profile,
    "honcho_search": _search,
    "honcho_reasoning": _reasoning,
    "honcho_context": _context,
    "honcho_conclude": _conclude,
}
