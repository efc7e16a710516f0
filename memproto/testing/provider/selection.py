"""
Providers that keep what they find worth keeping: how they are told a fact so that they keep it.

First contact tells them facts in several manners, and takes the one in which the most come back.
A text that a check tells them in that manner may be left out all the same. A text that never came
back proves nothing: a check that missed one is made again with other facts, and a loss is one only
of a text that came back once.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from memproto.testing import facts, wording
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.facts import Fact
from memproto.testing.needs import KEEPING

#: Sentences with two proper nouns, and such with one.
_USUAL, _SHORT = tuple(range(facts.USUAL)), (facts.USUAL,)


@dataclasses.dataclass(frozen=True)
class Manner:
    """
    The way in which facts are told.

    Attributes:
        templates: The sentences that came back.
        times: Number of times that each is told.
        goes_on: True if as many turns follow as fill a batch.
        ends: True if the session is ended with its messages, before it is shut down.
        routes: By which of the routes something came back.
        is_sure: True if everything came back that was told so.

    """

    templates: tuple[int, ...] = _USUAL
    times: int = 1
    goes_on: bool = False
    ends: bool = False
    routes: tuple[str, ...] = ()
    is_sure: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Manner":
        """The value that `as_dict` gave."""
        named = {key: tuple(data[key]) for key in ("templates", "routes")}
        return cls(**{**data, **named})


#: A host tells a fact once, and may go on or end its session behind it.
PLAIN = Manner()

#: Manners in which facts are told, until one is sure.
MANNERS = (
    PLAIN,
    Manner(_SHORT),
    Manner(times=2),
    Manner(goes_on=True),
    Manner(ends=True),
    Manner(_SHORT, ends=True),
    Manner(goes_on=True, ends=True),
)

#: Times that a check is made in which something was not kept.
ATTEMPTS, UNSURE_ATTEMPTS = 3, 8


class NeverBack(Untestable):
    """A text is missed that never came back: a selective provider need not have kept it."""


class Looked:
    """Facts that a check looked for in recalls, and those of them that never came."""

    def __init__(self, seen: set[str]) -> None:
        self._seen = seen
        self._names: dict[str, Fact] = {}

    def __call__(self, fact: Fact, recalled: object, *, found: bool) -> None:
        """Hear of a fact that was looked for, as a listener of `facts`."""
        self._names[fact.name] = fact
        if found:
            self._seen.add(fact.name)

    @property
    def never(self) -> list[Fact]:
        """Those that never were there."""
        return [fact for name, fact in self._names.items() if name not in self._seen]


def judged(check: Callable[[Any], None], run: Any) -> None:
    """
    Make a check of a selective provider.

    Raises:
        NeverBack: It missed a text that never came back.

    """
    looked = Looked(run.shared.setdefault("seen", set()))
    facts.listeners.append(looked)
    try:
        check(run)
    except Violation as found:
        # A fact where it must not be was seen at its own place before; so nothing is missed there.
        if not looked.never:
            raise
        missed = looked.never[0].text
        reason = f"retention is selective, and {missed!r} never came back, which proves nothing"
        raise NeverBack(f"{reason} ({wording.observed(found.evidence)})", KEEPING) from None
    finally:
        facts.listeners.remove(looked)
        run.unkept = len(looked.never)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Looks of the body are no part of the facts that a check misses or tells."""
    heard = facts.listeners[:]
    facts.listeners.clear()
    try:
        yield
    finally:
        facts.listeners[:] = heard


def improving(manners: Iterator[tuple[Manner, float]]) -> Manner:
    """The first manner that is sure, else the one in which the most was kept."""
    best, most = Manner(), 0.0
    for manner, share in manners:
        if manner.is_sure:
            return manner
        if share > most:
            best, most = manner, share
    return best
