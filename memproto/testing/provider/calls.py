"""
The calls that a check makes, told to the parent one by one: what a replay script is made of.

Told before and after each call, so that those of a process that was ended are known as well.
"""

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.testing.messages import (
    CallBegins,
    CallRaised,
    CallReturned,
    FactLooked,
    StoryBegins,
    Told,
)
from memproto.testing.wire import Wire, show

#: Texts longer than this are not told: a script is to be short.
_LONGEST = 4_000

#: Number of answers that are kept, to know in which of them a fact was looked for.
_KEPT = 40


#: The native hook of a call, its arguments and its keywords.
Said = tuple[str, list[Any], dict[str, Any]]


class Calls:
    """Tells nothing: most runs write no scripts."""

    def follow(
        self, subject: Any, operation: str, said: Said | None, made: Callable[[], Any]
    ) -> Any:
        """Make a call of a hook and tell what comes of it; `said` is None for one in disguise."""
        return made()


class ToldCalls(Calls):
    """Tells the parent; any thread may call."""

    def __init__(self, wire: Wire, root: Path) -> None:
        self._wire = wire
        self._lock = threading.Lock()
        self._number = 0
        self._is_over = False
        self._subjects = 0
        self._answers: deque[tuple[int, Any]] = deque(maxlen=_KEPT)
        self._tell(StoryBegins(str(root)))

    def follow(
        self, subject: Any, operation: str, said: Said | None, made: Callable[[], Any]
    ) -> Any:
        """Make a call; it is told before, since its arguments may be changed by it, and after."""
        number = self._begin(subject, operation, said)
        try:
            answer = made()
        except BaseException as error:
            cause = getattr(error, "error", error)
            self._tell(CallRaised(number, type(cause).__name__))
            raise
        kept = answer if answer is None or type(answer) is str else show(answer, _LONGEST)
        if answer is not None or operation == "recall":
            self._answers.append((number, kept))
        self._tell(CallReturned(number, show(answer)))
        return answer

    def _begin(self, subject: Any, operation: str, said: Said | None) -> int:
        with self._lock:
            self._number += 1
            number = self._number
            who = self._who(subject)
        hook, arguments, keywords = said or ("", None, None)
        if not _is_plain([arguments, keywords]):
            arguments = keywords = None
        self._tell(CallBegins(number, who, operation, hook, arguments, keywords))
        return number

    def _who(self, subject: Any) -> int:
        """The number of an instance; kept at its own, so that nothing here keeps it alive."""
        if not subject.number:
            self._subjects += 1
            subject.number = self._subjects
        return int(subject.number)

    def looked(self, fact: Any, text: object, *, found: bool) -> None:
        """Tell in what call's answer a fact was looked for."""
        for number, answer in reversed(self._answers):
            if answer is text or (isinstance(text, str) and text and text in str(answer)):
                self._tell(FactLooked(number, fact.name, fact.text, fact.query, found))
                return

    def end(self) -> None:
        """Tell nothing more: the check is made again, and its calls are numbered anew."""
        self._is_over = True

    def _tell(self, message: Told) -> None:
        if not self._is_over:
            self._wire.send(message)


def _is_plain(value: Any) -> bool:
    """True if a value can be written as a literal, and comes back as it is from JSON."""
    if type(value) is str:
        return len(value) <= _LONGEST
    if type(value) is list:
        return len(value) <= _LONGEST and all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(item) for key, item in value.items())
    return value is None or type(value) in (bool, int, float)
