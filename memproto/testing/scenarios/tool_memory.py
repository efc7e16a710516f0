"""
Tools that show what is stored and tools that forget it: recognised, and called as they ask.

A tool is known by the words of its name or of its choices, and what it needs to know which entry is
meant is looked for in the answers of the others.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

from memproto.adapters import tool_results
from memproto.testing.facts import Fact
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import tool_calls
from memproto.testing.scenarios.tool_calls import Tool

_FINDS = frozenset({"search", "recall", "list", "find", "query", "read", "lookup", "get"})
_FORGETS = frozenset({"delete", "remove", "forget", "erase"})
_CHANGES = frozenset(
    {"update", "edit", "replace", "modify", "correct", "rewrite", "amend", "revise"}
)

#: A tool that is called so keeps the text elsewhere, whatever its description begins with.
_SETS_ASIDE = frozenset({"archive", "hide", "move", "unpin", "unlink", "detach", "close"})

#: Beside the words of the tool that stored, these say nothing of another place than its own.
_SAME_PLACE = frozenset({"memory", "memories", "note", "notes", "fact", "facts", "entry", "item"})
_SAME_PLACE |= {"entries", "items", "conclusion", "observation", "record", "by", "id", "text"}

#: Nouns for what is stored; two descriptions that share one speak of the same thing.
_STORED = frozenset({"memory", "note", "fact", "entry", "item", "conclusion", "observation"})

_FORGOTTEN = frozenset({"deleted", "removed", "forgotten", "forgot", "erased", "gone"})
_FORGOTTEN_KEYS = frozenset({*_FORGOTTEN, "success", "ok", "deleted_count", "removed_count"})
_NOT = frozenset({"not", "no", "nothing", "never", "cannot", "none", "0"})

_CHANGED = frozenset({"updated", "edited", "replaced", "modified", "corrected", "changed", "saved"})
_CHANGED_KEYS = frozenset({*_CHANGED, "success", "ok"})

#: Arguments that hold the text that is to stand there from now on, the plainest first.
_NEW_TEXTS = ("new_text", "new_content", "content", "text", "fact", "memory", "note", "value")

_BY_TEXT = ("old_text", "text", "content", "fact", "memory", "note", "match", "snippet", "query")
_IDS = ("id", "uuid", "key")


def finding(tools: list[Tool], fact: Fact) -> list[tuple[str, dict[str, Any]]]:
    """Calls that look as if they showed what is stored about the fact's question."""
    calls = []
    for tool in tools:
        for chosen in _asks(tool, _FINDS):
            needed = {
                n: i for n, i in tool.properties.items() if n in tool.required or n == "query"
            }
            filled = {
                name: tool_calls.plain(name, item, fact.query) for name, item in needed.items()
            }
            calls.append((tool.name, {**filled, **chosen}))
    return calls


def _asks(tool: Tool, words: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The choices by which a tool is asked for what one of the words says; {} if its name says."""
    for name, item in tool.properties.items():
        for value in tool_calls.choices(item):
            if (
                isinstance(value, str)
                and words.intersection(tool_calls.split(value))
                and len(value) < 20
            ):
                yield {name: value}
                return
    if words & tool.words:
        yield {}


def forgetting(
    tools: list[Tool], stored_by: str, fact: Fact, told: list[Any]
) -> tuple[str, dict[str, Any], str] | None:
    """
    A call that asks to forget the fact: the tool, its arguments, and "id" or "text"; or None.

    `told` are the answers in which the fact's id may stand: first that of the call which stored it.
    A tool whose name speaks of another place than that of `stored_by` is left out. One whose name
    says neither is known by the first word of its description, as in "Forgets the note".
    """
    found = []
    near = _SAME_PLACE | _FORGETS | set(tool_calls.split(stored_by))
    kept = {noun for one in tools if one.name == stored_by for noun in _nouns(one)}
    for tool in tools:
        is_near = tool.words <= near or tool.name == stored_by
        ways = _asks(tool, _FORGETS) if is_near else _told_to(tool, _FORGETS, kept)
        for chosen in ways:
            for how, named in _named(tool, fact, told):
                rest = _agreed(tool) | chosen
                if set(tool.required) <= {*rest, *named}:
                    found.append((tool.name, {**rest, **named}, how))
    return min(found, key=lambda row: row[2], default=None)


def may_change(tools: list[Tool]) -> bool:
    """True if the name of a tool, or of one of its choices, says that it changes something."""
    return any(True for tool in tools for _ in _asks(tool, _CHANGES))


def changing(
    tools: list[Tool], stored_by: str, fact: Fact, text: str, told: list[Any]
) -> tuple[str, dict[str, Any]] | None:
    """
    A call that asks to have `text` in the place of the fact's; or None.

    `told` are answers as `forgetting` reads them. Only a tool counts whose name, or that of one of
    its choices, says that it changes what the tool `stored_by` stores.
    """
    near = _SAME_PLACE | _CHANGES | set(tool_calls.split(stored_by))
    for tool in tools:
        for chosen in _asks(tool, _CHANGES) if tool.words <= near or tool.name == stored_by else ():
            for _, named in _named(tool, fact, told):
                put = [name for name in _NEW_TEXTS if name in tool.properties and name not in named]
                put = [name for name in put if tool_calls.is_free_text(name, tool.properties[name])]
                filled = _agreed(tool) | named | dict.fromkeys(put[:1], text) | chosen
                if put and set(tool.required) <= set(filled):
                    return tool.name, filled
    return None


def _told_to(tool: Tool, words: frozenset[str], kept: set[str]) -> Iterator[dict[str, Any]]:
    """{} if a tool's description begins with one of the words, and says it of what is kept."""
    first = next(iter(tool_calls.split(tool.description)), "")
    says_else = tool.words & (_FINDS | _FORGETS | _SETS_ASIDE)
    if not says_else and {first, first.removesuffix("s")} & words and _nouns(tool) & kept:
        yield {}


def _nouns(tool: Tool) -> set[str]:
    """The nouns of a description for what is stored, in the singular."""
    said = tool_calls.split(tool.description)
    return {word.replace("ies", "y").removesuffix("s") for word in said} & _STORED


def _agreed(tool: Tool) -> dict[str, Any]:
    """The arguments that are no names of what is meant: switches, choices, with a yes to each."""
    sure = {n: True for n, i in tool.properties.items() if tool_calls.kind(i) == "boolean"}
    dry = {
        n: False for n in sure if {"dry", "preview", "simulate", "all"} & set(tool_calls.split(n))
    }
    picked = {
        name: tool_calls.plain(name, item)
        for name, item in tool.properties.items()
        if tool_calls.choices(item) and (name in tool.required or name == "target")
    }
    return {**sure, **dry, **picked}


def _named(tool: Tool, fact: Fact, told: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, item in tool.properties.items():
        if tool_calls.split(name)[-1:] in ([one] for one in (*_IDS, "ids")):
            many = tool_calls.kind(item) == "array"
            for value in _ids(name.removesuffix("s") if many else name, fact, told)[:1]:
                yield "id", {name: [value] if many else value}
    for name in _BY_TEXT:
        if name in tool.properties and tool_calls.is_free_text(name, tool.properties[name]):
            yield "text", {name: fact.text}


def _ids(name: str, fact: Fact, told: list[Any]) -> list[Any]:
    stored, *shown = [_parsed(answer) for answer in told] or [None]
    near = [item for answer in shown for item in _objects(answer) if _is_about(item, fact)]
    # The innermost object that holds the text is the entry itself.
    near.sort(key=lambda item: len(json.dumps(item)))
    around = [*_objects(stored), *near]
    return [item[key] for item in around for key in (name, *_IDS) if _is_id(item.get(key))]


def _is_about(item: dict[str, Any], fact: Fact) -> bool:
    return fact.is_in(json.dumps(item))


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _parsed(answer: Any) -> Any:
    try:
        return json.loads(answer)
    except (TypeError, ValueError):
        return None


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    """The objects of a JSON document, the outermost first."""
    if isinstance(document, dict):
        yield document
    inner = document.values() if isinstance(document, dict) else document
    for item in inner if isinstance(document, dict | list) else ():
        yield from _objects(item)


def says_forgotten(answer: Any) -> bool:
    """
    True if an answer says in so many words that something was forgotten.

    `{"status": "not_found"}` is neither an error nor a promise.
    """
    return _says(answer, _FORGOTTEN, _FORGOTTEN_KEYS)


def says_changed(answer: Any) -> bool:
    """True if an answer says in so many words that something has another text now."""
    return _says(answer, _CHANGED, _CHANGED_KEYS)


def _says(answer: Any, words: frozenset[str], keys: frozenset[str]) -> bool:
    document = _parsed(answer)
    told = document.items() if isinstance(document, dict) else [("result", document)]
    done = any(_says_done(key, value, words, keys) for key, value in told)
    return done and not tool_results.refused(answer)


def _says_done(key: str, value: Any, words: frozenset[str], keys: frozenset[str]) -> bool:
    if isinstance(value, str):
        said = set(tool_calls.split(value))
        return bool(words & said) and not _NOT & said
    return key in keys and bool(value)


def counted_none(answer: Any) -> bool:
    """True if an answer says in figures that nothing was removed."""
    words = ("deleted", "removed", "forgotten", "count", "deleted_count", "removed_count")
    items = list(_objects(_parsed(answer)))
    said = [item[word] for item in items for word in words if word in item]
    return any(value is False or value in (0, []) for value in said)


def shown_by_tools(subject: Subject, calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Tool to its answer, for those of the calls that answer at all."""
    answers: dict[str, Any] = {}
    for name, arguments in calls:
        try:
            answers[name] = subject.call_tool(name, copy.deepcopy(arguments))
        except HookRaised as failure:
            tool_calls.is_raised(failure)
    return answers
