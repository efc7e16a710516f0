"""The calls of one check as they were told, and which of them shows what the check observed."""

import dataclasses
from collections.abc import Collection
from typing import Any, Literal

from memproto import spec
from memproto.bindings import Binding
from memproto.testing.evidence import Late, Raised, Recalled, Returned, facts
from memproto.testing.messages import (
    CallBegins,
    CallRaised,
    CallReturned,
    FactLooked,
    StoryBegins,
    Told,
)
from memproto.testing.outcomes import Result
from memproto.testing.processes.answer import Answer
from memproto.testing.provider.subject import HookLate

#: Values that many calls return: one of them says nothing unless it is all that was observed.
_COMMON = frozenset({"None", "True", "False", "''", "[]", "{}", "0", "1"})

#: Operations that return those where all is well, too.
_RECALLING = frozenset({"recall", "items", "export", "unavailable_reason"})

#: Errors of calls that were not made.
_NOT_MADE = frozenset({"HookWithdrawn", "HookUnpaid"})

Kind = Literal["raises", "late", "holds", "lacks", "shows"]


@dataclasses.dataclass(frozen=True)
class Look:
    """A fact, and whether it was there."""

    name: str
    text: str
    query: str
    found: bool


@dataclasses.dataclass
class Call:
    """
    One call of a hook.

    Attributes:
        number: Its place among all calls of the check.
        who: The number of the instance.
        operation: The operation of the specification.
        hook: The native hook, or "" where the check called something else.
        arguments: As told, or None where they cannot be written down.
        keywords: The same.
        shown: The value that it returned, as it is shown; None if it did not return.
        error: The class of what it raised, or "".
        looks: The facts that were looked for in its answer.

    """

    number: int
    who: int
    operation: str
    hook: str
    arguments: list[Any] | None
    keywords: dict[str, Any] | None
    shown: str | None = None
    error: str = ""
    looks: list[Look] = dataclasses.field(default_factory=list)

    @property
    def is_writable(self) -> bool:
        """True if the call can be written down."""
        return bool(self.hook) and self.arguments is not None

    def mentions(self, name: str) -> bool:
        """True if an argument holds a name."""
        text = f"{self.arguments} {self.keywords}"
        return all(word in text for word in name.split())


@dataclasses.dataclass(frozen=True)
class Sight:
    """
    By which call a violation is seen, and how.

    Attributes:
        kind: raises, late, holds, lacks or shows.
        number: The call.
        value: The class of the error, the seconds, the name, or the answer as it is shown.

    """

    kind: Kind
    number: int
    value: str


@dataclasses.dataclass(frozen=True)
class Story:
    """All calls of one check, in order, and the directory below which it had its places."""

    root: str
    calls: list[Call]


def told(messages: tuple[Told, ...]) -> Story:
    """The story that a child told; only of the process that ran the check itself."""
    root = ""
    calls: dict[int, Call] = {}
    for message in messages:
        if isinstance(message, StoryBegins):
            root, calls = message.root, {}
        elif isinstance(message, CallBegins):
            calls[message.number] = Call(
                message.number,
                message.who,
                message.operation,
                message.hook,
                message.arguments,
                message.keywords,
            )
        elif message.number in calls:
            _note(calls[message.number], message)
    return Story(root, [call for call in calls.values() if call.error not in _NOT_MADE])


def _note(call: Call, message: CallReturned | CallRaised | FactLooked) -> None:
    match message:
        case CallReturned():
            call.shown = message.shown
        case CallRaised():
            call.error = message.error
        case FactLooked():
            look = Look(message.name, message.text, message.query, message.found)
            call.looks.append(look)


def sight(
    story: Story,
    result: Result,
    answer: Answer,
    binding: Binding,
    isolates: Collection[str] = (),
) -> Sight | None:
    """
    The last call that shows what `result` observed; None where calls alone do not show it.

    Only what the evidence names counts: an error, a fact that was looked for, a value.
    """
    if answer.fate not in ("answered", "late"):
        return None
    looks = Looks(story, result, isolates)
    for call in reversed(story.calls):
        found = (
            _late(call, result, answer, binding)
            or _raises(call, result)
            or looks.sight(call)
            or _shows(call, result, binding)
        )
        if found is not None:
            return found
    return None


class Looks:
    """
    Facts that were looked for: missing, or there, against the promises of a provider.

    A fact is missed only where the same user stored it on the same home, in the same session where
    sessions are kept apart. It leaked only where somebody else stored it, where it was taken back,
    or where the question was another one.
    """

    def __init__(self, story: Story, result: Result, isolates: Collection[str]) -> None:
        self._calls, self._result = story.calls, result
        self._keeps_sessions = "session" in isolates

    def sight(self, call: Call) -> Sight | None:
        """The sight in the answer of one call."""
        for look in reversed(call.looks):
            if not any(look.name in text for text in facts(self._result.evidence)):
                continue
            stored = [c for c in self._calls if c.number < call.number and c.mentions(look.name)]
            if self._leaks(call, look, stored) if look.found else self._misses(call, look, stored):
                return Sight("holds" if look.found else "lacks", call.number, look.name)
        return None

    def _misses(self, call: Call, look: Look, stored: list[Call]) -> bool:
        is_asked_for = look.query in str(call.arguments)
        return is_asked_for and any(self._scope(c) == self._scope(call) for c in stored)

    def _leaks(self, call: Call, look: Look, stored: list[Call]) -> bool:
        is_foreign = all(self._scope(c) != self._scope(call) for c in stored)
        earlier = [c for c in self._calls if c.number < call.number]
        is_taken_back = any(_takes_back(c, look.name) for c in earlier)
        # To another question it may be a good answer, unless the check ended with it.
        is_other = call.operation == "recall" and look.query not in str(call.arguments)
        return is_foreign or is_taken_back or (is_other and call is self._calls[-1])

    def _scope(self, call: Call) -> tuple[str, ...]:
        """Owner of the memory of a call: home, user, profile, and the session where it counts."""
        session, config = opened(self._calls, call.who)
        keys = [str(config.get(key, "")) for key in ("home", "user_id", "agent_identity")]
        return (*keys, session if self._keeps_sessions else "")


def _takes_back(call: Call, name: str) -> bool:
    action = (call.arguments or [""])[0]
    is_removal = call.operation == "mirror" and action in ("remove", "replace")
    return call.operation == "forget" or (is_removal and call.mentions(name))


def _late(call: Call, result: Result, answer: Answer, binding: Binding) -> Sight | None:
    found = result.evidence
    if not isinstance(found, Late) or binding.hook(call.operation) != found.hook:
        return None
    is_open = call.shown is None and not call.error
    if is_open if answer.fate == "late" else call.error == HookLate.__name__:
        return Sight("late", call.number, f"{found.budget_s:g}")
    return None


def _raises(call: Call, result: Result) -> Sight | None:
    found = result.evidence
    if isinstance(found, Raised) and call.error == found.error:
        return Sight("raises", call.number, call.error)
    return None


def _shows(call: Call, result: Result, binding: Binding) -> Sight | None:
    shown, found = call.shown, result.evidence
    values = {Returned: "value", Recalled: "answer"}
    value = getattr(found, values.get(type(found), ""), "")
    if not shown or shown != value:
        return None
    hook, operation = result.where.rpartition(".")[2], spec.requirement(result.id).operation
    if call.operation != operation and binding.hook(call.operation) != hook:
        return None
    is_all = found is not None and not (found.lead or found.tail)
    if shown in _COMMON and (not is_all or call.operation in _RECALLING):
        return None
    return Sight("shows", call.number, shown)


# -- shorter ---------------------------------------------------------------------------------------


def opened(calls: list[Call], who: int) -> tuple[str, dict[str, Any]]:
    """The session and the config that an instance was initialized with."""
    for call in calls:
        if call.who == who and call.operation == "open" and call.arguments:
            session, config = call.arguments[0], call.arguments[-1]
            return str(session), config if isinstance(config, dict) else {}
    return "", {}


def home_of(calls: list[Call], who: int) -> str:
    """The home that an instance was initialized with, or ""."""
    return str(opened(calls, who)[1].get("home", ""))


def begins_with(story: Story, seen: Sight) -> list[Call]:
    """The calls up to the one that shows it."""
    return [call for call in story.calls if call.number <= seen.number]


def is_needed(call: Call, seen: Sight) -> bool:
    """True if the violation would be none without this call, which stores what is looked for."""
    return call.number == seen.number or (
        seen.kind in ("lacks", "holds") and call.mentions(seen.value)
    )


def slices(calls: list[Call], seen: Sight) -> list[list[Call]]:
    """Shorter and shorter stories that may show it too, the shortest first, the whole last."""
    last = calls[-1]
    home = home_of(calls, last.who)
    needed = {call.who for call in calls if is_needed(call, seen)}
    ends = ("open", "close")
    few = [c for c in calls if is_needed(c, seen) or (c.who in needed and c.operation in ends)]
    alone = [call for call in calls if call.who in needed]
    same = [call for call in calls if home and home_of(calls, call.who) == home]
    found = [few, alone, same, calls]
    return [item for n, item in enumerate(found) if item and item not in found[:n]]


def parts(calls: list[Call], seen: Sight) -> list[list[Call]]:
    """Calls that may be left out, the largest part first: whole instances, then single calls."""
    needed = {call.who for call in calls if is_needed(call, seen)}
    others = [who for who in dict.fromkeys(c.who for c in calls) if who not in needed]
    whole = [[call for call in calls if call.who == who] for who in others]
    single = [
        [call]
        for call in calls
        if call.operation not in ("open", "close") and not is_needed(call, seen)
    ]
    return [*whole, *single]
