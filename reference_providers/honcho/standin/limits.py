"""The server's refusals and their words: statuses and limits as they were measured."""

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

ID = re.compile(r"[a-zA-Z0-9_-]+")
PATTERN = "^[a-zA-Z0-9_-]+$"

MAX_ID, MAX_CONTENT, MAX_QUERY = 512, 25_000, 10_000
MAX_MESSAGES, MAX_PAGE, MAX_FOUND, MAX_OBSERVERS = 100, 100, 100, 10
LEVELS = ("minimal", "low", "medium", "high", "max")
MAX_CONTEXT_TOKENS, MAX_EMBEDDED_TOKENS = 100_000, 8_192

#: Texts that the tokenizer of a request takes for its own signs, wherever they stand; and those
#: that the one of the embeddings does.
SPECIAL = ("<|endoftext|>", "<|endofprompt|>")
EMBEDDED_SPECIAL = (*SPECIAL, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")

_WORD = re.compile(r"\w+|[^\w\s]")
_WORD_CHARS_IN_A_TOKEN = 6

#: Such a character has four bytes in UTF-8, and about as many tokens.
_FAR = re.compile("[\U00010000-\U0010ffff]")
_FAR_TOKENS = 4


class Refused(Exception):
    """An answer other than success: the status, and `detail` as the server words it."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(status)
        self.status = status
        self.detail = detail


def invalid(kind: str, loc: Iterable[Any], msg: str, given: Any, **ctx: Any) -> Refused:
    """A 422 with a list, which repeats what the client sent."""
    fault = {"type": kind, "loc": list(loc), "msg": msg, "input": given}
    return Refused(422, [{**fault, "ctx": ctx} if ctx else fault])


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    near = _FAR.sub(" ", text)
    far = len(_FAR.findall(text))
    words = sum(-(-len(word) // _WORD_CHARS_IN_A_TOKEN) for word in _WORD.findall(near))
    return words + _FAR_TOKENS * far


def body(given: Any, kind: type = dict) -> Any:
    """The body of a request, where it is of the kind that the route takes."""
    if isinstance(given, kind):
        return given
    if given is None:
        raise invalid("missing", ["body"], "Field required", None)
    name = "dictionary" if kind is dict else "list"
    raise invalid(f"{kind.__name__}_type", ["body"], f"Input should be a valid {name}", given)


def text(
    given: Mapping[str, Any], key: str, at: Iterable[Any] = (), *, least: int = 0, most: int = 0
) -> str:
    """A text of the body, or a 422 that says what is wrong with it."""
    loc = ["body", *at, key]
    if key not in given:
        raise invalid("missing", loc, "Field required", dict(given))
    value = given[key]
    if not isinstance(value, str):
        raise invalid("string_type", loc, "Input should be a valid string", value)
    if len(value) < least:
        says = f"String should have at least {least} character{'s'[: least > 1]}"
        raise invalid("string_too_short", loc, says, value, min_length=least)
    if most and len(value) > most:
        says = f"String should have at most {most} characters"
        raise invalid("string_too_long", loc, says, value, max_length=most)
    return value


def peers(names: Iterable[str]) -> None:
    """Refuse names of peers that are none, by name."""
    given = list(names)
    if wrong := [each for each in given if not ID.fullmatch(each)]:
        raise Refused(422, f"Peer name(s) {wrong!r} must match pattern {PATTERN}")
    if wrong := [each for each in given if len(each) > MAX_ID]:
        raise Refused(422, f"Peer name(s) {wrong!r} must be at most {MAX_ID} characters")


def name(given: Any, key: str = "id", at: Iterable[Any] = ()) -> str:
    """An id of a workspace, a peer or a session."""
    value = text(body(given), key, at, least=1, most=MAX_ID)
    if not ID.fullmatch(value):
        says = f"String should match pattern '{PATTERN}'"
        raise invalid("string_pattern_mismatch", ["body", *at, key], says, value, pattern=PATTERN)
    return value


def number(query: Mapping[str, str], key: str, default: int, most: int) -> int:
    """A whole number of the query string, from 1 to `most`."""
    if key not in query:
        return default
    given, loc = query[key], ["query", key]
    if not given.lstrip("-").isdigit():
        says = "Input should be a valid integer, unable to parse string as an integer"
        raise invalid("int_parsing", loc, says, given)
    value = int(given)
    if value > most:
        says = f"Input should be less than or equal to {most}"
        raise invalid("less_than_equal", loc, says, given, le=most)
    if value < 1:
        says = "Input should be greater than or equal to 1"
        raise invalid("greater_than_equal", loc, says, given, ge=1)
    return value


def count(given: Mapping[str, Any], key: str, default: int, most: int) -> int:
    """A whole number of the body, from 1 to `most`."""
    value = given.get(key)
    value = default if value is None else value
    if not isinstance(value, int) or not 1 <= value <= most:
        says = f"Input should be less than or equal to {most}"
        raise invalid("less_than_equal", ["body", key], says, value, le=most)
    return value


def listed(given: Mapping[str, Any], key: str) -> list[Any]:
    """A list of the body, of 1 to 100 parts."""
    if key not in given:
        raise invalid("missing", ["body", key], "Field required", dict(given))
    parts = given[key]
    if not isinstance(parts, list):
        raise invalid("list_type", ["body", key], "Input should be a valid list", parts)
    number_of, loc = len(parts), ["body", key]
    lengths = {"field_type": "List", "actual_length": number_of}
    if not number_of:
        says = "List should have at least 1 item after validation, not 0"
        raise invalid("too_short", loc, says, parts, min_length=1, **lengths)
    if number_of > MAX_MESSAGES:
        says = f"List should have at most {MAX_MESSAGES} items after validation, not {number_of}"
        raise invalid("too_long", loc, says, parts, max_length=MAX_MESSAGES, **lengths)
    return parts


def no_special_tokens(parts: list[Any], key: str) -> None:
    """Refuse the whole of `parts` where the content of one holds a special token."""
    faults = []
    for index, part in enumerate(parts):
        found = next((token for token in SPECIAL if token in part["content"]), None)
        if found is not None:
            says = f"Value error, {_disallowed(found)}"
            loc = ["body", key, index]
            error = {"type": "value_error", "loc": loc, "msg": says, "input": part}
            faults.append({**error, "ctx": {"error": {}}})
    if faults:
        raise Refused(422, faults)


def no_embedded_token(content: str) -> None:
    """Refuse a content that only the tokenizer of the embeddings refuses."""
    found = next((sign for sign in EMBEDDED_SPECIAL if sign in content), None)
    if found is not None:
        raise Refused(422, _disallowed(found))


def _disallowed(sign: str) -> str:
    return f"Encountered text corresponding to disallowed special token {sign!r}."


def embeddable(parts: list[Any], key: str) -> None:
    """Refuse `parts` where the content of one is too long to be embedded."""
    for index, part in enumerate(parts):
        size = tokens(part["content"])
        if size > MAX_EMBEDDED_TOKENS:
            says = f"maximum embedding token limit of {MAX_EMBEDDED_TOKENS} (got {size} tokens)"
            loc, says = ["body", key, index], f"Value error, Content exceeds {says}"
            raise invalid("value_error", loc, says, part, error={})


def query(text: str) -> None:
    """Refuse a query that cannot be embedded: whatever the fault is, it is told as one of size."""
    if tokens(text) > MAX_EMBEDDED_TOKENS or is_special(text) or has_half(text):
        raise unembedded()


def unembedded() -> Refused:
    """A query that was not embedded."""
    return Refused(422, f"Query exceeds maximum token limit of {MAX_EMBEDDED_TOKENS}.")


def broken() -> Refused:
    """An error that the server did not foresee."""
    return Refused(500, "An unexpected error occurred")


def is_special(text: str) -> bool:
    """True if the tokenizer of the embeddings refuses a text."""
    return any(sign in text for sign in EMBEDDED_SPECIAL)


def has_half(value: Any) -> bool:
    """True if there is half of a character in a JSON value, which no database stores."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def without_nul(value: Any) -> Any:
    """A JSON value as the server stores it: no text in it has a NUL."""
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, dict):
        return {without_nul(key): without_nul(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_nul(part) for part in value]
    return value


def moment(given: Mapping[str, Any], at: Iterable[Any]) -> str | None:
    """`created_at` as the server answers it; None if there is none."""
    value = given.get("created_at")
    if value is None:
        return None
    try:
        read = _moment(value)
    except (ValueError, OverflowError):
        told = "input is too short" if len(str(value)) < len("2026-01-01") else "invalid character"
        says = f"Input should be a valid datetime or date, {told}"
        loc = ["body", *at, "created_at"]
        raise invalid("datetime_from_date_parsing", loc, says, value, error=told) from None
    return read.isoformat().replace("+00:00", "Z")


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, int | float) or (isinstance(value, str) and value.isdigit()):
        return dt.datetime.fromtimestamp(float(value), dt.UTC)
    return dt.datetime.fromisoformat(str(value))


def level(given: Mapping[str, Any]) -> None:
    """Refuse a level of thought that there is not."""
    value = given.get("reasoning_level")
    if value is None or value in LEVELS:
        return
    *first, last = (repr(each) for each in LEVELS)
    says = f"{', '.join(first)} or {last}"
    loc = ["body", "reasoning_level"]
    raise invalid("literal_error", loc, f"Input should be {says}", value, expected=says)


def observers(session: str, peers: Mapping[str, Any]) -> None:
    """Refuse a session in which too many peers observe others."""
    number_of = sum(bool((given or {}).get("observe_others")) for given in peers.values())
    if number_of > MAX_OBSERVERS:
        says = f"Maximum allowed is {MAX_OBSERVERS} observers per session."
        told = f"Cannot create session {session} with {number_of} observers. {says}"
        raise Refused(400, told)


def absent(what: str, named: str, workspace: str) -> Refused:
    """A 404 that names what is not there."""
    return Refused(404, f"{what} {named} not found in workspace {workspace}")
