"""One subject on the bench: what is pending is judged in lanes, and verdicts are written down."""

import threading
from collections.abc import Callable, Sequence

from tests.mutation.book import Book, Clock
from tests.mutation.changes import Change
from tests.mutation.judges import Lane, Verdict
from tests.mutation.relevance import order
from tests.mutation.subjects import Subject

#: Seconds that a verdict may take at least, and times as long as that of the subject as it is.
_LIMIT_S, _LIMIT_TIMES = 600.0, 10.0

#: Seconds that the verdict on a subject as it is may take.
_CONTROL_S = 1800.0


class NotGood(Exception):
    """A subject is red or open before anything is changed."""


class Bench:
    """One subject on the bench: its control, its lanes and its book."""

    def __init__(
        self, subject: Subject, book: Book, lanes: int, say: Callable[[str], None]
    ) -> None:
        self._subject, self._book, self._count = subject, book, lanes
        self._say = say
        self._lock = threading.Lock()
        self._took_s: dict[str, float] = {}
        self._verdicts: dict[str, Verdict] = book.verdicts()
        self._kills = book.kills()
        self._fault: BaseException | None = None

    def judge(self, found: Sequence[Change], clock: Clock, *, again: bool) -> None:
        """
        Judge those that have no verdict yet, and survivors anew if `again`. Blocks.

        Raises:
            NotGood: The subject as it is has no CONFORMANT verdict.

        """
        self._book.plan(found)
        pending = [change for change in found if self._is_pending(change, again=again)]
        if not pending:
            return
        limit_s = self._control(again=again)
        pending.reverse()
        threads = [
            threading.Thread(target=self._work, args=(pending, clock, limit_s))
            for _ in range(min(self._count, len(pending)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._fault is not None:
            raise self._fault

    def _is_pending(self, change: Change, *, again: bool) -> bool:
        known = self._verdicts.get(change.key.digest)
        return known is None or (again and (known.is_late or not known.is_killed))

    def _control(self, *, again: bool) -> float:
        """Have the subject judged as it is, once; gives the seconds that a verdict may take."""
        verdict = self._book.control
        if verdict is None or again:
            lane = Lane(self._subject, _CONTROL_S)
            try:
                verdict = lane.judge(None)
            finally:
                lane.close()
            if verdict.by != "CONFORMANT":
                seen = {**verdict.red, **verdict.open, **verdict.kit}
                raise NotGood(f"{self._subject.name} as it is: {verdict.by}: {seen}")
            self._book.control = verdict
        self._took_s = verdict.took_s
        whole_s = sum(verdict.took_s.values())
        self._say(f"{self._subject.name}: CONFORMANT as it is, in {whole_s:.0f} s")
        return max(_LIMIT_S, _LIMIT_TIMES * whole_s)

    def _work(self, pending: list[Change], clock: Clock, limit_s: float) -> None:
        lane = Lane(self._subject, limit_s)
        try:
            while not clock.is_over:
                with self._lock:
                    if not pending or self._fault is not None:
                        return
                    change = pending.pop()
                    first = order(change, self._took_s, self._kills)
                verdict = lane.judge(change, first)
                with self._lock:
                    if verdict.is_undecided:
                        # The next run judges it; no reader is asked why it survived.
                        self._say(f"{len(pending):5} left  UNDECIDED {verdict.open}")
                        continue
                    self._book.note(change, verdict)
                    self._verdicts[change.key.digest] = verdict
                    if verdict.is_killed:
                        where = f"{change.source.as_posix()}:{change.definition}"
                        self._kills.append((verdict.by, where))
                    self._say(f"{len(pending):5} left  {_line(change, verdict)}")
        except BaseException as error:
            self._fault = error
        finally:
            lane.close()


def _line(change: Change, verdict: Verdict) -> str:
    key = change.key
    head = "killed  " if verdict.is_killed else "SURVIVED"
    return f"{head} {verdict.by:16} {key.where}: {key.was[:70]!r} -> {key.now[:70]!r}"
