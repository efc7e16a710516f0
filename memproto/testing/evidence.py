"""
The vocabulary of evidence: what a check or the machinery saw, as data.

A `Violation` takes one piece of evidence, a `Result` carries it from the child to the report, and
`memproto.testing.wording` is the only place that makes English of it. Code that wants to know
what was seen reads fields here; nothing reads the English.
"""

import dataclasses
import json
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

from memproto.testing import locate
from memproto.testing.wire import show

#: A text that is read is cut to so many characters for a text, and to so many items for a field.
#: A child hides credentials and then cuts to half of that: its own evidence is never cut here.
MOST_CHARS, MOST_ITEMS = 4_000, 500

_ENCODE = json.JSONEncoder(ensure_ascii=False, default=str).encode


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """
    The fields that all kinds of evidence have.

    Attributes:
        wanted: The thing asked for, as a noun phrase; "" if the kind of evidence says it.
        lead: The circumstances under which it was seen, told before it.
        tail: The same, told after it. Neither holds anything that is not in a field of its own and
            that a reader may want to compute with.
        least: The smallest input with which the same was seen, as a message shows it; "" if none
            was looked for, or if it is too long for that.
        least_chars: Its length in characters; 0 if none was looked for.
        spared_chars: The length of the longest shorter one with which it was not seen; 0 for none.

    """

    kind: ClassVar[str] = ""

    wanted: str = ""
    lead: str = ""
    tail: str = ""
    least: str = ""
    least_chars: int = 0
    spared_chars: int = 0

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def told(self, *, wanted: str = "", lead: str = "", tail: str = "") -> Self:
        """The same evidence with what was asked for, and with more about its circumstances."""
        return dataclasses.replace(
            self,
            wanted=wanted or self.wanted,
            lead=f"{lead}{self.lead}",
            tail=f"{self.tail}{tail}",
        )


# -- facts -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotRecalled(Evidence):
    """
    Facts that were stored and are not found again: lost.

    Attributes:
        texts: The facts that are lost, the first one first.
        of: How many were stored, where several were; 0 for one that is told by itself.
        labels: How a message names each of them, where it does so beside its text.
        about: More that is known of the first of them: behind it, or at the end of the message.
        subject: How a message names what is lost, if not by the text of the first fact.
        verb: How it is not found: by recall, unless a check says otherwise.
        removed: True if something else was removed or replaced in the meantime.

    """

    texts: tuple[str, ...]
    of: int = 0
    labels: tuple[str, ...] = ()
    about: str = ""
    subject: str = ""
    verb: str = "did not come back"
    removed: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recalled(Evidence):
    """
    Facts that are shown where they must not be: leaked, or kept though they were taken back.

    Attributes:
        texts: The facts that are shown.
        answer: All that was shown, if the message tells that; else "".
        question: The question as it was asked.
        by: The reader that shows it, such as a hook's name.
        of_whom: The owner of the facts.
        to_whom: The party to whom they are shown.

    """

    texts: tuple[str, ...] = ()
    answer: str = ""
    question: str = ""
    by: str = ""
    of_whom: str = ""
    to_whom: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Repeated(Evidence):
    """
    A fact that is stored, or shown, more or less often than it should be.

    Attributes:
        text: The fact.
        times: How often it was found.
        usual: How often one that was stored once is found.
        unit: How a message counts it.

    """

    text: str
    times: int
    usual: int = 1
    unit: str = " times"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotKept(Evidence):
    """
    Answers to questions of a set-up, or files of others, that are not kept.

    Attributes:
        keys: The questions, or the files.
        values: The answers that are missing, if the message tells them.
        subject: How a message names it; "" for the first value, or else the first key.

    """

    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    subject: str = ""


# -- hooks -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Raised(Evidence):
    """
    A hook, or another call, raised where it has to return.

    Attributes:
        hook: The hook in the author's binding; "" for what is no hook.
        error: The name of the exception's class.
        shown: The exception as a message shows it.
        given: The value that the hook was given, if that makes the difference.
        count: How many of those that were tried raised.
        of: How many were tried; 0 where the message counts none.
        unit: The things that were tried, in the plural.
        who: How a message names what raised.
        number: The number of the call on its instance; 0 if it is not counted.
        place: The author's line that it came from; "" if it is not known.

    """

    hook: str = ""
    error: str
    shown: str
    given: str = ""
    count: int = 1
    of: int = 0
    unit: str = "texts"
    who: str = "it"
    number: int = 0
    place: str = ""

    @classmethod
    def by(cls, error: BaseException, *, shown: str = "", **fields: Any) -> Self:
        """The evidence that `error` was raised, which is shown unless a text is given for it."""
        name, place = type(error).__name__, locate.raised(error)
        return cls(error=name, shown=shown or show(error), place=place, **fields)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Returned(Evidence):
    """
    A hook, or a function, returned another value than it should.

    Attributes:
        hook: The hook in the author's binding; "" for the one of the requirement.
        value: The value as a message shows it.
        given: The value that it was given, as it is shown.

    """

    hook: str = ""
    value: str
    given: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unfit(Evidence):
    """
    A document does not fit its schema.

    Attributes:
        schema: The name of the schema; "" for a rule that no schema holds.
        at: The place in the document; "" for all of it.
        fault: The thing that is wrong, in the words of the schema or of the check.

    """

    schema: str = ""
    at: str = ""
    fault: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class TooLong(Evidence):
    """
    A text is longer than a limit.

    Attributes:
        hook: The hook that gave it.
        chars: Its length in characters.
        limit: The most that are allowed.

    """

    hook: str = ""
    chars: int
    limit: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lacks(Evidence):
    """
    Something with a name is not there: a hook, a key, a tool, an argument.

    Attributes:
        kind_of: The kind of thing that is missing: "hook", "key", "tool", "schema", "item".
        names: The names.
        holder: The place in which they are missed, as a message names it.
        seen: How a message tells it; "" for the names.

    """

    kind_of: str
    names: tuple[str, ...]
    holder: str = ""
    seen: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Surplus(Evidence):
    """
    Something with a name is there, and must not be: a tool, a key, an argument.

    Attributes:
        kind_of: The kind of thing that it is: "tool", "key", "argument", "path", "id".
        names: The names.
        seen: How a message tells it; "" for the names.

    """

    kind_of: str
    names: tuple[str, ...]
    seen: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Changed(Evidence):
    """
    Something that is not the target's was changed: an argument, the process, the host's code.

    Attributes:
        subject: The thing that was changed: "argument", "process", "code", "files".
        name: Its name; "" if the difference says it.
        difference: How it differs.

    """

    subject: str
    name: str = ""
    difference: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unsteady(Evidence):
    """
    Two looks at what has to stay the same differ.

    Attributes:
        subject: The thing that was looked at: "name", "answer", "block", "schema".
        values: Each value as it is shown.
        difference: How they differ, where the values do not say it.

    """

    subject: str
    values: tuple[str, ...] = ()
    difference: str = ""


# -- time, memory and the process ------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Late(Evidence):
    """
    A hook, or a step, was late.

    Attributes:
        hook: The hook in the author's binding, or the step; "" for what has no name.
        took_s: Seconds until it returned, or for which it was waited.
        budget_s: Seconds that it may take; 0 for at once.
        state: Its state: it returned at last, is still running, or was ended.
        several: True if a message speaks of it in the plural.
        at: The author's frames at that moment, innermost first.
        number: The number of the call on its instance; 0 if it is not counted.
        given: The longest text that the hook was given, in the words of a message; "" for none.
        given_chars: Its length in characters.

    """

    hook: str = ""
    took_s: float
    budget_s: float = 0.0
    state: Literal["returned", "running", "ended"] = "returned"
    several: bool = False
    at: tuple[str, ...] = ()
    number: int = 0
    given: str = ""
    given_chars: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Froze(Evidence):
    """
    No other thread of the process ran for a while.

    Attributes:
        hook: The hook that ran; "" between two hooks.
        held_s: Seconds for which the interpreter was held.
        given: The longest text that the hook was given, in the words of a message.
        given_chars: Its length in characters.
        ended: True if the process was ended for it.
        at: The author's frames at that moment, innermost first.
        computing: The frames of the thread that computed, where that was looked for.
        number: The number of the call on its instance; 0 if it is not counted.

    """

    hook: str = ""
    held_s: float
    given: str = ""
    given_chars: int = 0
    ended: bool = False
    at: tuple[str, ...] = ()
    computing: tuple[str, ...] = ()
    number: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Died(Evidence):
    """
    A process ended that should not have, or did not end as it should.

    Attributes:
        hook: The hook that ran; "" between two hooks.
        ending: How it ended: "exit code 3", "signal SIGSEGV"; as a check saw it, for its own hosts.
        at: The author's frames at that moment, innermost first.
        own: True if it is a host that the check started, and not the process of the check.
        number: The number of the call on its instance; 0 if it is not counted.

    """

    hook: str = ""
    ending: str
    at: tuple[str, ...] = ()
    own: bool = False
    number: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grew(Evidence):
    """
    A process held too much memory, or does not give it back.

    Attributes:
        hook: The hook that ran; "" between two hooks.
        held: The memory that it held, in the words of a message; "" if `held_bytes` says it.
        held_bytes: Bytes that each session kept; 0 if that was not counted.
        at: The author's frames at that moment, innermost first.

    """

    hook: str = ""
    held: str = ""
    held_bytes: int = 0
    at: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Left(Evidence):
    """
    Something runs, or stays, after the end of what started it.

    Attributes:
        kind_of: The kind of thing that was left: "thread", "process", "resource".
        names: A description of each.
        count: How many; 0 where the names say it.

    """

    kind_of: Literal["thread", "process", "resource"]
    names: tuple[str, ...]
    count: int = 0


#: The ways in which a target acts on what lies outside of it.
Deed = Literal["connection", "program", "file", "output", "copy", "signal", "effect"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Acted(Evidence):
    """
    The target acted on the machine where it must not.

    Attributes:
        deed: The kind of act; "effect" where the check does not tell the kinds apart.
        seen: Each of them, as the audit told it.

    """

    deed: Deed
    seen: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wrote(Evidence):
    """
    A file was written where it must not be, or may be read by those who must not.

    Attributes:
        paths: Each path, by the place in which it lies.
        mode: Its permission bits in octal digits, where these are the fault.
        text: The text that lies there, where it is known.

    """

    paths: tuple[str, ...]
    mode: str = ""
    text: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exposed(Evidence):
    """
    A credential, or a text that was stored, stands where it must not.

    Attributes:
        hook: The hook that put it there.
        place: The place in which it stands: "log", "exception", "status".
        excerpt: The text around it, without the credential.

    """

    hook: str = ""
    place: str
    excerpt: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Meddled(Evidence):
    """
    The target changed the code that judges it, or spoke in its name.

    Attributes:
        names: The names, or the files, that were changed; none where it wrote a message.
        written: True if they are files that were written during the run.

    """

    names: tuple[str, ...] = ()
    written: bool = False


# -- calls of a host -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Called(Evidence):
    """
    A hook was called too often, or not at all.

    Attributes:
        hook: The hook in the author's binding, or what stands for it in the message.
        times: How often it was called.
        due: How often it should be; -1 where the check sets no number.
        seen: How a message tells it; "" for the plain count.

    """

    hook: str = ""
    times: int
    due: int = -1
    seen: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Misordered(Evidence):
    """
    Calls, or entries, came in another order than they should.

    Attributes:
        calls: As they came, where the check has the list.
        due: As they should have come.
        seen: How a message tells it; "" for the list.

    """

    calls: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    seen: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotReported(Evidence):
    """
    Something had to be reported, by an error, an event, a status or the log, and was not.

    Attributes:
        about: The thing that had to be reported.
        seen: How a message tells it; "" for the usual words.

    """

    about: str
    seen: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Delimiter(Evidence):
    """
    A delimiter of a block was left, made, or taken for one.

    Attributes:
        delimiter: The delimiter, or the kind of it.
        text: The text that was given, as it is shown.
        value: The result, as it is shown.
        seen: How a message tells it.

    """

    delimiter: str = ""
    text: str = ""
    value: str = ""
    seen: str = ""


# -- everything else -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Differs(Evidence):
    """
    A statement of one check that no other kind of evidence holds.

    Attributes:
        seen: The thing that was there instead.

    """

    seen: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class KitFault(Evidence):
    """
    The kit itself failed.

    Attributes:
        text: The error, as a traceback or a sentence.

    """

    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Opaque(Evidence):
    """
    Evidence of a kind that this kit does not know: of a newer kit, or of a child that lies.

    Attributes:
        name: The kind that it says it is.
        fields: Its fields as JSON text.

    """

    name: str
    fields: str = "{}"


# -- as data ---------------------------------------------------------------------------------------


#: Each kind of evidence by its name in a report.
KINDS: Mapping[str, type[Evidence]] = {kind.kind: kind for kind in Evidence.__subclasses__()}


def as_dict(found: Evidence) -> dict[str, Any]:
    """The evidence as plain JSON: `type`, and each field that is not as by default."""
    given = {}
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        if value != field.default:
            given[field.name] = list(value) if isinstance(value, tuple) else value
    return {"type": found.kind, **given}


def from_dict(data: Any) -> Evidence:
    """
    The evidence that `as_dict` gave; total: whatever else it is given comes back as `Opaque`.

    The evidence is bounded: a process that the target has taken over may send anything. A field
    that this kit does not know, or that holds another type, makes the whole opaque, since
    a part of it may say something else than the whole.
    """
    data = data if isinstance(data, dict) else {}
    name, given = str(data.get("type", "")), {k: v for k, v in data.items() if k != "type"}
    kind = KINDS.get(name, Opaque)
    types = {field.name: field.type for field in dataclasses.fields(kind)}
    if name not in KINDS or not given.keys() <= types.keys():
        return _opaque(name, given)
    values = {key: _read(value, types[key]) for key, value in given.items()}
    if any(value is None for value in values.values()):
        return _opaque(name, given)
    try:
        return kind(**values)
    except TypeError:
        # A field without a default is missing.
        return _opaque(name, given)


def _opaque(name: str, given: dict[str, Any]) -> Opaque:
    text = _ENCODE(given)
    return Opaque(name=_cut(name), fields=text if len(text) <= MOST_CHARS else "{}")


def _read(value: Any, wanted: Any) -> Any:
    """A value of JSON as one of a field's type; None if it is none."""
    origin = typing.get_origin(wanted)
    if origin is tuple:
        is_list = isinstance(value, list | tuple) and all(isinstance(x, str) for x in value)
        return tuple(_cut(item) for item in value[:MOST_ITEMS]) if is_list else None
    if origin is Literal:
        return value if isinstance(value, str) and value in typing.get_args(wanted) else None
    if wanted is bool:
        return value if isinstance(value, bool) else None
    if wanted is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else None
    if wanted is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    return _cut(value) if isinstance(value, str) else None


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…"


# -- texts in it -----------------------------------------------------------------------------------


def mapped(found: Evidence, change: Callable[[str], str]) -> Evidence:
    """The same evidence with each of its texts as `change` gives it: credentials hidden, say."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        if typing.get_origin(field.type) is Literal:
            # One of a few words of the kit's own.
            continue
        if isinstance(value, str):
            values[field.name] = change(value)
        elif isinstance(value, tuple):
            values[field.name] = tuple(change(item) for item in value)
    return dataclasses.replace(found, **values)


def facts(found: Evidence | None) -> Iterator[str]:
    """The texts in which facts that were looked for are told: lost, shown, or found repeated."""
    if isinstance(found, NotRecalled):
        yield from found.texts
    elif isinstance(found, Recalled):
        yield from (*found.texts, found.answer)
    elif isinstance(found, Repeated):
        yield found.text
