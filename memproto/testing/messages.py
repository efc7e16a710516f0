"""
Messages of a kit child to its parent: their types, and how they are written and read.

A child may be taken over by its target, and then sends anything. So each message is read by the
types of its fields, and one that has others, or more than a child ever tells, is `Unreadable`. The
commands to a child are in `memproto.testing.processes.commands`.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping
from operator import attrgetter, call
from typing import Any, ClassVar, TypeVar

#: A text of a message has at most so many characters, a list or a table so many items. A child
#: cuts its texts to far fewer; it may name thousands of functions of the kit that were replaced.
MOST_CHARS, MOST_ITEMS = 1_000_000, 100_000

#: One row of results, as `Result.as_dict` gives it.
Row = dict[str, Any]


_encode = json.JSONEncoder().encode

#: Writers of the values of which the most frequent messages are made: these need no encoder.
_WRITERS: Mapping[Any, Callable[[Any], str]] = {int: int.__repr__, float: repr, str: _encode}


class Unreadable(ValueError):
    """A message has no kind that there is, or not the fields of its kind."""


class Message:
    """
    One message, or a part of one.

    Attributes:
        FORM: The kind, and then the name of each field. A tuple, so that the watcher of the kit's
            integrity sees one that was replaced.
        LINE: The text of a message of numbers and texts alone, with a place for each; what takes
            the values out of a message; what writes each of them. () for other messages.

    """

    __slots__ = ()
    FORM: ClassVar[tuple[str, ...]] = ()
    LINE: ClassVar[tuple[Any, ...]] = ()


_M = TypeVar("_M", bound=type[Message])


def form(kind: str) -> Callable[[_M], _M]:
    """Note the kind and the fields of a dataclass in its `FORM` and `LINE`."""

    def noted(cls: _M) -> _M:
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        cls.FORM = (kind, *names)
        hints = typing.get_type_hints(cls)
        if names and all(hints[name] in _WRITERS for name in names):
            places = "".join(f', "{name}": %s' for name in names)
            writers = tuple(_WRITERS[hints[name]] for name in names)
            # A getter of one name gives no tuple, so it takes the first one twice.
            take = attrgetter(*names, *names[: len(names) == 1])
            cls.LINE = (f'{{"kind": "{kind}", "pid": %d{places}}}', take, writers)
        return cls

    return noted


# -- while a command is carried out ----------------------------------------------------------------


@form("ready")
@dataclasses.dataclass(frozen=True, slots=True)
class Ready(Message):
    """The child runs, and takes commands."""


@form("beat")
@dataclasses.dataclass(frozen=True, slots=True)
class Beat(Message):
    """The child's interpreter still runs Python code."""


@form("waits")
@dataclasses.dataclass(frozen=True, slots=True)
class Waits(Message):
    """The check waits for a program that it started, and is not stuck."""


@form("reaches")
@dataclasses.dataclass(frozen=True, slots=True)
class Reaches(Message):
    """The target began to connect to a host; one that is `outside` of the machine is refused."""

    outside: bool


@form("enter")
@dataclasses.dataclass(frozen=True, slots=True)
class Enter(Message):
    """
    A hook begins.

    Attributes:
        call: The number of the call, by which `Leave` names it.
        operation: The operation of the specification, or of a setting.
        budget_s: Seconds that it may take.
        given: The longest text that it was given, in the words of a message; "" for none.
        thread: The native id of the thread that calls.
        starved_s: Seconds for which that thread had got no processor.
        number: The number of the call of that operation on one instance; 0 if it is not counted.
        chars: The length of that text in characters.

    """

    call: int
    operation: str
    budget_s: float
    given: str
    thread: int
    starved_s: float
    number: int = 0
    chars: int = 0


@form("leave")
@dataclasses.dataclass(frozen=True, slots=True)
class Leave(Message):
    """A hook has ended: the call of that number."""

    call: int


@form("opened")
@dataclasses.dataclass(frozen=True, slots=True)
class Opened(Message):
    """An instance was opened with a config that is to be cleaned up after."""

    config: dict[str, Any]


@form("spent")
@dataclasses.dataclass(frozen=True, slots=True)
class Spent(Message):
    """One of the hook calls was made that the user allows."""


# -- the calls of a check, for a replay script -----------------------------------------------------


@form("story")
@dataclasses.dataclass(frozen=True, slots=True)
class StoryBegins(Message):
    """Calls are told from here on, made by a check with its places below `root`."""

    root: str


@form("call")
@dataclasses.dataclass(frozen=True, slots=True)
class CallBegins(Message):
    """A call; `arguments` and `keywords` are None if they cannot be written down."""

    number: int
    who: int
    operation: str
    hook: str
    arguments: list[Any] | None
    keywords: dict[str, Any] | None


@form("returned")
@dataclasses.dataclass(frozen=True, slots=True)
class CallReturned(Message):
    """The call of that number returned a value, which is shown."""

    number: int
    shown: str


@form("raised")
@dataclasses.dataclass(frozen=True, slots=True)
class CallRaised(Message):
    """The call of that number raised an error of that class."""

    number: int
    error: str


@form("looked")
@dataclasses.dataclass(frozen=True, slots=True)
class FactLooked(Message):
    """A fact was looked for in the answer of the call of that number."""

    number: int
    name: str
    text: str
    query: str
    found: bool


#: The messages of which the story of a check is made.
Told = StoryBegins | CallBegins | CallReturned | CallRaised | FactLooked


# -- the answer to a command -----------------------------------------------------------------------


@form("obeyed")
@dataclasses.dataclass(frozen=True, slots=True)
class Obeyed(Message):
    """The command was carried out, and nothing is to be told."""


@form("loaded")
@dataclasses.dataclass(frozen=True, slots=True)
class Loaded(Message):
    """
    The target is loaded.

    Attributes:
        binding: As `Binding.as_dict` gives it.
        origin: The place where the target was found.
        forks: True if loading it has forked the process.
        unconfined: Why the process is not confined, or "".

    """

    binding: dict[str, Any]
    origin: str
    forks: bool
    unconfined: str


@form("judged")
@dataclasses.dataclass(frozen=True, slots=True)
class Judged(Message):
    """
    The results of a check, or of loading or a survey that did not come to its end.

    Attributes:
        results: The rows.
        threads: Number of threads and timers that the check left.
        changed: The state of the process that it changed, in words.
        late: Operations whose hook returned after its budget.
        excused: Operations of which that is due to the machine.
        limited_s: The longest time after which a hook asked to be called again; 0 for never.

    """

    results: tuple[Row, ...]
    threads: int = 0
    changed: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    limited_s: float = 0.0


@form("survey")
@dataclasses.dataclass(frozen=True, slots=True)
class Survey(Message):
    """Declarations and routes of a provider; see `memproto.testing.settings.order.Contact`."""

    capabilities: dict[str, Any]
    routes: dict[str, str]
    asking: str = ""
    manner: dict[str, Any] = dataclasses.field(default_factory=dict)
    logged: str = ""


@form("timed")
@dataclasses.dataclass(frozen=True, slots=True)
class Timed(Message):
    """
    The times of the hooks that a command has called.

    Attributes:
        hooks: For each operation [calls, longest in seconds, all together in seconds].
        computed_s: Processor seconds of the process, in hooks and between them, and of those that
            it started and that have ended.

    """

    hooks: dict[str, list[float]]
    computed_s: float


@form("surveyed")
@dataclasses.dataclass(frozen=True, slots=True)
class Surveyed(Message):
    """The result of a survey that came to its end, and its times."""

    found: Survey
    timed: Timed


@form("secrets")
@dataclasses.dataclass(frozen=True, slots=True)
class SecretsNamed(Message):
    """The variables and keys that the provider's config schema calls secret."""

    names: tuple[str, ...]


@form("played")
@dataclasses.dataclass(frozen=True, slots=True)
class ScriptPlayed(Message):
    """
    A script of visits was played.

    Attributes:
        visits: Number of those that were played to their end.
        is_whole: True if that is all of them.

    """

    visits: int
    is_whole: bool


@form("refused")
@dataclasses.dataclass(frozen=True, slots=True)
class CommandRefused(Message):
    """The fault is the user's: the name of a `KitUsageError`, and its arguments."""

    error: str
    what: str
    fault: str
    fix: str


@form("failed")
@dataclasses.dataclass(frozen=True, slots=True)
class CommandFailed(Message):
    """The kit raised: its traceback, and the functions of Python that were replaced by then."""

    text: str
    replaced: tuple[str, ...] = ()


Reply = (
    Obeyed
    | Loaded
    | Judged
    | Surveyed
    | Timed
    | SecretsNamed
    | ScriptPlayed
    | CommandRefused
    | CommandFailed
)


@form("done")
@dataclasses.dataclass(frozen=True, slots=True)
class Done(Message):
    """
    The answer to a command; it has a seal of its own, see `memproto.testing.wire`.

    Attributes:
        reply: The result of the command.
        outward: Addresses outside the machine that were tried since the last command, each with
            who asked.
        changed_kit: Names of the kit that stand for other code than before the target was loaded.

    """

    reply: Reply
    outward: tuple[tuple[str, ...], ...] = ()
    changed_kit: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Forged(Message):
    """A line that looks like a message of a child, and that the kit did not write; never sent."""


# -- writing ---------------------------------------------------------------------------------------


def encoded(message: Message, pid: int) -> bytes:
    """A message of the process `pid`, as JSON in one line."""
    if message.LINE:
        line, take, writers = message.LINE
        return bytes(line % (pid, *map(call, writers, take(message))), "ascii")
    return _encode({"pid": pid, **fields(message)}).encode("ascii")


def fields(
    message: Message, shown: Callable[[Any, int], Any] | None = None, depth: int = 0
) -> dict[str, Any]:
    """
    A message as JSON values, with its kind.

    `shown` makes JSON values of bounded size of a field's value, which lies so deep in the message.
    """
    kind, *names = message.FORM
    told: dict[str, Any] = {"kind": kind}
    for name in names:
        value = getattr(message, name)
        if isinstance(value, Message):
            told[name] = fields(value, shown, depth + 1)
        else:
            told[name] = value if shown is None else shown(value, depth)
    return told


# -- reading ---------------------------------------------------------------------------------------


def _exactly(kind: Any) -> Callable[[Any], Any]:
    """Gives a value of exactly one type, and a text only if it is not too long."""

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise Unreadable(f"{type(value).__name__} where {kind.__name__} belongs")
        if kind is str and len(value) > MOST_CHARS:
            raise Unreadable(f"a text of {len(value)} characters, and {MOST_CHARS} are the most")
        return value

    return read


_text = _exactly(str)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise Unreadable(f"{type(value).__name__} where a number belongs")
    return value  # type: ignore[no-any-return]


def _items(value: Any, kind: Any) -> Any:
    if type(value) is not kind:
        raise Unreadable(f"{type(value).__name__} where {kind.__name__} belongs")
    if len(value) > MOST_ITEMS:
        raise Unreadable(f"{len(value)} items, and {MOST_ITEMS} are the most")
    return value


def _list(item: Callable[[Any], Any], made: type) -> Callable[[Any], Any]:
    return lambda value: made([item(one) for one in _items(value, list)])


def _table(item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {_text(key): item(one) for key, one in _items(value, dict).items()}


def _one_of(parts: tuple[type[Message], ...]) -> Callable[[Any], Any]:
    readers = {part.FORM[0]: _maker(part) for part in parts}

    def read(value: Any) -> Any:
        kind = _items(value, dict).get("kind")
        if not isinstance(kind, str) or kind not in readers:
            raise Unreadable(f"a part that is none of {', '.join(readers)}")
        return readers[kind](value, is_short=False)

    return read


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Gives the value of a field of a type, from JSON; it raises `Unreadable` for all else."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return lambda value: value
    if kind is float:
        return _number
    if origin is types.UnionType and types.NoneType in args:
        (other,) = (_reader(item) for item in args if item is not types.NoneType)
        return lambda value: None if value is None else other(value)
    if origin is types.UnionType or (origin is None and issubclass(kind, Message)):
        return _one_of(args or (kind,))
    if origin in (list, tuple):
        return _list(_reader(args[0]), origin)
    if origin is dict:
        return _table(_reader(args[1]))
    return _exactly(kind)


def _maker(kind: type[Message]) -> Callable[..., Any]:
    """Gives what makes messages of one type; it is told if the line is short, see `MOST_CHARS`."""
    hints, found = typing.get_type_hints(kind), dataclasses.fields(kind)  # type: ignore[arg-type]
    make: Callable[..., Message] = kind
    known = {field.name: _reader(hints[field.name]) for field in found}
    required = {
        field.name
        for field in found
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    types_ = (str, int, *(hints[field.name] for field in found))
    as_written = ("kind", "pid", *known, *types_) if kind.LINE else ()

    def read(data: dict[str, Any], *, is_short: bool) -> Any:
        # The most frequent messages are made at once if they are as the kit writes them.
        values = data.values()
        if is_short and (*data, *map(type, values)) == as_written:
            _, _, *given = values
            return make(*given)
        names = data.keys() - _ENVELOPE
        if not required <= names <= known.keys():
            raise Unreadable(f"{kind.FORM[0]} with other fields")
        return make(**{name: known[name](data[name]) for name in names})

    return read


#: The names in a message that are none of its fields.
_ENVELOPE = frozenset({"kind", "pid"})

_SENT = (Ready, Beat, Waits, Reaches, Enter, Leave, Opened, Spent, *typing.get_args(Told), Done)
_READERS = {kind.FORM[0]: _maker(kind) for kind in _SENT}
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def parsed(text: bytes) -> dict[str, Any]:
    """
    A text that looks like a message of a child, as it was written: its kind, its pid, its fields.

    Raises:
        ValueError: It does not look like one.
        RecursionError: It is too deep to be one.

    """
    line = text.decode("utf-8").strip(" \t\r\n")
    try:
        data, end = _scan(line, 0)
    except StopIteration:
        raise ValueError("no message") from None
    if end != len(line) or type(data) is not dict or "kind" not in data:
        raise ValueError("no message")
    return data


def read(data: dict[str, Any], size: int) -> Any:
    """
    The message that was parsed from `size` bytes.

    An answer that cannot be read is an answer: that the command failed.

    Raises:
        Unreadable: It is no message that a child sends.

    """
    kind = data["kind"]
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is None:
        raise Unreadable("no kind of message that there is")
    try:
        return reader(data, is_short=size <= MOST_CHARS)
    except Unreadable as error:
        if kind != Done.FORM[0]:
            raise
        return _failed(data, error)


def _failed(data: dict[str, Any], error: Unreadable) -> Done:
    """An answer that cannot be read; the names of the kit that were replaced stay known."""
    changed = data.get("changed_kit")
    names = changed if isinstance(changed, list) else []
    known = tuple(name for name in names[:MOST_ITEMS] if isinstance(name, str))
    return Done(CommandFailed(f"the child answered {error}"), changed_kit=known)
