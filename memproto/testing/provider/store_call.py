"""
The call of a tool that asks to store a text, made up from the schemas by which tools are offered.

The text may be an argument of its own, or stand inside of one: in an object, in a list of texts, or
in a list of objects such as messages. A tool may keep each text under a name that the call gives;
so two texts get two names, and the second takes the place of no other.
"""

import re
import zlib
from typing import Any

#: Words in a tool's name that say that it stores.
_STORING = ("add", "remember", "store", "save", "retain", "conclude", "write", "create", "memory")

#: Names of what carries the text to store, the likeliest first.
_TEXTS = ("content", "text", "fact", "memory", "note", "conclusion", "observation", "data")

#: Names of arguments that hold several of them.
_MANY = (
    *("contents", "texts", "facts", "memories", "notes", "conclusions", "observations"),
    *("messages", "items", "entries", "records", "data"),
)

#: Names of arguments that hold one of them in an object.
_ONE = (*_TEXTS, "message", "item", "entry", "record", "input", "payload", "document")

#: Values of an enumerated argument that ask for storing.
_STORING_VALUES = ("add", "store", "save", "remember", "create", "write", "retain")

#: A tool that takes an object stores where its name says so in a word of its own.
_SAYS_STORE = {*_STORING, "insert", "upsert", "record", "ingest", "capture", "put"} - {"memory"}
_SAYS_ELSE = {"search", "find", "get", "list", "query", "recall", "read", "delete", "remove"}
_SAYS_ELSE |= {"forget", "update", "edit", "replace"}

#: First words of a description that says that the tool stores, each also with an s behind it.
_DOES_STORE = {"add", "keep", "memorize", "persist", "remember", "save", "store", "write"}

#: Words in the name of an argument under which a tool may keep the text.
_NAMING = {"name", "key", "id", "title", "slug", "label", "path", "file", "filename"}

#: Words beside them; in `user_id` and `session_name` it is no text that is named.
_NAMED = {"note", "memory", "fact", "entry", "item", "record", "document", "doc", "page", "entity"}

#: Words in the name of an argument that carries something else than a text to store.
_NO_TEXT = _NAMING | {
    *("url", "uri", "link", "query", "question", "date", "time", "tag", "topic", "category"),
    *("kind", "type", "scope", "target", "role", "status", "user", "session", "agent", "peer"),
    *("entity", "relation", "subject", "object", "source", "namespace", "collection"),
}

#: Keys of a schema by which an argument does not take any text.
_LIMITING = frozenset({"pattern", "format", "const", "maxLength"})

#: Letters for the digits of a number, since a name may be limited to letters.
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")

#: A tool whose argument is the text is likelier than one that takes it in an object.
_INSIDE = 200

#: So is one whose argument has a name that is known.
_UNNAMED = 400

#: Deeper than any tool that a model can be expected to call.
_MOST_LEVELS = 3


def storing_call(schemas: Any, text: str) -> tuple[str, dict[str, Any]] | None:
    """The name and arguments of a tool call that asks to store `text`, or None."""
    ranked: list[tuple[int, str, dict[str, Any]]] = []
    for schema in schemas if isinstance(schemas, list) else []:
        arguments = _arguments(schema, text)
        if arguments is not None:
            rank = _rank(schema, arguments) + (0 if text in arguments.values() else _INSIDE)
            rank += 0 if {*arguments} & {*_ONE, *_MANY} else _UNNAMED
            ranked.append((rank, str(schema["name"]), arguments))
    if not ranked:
        return None
    _, name, arguments = min(ranked, key=lambda row: row[0])
    return name, arguments


def _rank(schema: dict[str, Any], arguments: dict[str, Any]) -> int:
    name = str(schema["name"]).lower()
    positions = [place for place, word in enumerate(_STORING) if word in name]
    asks = any(value in _STORING_VALUES for value in arguments.values() if isinstance(value, str))
    return min(positions, default=99) - (20 if asks else 0)


def _arguments(schema: Any, text: str) -> dict[str, Any] | None:
    """Arguments that store `text`, or None where the schema does not look like a storing tool."""
    if not isinstance(schema, dict) or not isinstance(schema.get("parameters"), dict):
        return None
    parameters = schema["parameters"]
    properties = parameters.get("properties")
    if not isinstance(properties, dict) or not _stores(schema, properties):
        return None
    known = {name: _plain(item, parameters) for name, item in properties.items()}
    carrier = _carrier(known, text)
    if not carrier and _says_store(schema, known):
        carrier = _holder(known, text)
    if not carrier and (_says_store(schema, known) or _is_described(schema)):
        carrier = _only(known, parameters.get("required"), text)
    if not carrier:
        return None
    required = parameters.get("required") or []
    asked = [*required, *(key for key in known if key in ("action", "target"))]
    rest = {name: _value(known.get(name), name, text) for name in asked if name not in carrier}
    return carrier | rest


def _stores(schema: dict[str, Any], properties: dict[str, Any]) -> bool:
    name = str(schema.get("name", "")).lower()
    values = [value for item in properties.values() for value in _choices(item)]
    words = {*_STORING, *_SAYS_STORE}
    is_named = any(word in name for word in words)
    return is_named or any(v in _STORING_VALUES for v in values) or _is_described(schema)


def _is_described(schema: dict[str, Any]) -> bool:
    """True if a tool whose name says nothing of the kind is said to store, as in "Keeps a note"."""
    if set(_words(str(schema.get("name", "")))) & _SAYS_ELSE:
        return False
    first = next(iter(_words(str(schema.get("description", "")))), "")
    return bool({first, first.removesuffix("s")} & _DOES_STORE)


def _says_store(schema: dict[str, Any], properties: dict[str, Any]) -> bool:
    """True if the name, or a choice, says so plainly enough for a text inside of something."""
    words = set(_words(str(schema.get("name", ""))))
    asks = any(v in _STORING_VALUES for item in properties.values() for v in _choices(item))
    return asks or (bool(words & _SAYS_STORE) and not words & _SAYS_ELSE)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def _carrier(properties: dict[str, Any], text: str) -> dict[str, Any]:
    """The argument that is the text; {} where there is none."""
    named = next((name for name in _TEXTS if _is_text(properties.get(name))), None)
    return {} if named is None else {named: text}


def _only(properties: dict[str, Any], required: Any, text: str) -> dict[str, Any]:
    """The one argument that is asked for, whatever its name, if it may be any text; else {}."""
    if not isinstance(required, list) or len(required) != 1:
        return {}
    item = properties.get(required[0])
    if not isinstance(item, dict) or not _is_text(item) or _LIMITING.intersection(item):
        return {}
    return {} if _NO_TEXT.intersection(_words(required[0])) else {required[0]: text}


def _holder(properties: dict[str, Any], text: str, level: int = 1) -> dict[str, Any]:
    """The argument in which the text stands; {} where there is none."""
    for name in (*_ONE, *_MANY) if level <= _MOST_LEVELS else ():
        item = properties.get(name)
        if not isinstance(item, dict):
            continue
        inside = _holding(item, name, text, level)
        if inside is not None:
            return {name: inside}
    return {}


def _holding(item: dict[str, Any], name: str, text: str, level: int) -> Any:
    """An object or a list that holds the text, as the schema of the argument says; else None."""
    if item.get("type") == "array" and name in _MANY:
        one = _plain(item.get("items"), item)
        if _is_text(one):
            return [text]
        inside = _filled(one, text, level)
        return None if inside is None else [inside]
    return _filled(item, text, level)


def _filled(item: dict[str, Any], text: str, level: int) -> dict[str, Any] | None:
    """An object with the text in it and all that is required beside it; None for no such object."""
    properties = item.get("properties")
    if not isinstance(properties, dict):
        return None
    known = {name: _plain(inner, item) for name, inner in properties.items()}
    carrier = _carrier(known, text) or _holder(known, text, level + 1)
    if not carrier:
        return None
    required = item.get("required") or []
    rest = {name: _value(known.get(name), name, text) for name in required if name not in carrier}
    # A message is the user's, where it has to be somebody's.
    return carrier | rest | ({"role": "user"} if "role" in known else {})


# -- schemas ---------------------------------------------------------------------------------------


def _plain(item: Any, parent: dict[str, Any]) -> dict[str, Any]:
    """A schema without references and without null among its alternatives; `$defs` go along."""
    item = item if isinstance(item, dict) else {}
    defined = parent.get("$defs") or parent.get("definitions") or {}
    name = str(item.get("$ref", "")).rpartition("/")[2]
    if name and isinstance(defined.get(name), dict):
        item = defined[name]
    for options in (item.get("anyOf"), item.get("oneOf")):
        real = [one for one in options or [] if isinstance(one, dict) and one.get("type") != "null"]
        if real and not item.get("type"):
            return _plain(real[0], {"$defs": defined})
    kinds = item.get("type")
    if isinstance(kinds, list):
        item = {**item, "type": next((kind for kind in kinds if kind != "null"), "string")}
    return {"$defs": defined, **item} if defined else item


def _choices(item: Any) -> list[Any]:
    values = item.get("enum") if isinstance(item, dict) else None
    return values if isinstance(values, list) else []


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "string" and not _choices(item)


def _value(item: Any, name: str, text: str) -> Any:
    """A plain value of an argument beside the text; for one that may name it, the text's own."""
    known = _choices(item)
    if known:
        return next((value for value in known if value in _STORING_VALUES), known[0])
    kind = item.get("type") if isinstance(item, dict) else "string"
    samples: dict[Any, Any] = {
        "integer": 1,
        "number": 1.0,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return samples.get(kind, _name_of(text) if _may_name(item, name) else "note")


def _may_name(item: Any, name: str) -> bool:
    """True if an argument may be the name under which a text is kept, and takes any word."""
    limits = _LIMITING.intersection(item or {})
    words = set(_words(name))
    return not limits and bool(words & _NAMING) and words <= _NAMING | _NAMED


def _name_of(text: str) -> str:
    """The same name for the same text; of letters alone."""
    return "note" + f"{zlib.crc32(text.encode('utf-8', 'replace')):08x}".translate(_LETTERS)
