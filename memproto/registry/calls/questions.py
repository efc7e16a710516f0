"""Questions to several providers at once, each on a thread of its own, under one deadline."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memproto.errors import ProviderError
from memproto.registry.calls.gather import Gather, HookCall, fly, not_stuck, started_worker
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.workers import Worker
from memproto.registry.events import attempt, type_name
from memproto.registry.messages import copied
from memproto.types import EventOutcome

_LONGEST_REPORT = 200
_NO_KEYWORDS: Mapping[str, Any] = {}


class UnfitAnswer(ValueError):
    """An answer that the contract does not allow; the message says why, without its text."""


class Asked(HookCall):
    """
    A call whose answer may be of any type that `fits` takes.

    Attributes:
        fits: Returns the answer as the host gets it; raises if the contract does not allow it.
        keywords: Arguments by name, beside `args`.
        after_writes: True if writes that were accepted before are delivered first.
        found: The value that `fits` returned; holds only if `outcome` is `ok`.
        is_refused: True if the hook raised a `ProviderError`, which reports a refusal.
        report: The words of that error, which are written to be told; never for the log.

    """

    __slots__ = ("after_writes", "fits", "found", "is_refused", "keywords", "report")

    def __init__(
        self,
        lane: ProviderLane,
        hook: str,
        args: tuple[Any, ...],
        gather: Gather,
        worker: Worker,
        *,
        fits: Callable[[Any], Any],
        keywords: Mapping[str, Any] = _NO_KEYWORDS,
        after_writes: bool = False,
    ) -> None:
        super().__init__(lane, hook, args, gather, worker)
        self.fits = fits
        self.keywords = keywords
        self.after_writes = after_writes
        self.found: Any = None
        self.is_refused = False
        self.report = ""

    def __call__(self) -> None:
        """Run the hook, after the writes if that is asked for, and hand in what it returned."""
        # On the call's own thread: the host's waits for the gather only, and so for one deadline.
        if self.after_writes:
            self.lane.await_writes(self.until)
        super().__call__()

    def _describe(self, error: object) -> str:
        self.is_refused = issubclass(type(error), ProviderError)
        message, failed = attempt(str, error) if self.is_refused else ("", "")
        self.report = "" if failed else str.__str__(message)[:_LONGEST_REPORT]
        return type_name(error)

    def _run(self) -> None:
        answer, self.error = self.lane.attempt_telling(
            self._describe, self.hook, self.args, self.keywords
        )
        if not self.error:
            self.found, self.wrong = attempt(
                self.fits, answer, describe=lambda error: _fault(error, answer)
            )

    @property
    def outcome(self) -> EventOutcome:
        """The ending of the call, once `fly` has returned."""
        if not self.done:
            return "late" if self.started else "stuck"
        if self.error:
            return "raised"
        return "wrong_type" if self.wrong else "ok"

    def tell(self) -> None:
        """Send the event of this call, once `Gather.wait` has returned."""
        took_s = self.took_s if self.done else self.gather.budget_s
        detail = self.error or self.wrong if self.done else ""
        self.lane.tell(self.hook, self.outcome, took_s, detail)


class Unwaited(Asked):
    """A call that nobody waits for; it is told when it has returned, and counts as late before."""

    __slots__ = ("is_wanted",)

    def send(self, is_wanted: Callable[[], bool]) -> None:
        """Start it; the call is not made if `is_wanted` says no when its turn comes."""
        self.is_wanted = is_wanted
        self.gather.pending = 1
        # It counts as late from its start, so that no second one is sent beside it. It is entered
        # before it takes off: its own thread takes it out at the end, which must come second.
        self.lane.late[self.hook].add(self)
        if not self.takes_off():
            self.lane.late[self.hook].discard(self)

    def __call__(self) -> None:
        """As `Asked`, and tell how it ended."""
        super().__call__()
        self.lane.late[self.hook].discard(self)
        if self.done and self.is_wanted():
            self.tell()

    def _run(self) -> None:
        if self.is_wanted():
            super()._run()


def _fault(error: object, answer: object) -> str:
    return str(error) if type(error) is UnfitAnswer else type_name(answer)


def ask(
    lanes: Sequence[ProviderLane],
    hook: str,
    gather: Gather,
    fits: Callable[[Any], Any],
    args: Callable[[], tuple[Any, ...]] = tuple,
    *,
    keywords: Mapping[str, Any] = _NO_KEYWORDS,
    after_writes: bool = False,
) -> list[Asked]:
    """
    Returns the calls of `hook` of all `lanes`, in order, once they returned or the time is over.

    `args` is called for each provider, so that each gets copies of its own. A provider that has
    not returned from an earlier call of the hook is not asked.
    """
    calls = [
        Asked(
            lane,
            hook,
            args(),
            gather,
            worker,
            fits=fits,
            keywords=copied(keywords),
            after_writes=after_writes,
        )
        for lane in not_stuck(lanes, hook)
        if (worker := started_worker(lane, hook)) is not None
    ]
    fly(calls, gather)
    for call in calls:
        if call.done and call.worker is not None:
            call.worker.join()
    return calls


# -- what answers look like -----------------------------------------------------------------------


def as_text(answer: Any) -> str:
    """The answer, if it is text; a subclass could answer differently when asked."""
    if not issubclass(type(answer), str):
        raise TypeError("text is expected")
    return str.__str__(answer)


def as_document(answer: Any) -> dict[str, Any]:
    """A copy of the answer, if it is a JSON object."""
    if not isinstance(answer, Mapping):
        raise TypeError("a JSON object is expected")
    document: dict[str, Any] = copied(answer)
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise UnfitAnswer("no JSON") from None
    return document
