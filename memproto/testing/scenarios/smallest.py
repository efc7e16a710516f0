"""
The smallest input that still fails: looked for where a check has found a larger one.

A check that tries a long text, or an odd one, knows that it fails, and not how much of it is to
blame. A search makes the same call with less of it, until nothing more can be left out or its calls
are over; what it tells is true of the calls that it made. Nothing of it decides a verdict: that
something fails was seen before.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from memproto.testing.clauses import Inconclusive, Untestable, Violation
from memproto.testing.evidence import Evidence
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised
from memproto.testing.wire import show

E = TypeVar("E", bound=Evidence)
T = TypeVar("T", str, int)

#: Calls, and seconds, for which one failure is made smaller. From a million characters to the very
#: one it takes about 20 calls.
MOST_CALLS, MOST_S = 60, 8.0

#: Of a text of at most so many characters pieces are left out in between, and a text of at most so
#: many is shown; a longer one is told by its length.
_PIECES_CHARS, _SHOWN_CHARS = 200, 40

#: In place of the text that fails: if this one fails too, the text is not to blame.
PLAIN = "The lamps on the quay were lit at dusk."


@dataclasses.dataclass(frozen=True)
class Least:
    """
    The smallest input that was seen to fail.

    Attributes:
        chars: Its length in characters.
        spared_chars: The length of the longest shorter one that was seen not to fail; 0 for none.
        shown: The input itself as a message shows it; "" for one that is too long for that.

    """

    chars: int
    spared_chars: int = 0
    shown: str = ""

    def told(self, found: E) -> E:
        """The evidence with this in it."""
        return dataclasses.replace(
            found, least=self.shown, least_chars=self.chars, spared_chars=self.spared_chars
        )


def of_text(run: Run, text: str, fails: Callable[[str], bool]) -> Least | None:
    """
    The smallest part of a text that fails; None if the text is not to blame, or all of it is.

    `fails` makes the call with another text, and is true if the same failure is seen. Its calls are
    no part of the check, and an exception of a hook that comes out of it ends the search.
    """
    tries = _Tries(run, fails)
    if not text or not tries.is_spared(PLAIN):
        return None
    end = tries.least(lambda size: text[:size], 0, len(text))
    kept, spared = text[: end.fails], end.spared
    begin = tries.least(lambda size: kept[len(kept) - size :], 0, len(kept))
    if begin.fails < len(kept):
        kept, spared = kept[len(kept) - begin.fails :], 0
    kept = _without_pieces(kept, tries)
    if len(kept) <= _SHOWN_CHARS:
        return None if kept == text else Least(len(kept), shown=show(kept))
    return None if kept == text and not spared else Least(len(kept), spared)


def _without_pieces(text: str, tries: "_Tries[str]") -> str:
    """The text without pieces that it fails without as well: halves first, then single ones."""
    if len(text) > _PIECES_CHARS:
        return text
    size = len(text) // 2
    while size:
        at = 0
        while at < len(text):
            rest = text[:at] + text[at + size :]
            if rest and tries.is_failing(rest):
                text = rest
            else:
                at += size
        size //= 2
    return text


def of_length(run: Run, known: int, above: int, fails: Callable[[int], bool]) -> Least | None:
    """
    The least length from `above` to `known` characters that fails; None if length is not to blame.

    `known` was seen to fail, and `above` is one that has to be seen not to; `fails` is as for
    `of_text`, of an input of that length. The two that are told were each seen twice.
    """
    tries = _Tries(run, fails)
    if not tries.is_spared(above):
        return None
    found = tries.least(lambda size: size, above, known)
    if not (tries.is_failing(found.fails) and tries.is_spared(found.spared)):
        return None
    return Least(found.fails, found.spared)


@dataclasses.dataclass(frozen=True)
class _Sizes:
    """The least size that fails, and the largest below it that does not, as far as was tried."""

    fails: int
    spared: int


class _Tries(Generic[T]):
    """
    Calls with other inputs, up to a number of calls and seconds, and none where each costs money.

    Attributes:
        over: True if no further call is made.

    """

    def __init__(self, run: Run, fails: Callable[[T], bool]) -> None:
        self._run = run
        self._fails: Callable[[T], bool] = fails
        self._left, self._end = MOST_CALLS, monotonic() + MOST_S
        self.over = run.watch.calls_left is not None

    def is_failing(self, given: T) -> bool:
        """True if a call with this was made and fails."""
        return self._outcome(given) is True

    def is_spared(self, given: T) -> bool:
        """True if a call with this was made and does not fail."""
        return self._outcome(given) is False

    def least(self, make: Callable[[int], T], spared: int, fails: int) -> _Sizes:
        """The least size of which the input fails, if the two sizes that are given are known."""
        while fails - spared > 1 and not self.over:
            # The middle of a range of magnitudes: a search that is cut short is near as well.
            middle = min(max(math.isqrt(spared * fails), spared + 1), fails - 1)
            outcome = self._outcome(make(middle))
            if outcome is True:
                fails = middle
            elif outcome is False:
                spared = middle
        return _Sizes(fails, spared)

    def _outcome(self, given: T) -> bool | None:
        self.over = self.over or self._left <= 0 or monotonic() > self._end
        if self.over:
            return None
        self._left -= 1
        with (
            self._run.aside(),
            contextlib.suppress(HookRaised, HookLate, Untestable, Inconclusive, Violation),
        ):
            return self._fails(given)
        self.over = True
        return None
