"""
Brings conclusions to the server, each once, although the server gives a client nothing for that.

A conclusion has no id of the client's and no metadata, and the server stores it also if nobody
waits for the answer any more: after the text was embedded, and when its table is free. So a request
is given time; one whose outcome is unknown is looked for, by its text, among what was not there
before it; it is repeated only after the time that an earlier one may need; and after a repeat the
copies are counted, and those that the repeat made are removed again.
"""

import collections
import logging
import time
from typing import Any

from . import lane, texts
from .lane import UploadLane
from .manager import READ_S, Fault, HonchoManager
from .outbox import Item, Outbox
from .values import Observation

log = logging.getLogger("memproto.honcho")

#: A request may be done so long after it began if nobody waited for its answer, and so long after
#: its connection was lost.
LATE_S, LOST_S = 18.0, 3.0

#: For the look before the first attempt, which may go without.
_BEFORE_S = 1.0

#: Between two looks for what may arrive late.
_LOOK_S = 2.0

#: After a repeat it is looked for copies at these times.
WATCH_S = (2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 900.0)

#: The server's limit for one request.
_MOST = 100


class Conclusions(UploadLane):
    """Conclusions; the server's failure at one stops no other."""

    kind = "conclusion"

    def __init__(self, outbox: Outbox, manager: HonchoManager, observation: Observation) -> None:
        super().__init__(outbox)
        self._manager = manager
        self._observation = observation

    def _pause_s(self) -> float | None:
        due = [item.due_at for item in (*self._ready(), *self._outbox.watched())]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _attempt(self) -> Fault | None:
        worst: Fault | None = None
        failures, is_waiting = 0, False
        for item in self._firsts():
            if self._is_stopped:
                break
            if item.due_at > time.monotonic() and not self._was_kicked:
                continue
            try:
                is_waiting |= not self._send(item)
                failures = 0
            except Fault as fault:
                worst = fault
                item.failures += 1
                failures += 1
                item.due_at = time.monotonic() + lane.backoff_s(item.failures, fault)
                if fault.kind in ("away", "denied") or failures == lane.MOST_FAILURES:
                    self._put_off(item.due_at)
                    break
        for item in self._outbox.watched():
            if item.due_at <= time.monotonic() and not self._is_stopped:
                self._look_after(item)
        with self._state:
            self._is_waiting = is_waiting and worst is None
        return worst

    def _firsts(self) -> list[Item]:
        """
        Of the conclusions of one text the first, those before that the server failed at least.

        Copies are told apart by their order: the first of two is resolved before the second.
        """
        firsts: dict[tuple[Any, ...], Item] = {}
        for item in self._ready():
            firsts.setdefault(_key(item), item)
        return sorted(firsts.values(), key=lambda item: item.failures)

    def _put_off(self, moment: float) -> None:
        """Try none before a moment: it is the server that fails."""
        for item in self._ready():
            item.due_at = max(item.due_at, moment)

    def _send(self, item: Item) -> bool:
        """Store a conclusion; False while an earlier request for it may be done yet."""
        body = item.body
        for other in self._outbox.watched():
            if _key(other) == _key(item):
                # Late copies of the earlier one cannot be told from this one.
                self._outbox.unwatch(other)
        seen = self._manager.ready(item.place, self._observation)
        if "observer" not in body:
            body["observer"], body["observed"] = _pair(item, seen)
        parts = texts.conclusions(texts.sent(body["text"]))
        made: list[str] = body.setdefault("made", [])
        try:
            while len(made) < len(parts):
                batch = parts[len(made) : len(made) + _MOST]
                ids = self._stored(item, batch)
                if ids is None:
                    return False
                made += ids
                self._begun(item)
        except Fault as fault:
            if fault.kind != "refused":
                raise
            log.warning("honcho: the server refuses a conclusion; it may lack embeddings")
            self._finished([item], "refused")
            return True
        if body.get("watch"):
            body["watch_until"] = time.time() + WATCH_S[-1]
            self._outbox.keep(item)
            item.due_at = time.monotonic() + WATCH_S[0]
            self._outbox.watch(item)
            self._finished([])
            return True
        self._finished([item])
        return True

    def _begun(self, item: Item) -> None:
        """A batch is stored: nothing is known of the next one."""
        for key in ("before", "attempts", "open_until", "mine"):
            item.body.pop(key, None)
        item.is_doubtful = False
        self._outbox.keep(item)

    # -- one request ------------------------------------------------------------------------------

    def _stored(self, item: Item, batch: list[str]) -> list[str] | None:
        """The ids of a batch that is stored; None while an earlier request may be done yet."""
        body, pair = item.body, (item.body["observer"], item.body["observed"])
        if item.is_doubtful:
            found = self._found(pair, batch[0], body.get("before"))
            self._answers_since = self._answers_since or time.monotonic()
            if len(found) >= batch.count(batch[0]):
                return self._once(item, batch)
            if not self._may_repeat(item):
                return None
        else:
            body["before"] = self._before(pair, batch[0])
            body["attempts"] = 0
        self._posted(item, batch)
        return self._once(item, batch)

    def _posted(self, item: Item, batch: list[str]) -> None:
        body, pair = item.body, (item.body["observer"], item.body["observed"])
        if self._is_stopped:
            raise Fault("away", "the end came first")
        was_doubtful = item.is_doubtful
        attempts, open_until = body.get("attempts", 0), body.get("open_until", 0.0)
        item.is_doubtful = True
        body["attempts"], body["open_until"] = attempts + 1, time.time() + LATE_S
        self._outbox.keep(item)
        try:
            made = self._manager.conclude(*pair, batch, item.session, self._has_ended)
        except Fault as fault:
            is_answered = fault.status > 0 and fault.end == "answered"
            if fault.kind == "away" or is_answered:
                # This one stored nothing; an answer of 500 is looked after all the same.
                body["attempts"], body["open_until"] = attempts, open_until
                item.is_doubtful = was_doubtful or fault.kind == "busy"
            elif self._has_ended() or fault.end == "given up":
                pass
            else:
                lost_until = time.time() + LOST_S if fault.end == "lost" else 0.0
                body["open_until"] = max(open_until, lost_until)
            self._outbox.keep(item)
            raise
        body["mine"] = made

    def _before(self, pair: tuple[str, str], text: str) -> list[str] | None:
        """The copies that are there before the first attempt; None if the server does not tell."""
        try:
            return self._manager.copies(*pair, text, _BEFORE_S)
        except Fault as fault:
            if fault.kind in ("away", "denied"):
                raise
            return None

    def _found(self, pair: tuple[str, str], text: str, before: list[str] | None) -> list[str]:
        there = self._manager.copies(*pair, text, READ_S)
        return [each for each in there if each not in (before or ())]

    def _may_repeat(self, item: Item) -> bool:
        """True if an earlier request is over, as far as time can tell; else sets the next look."""
        open_until = float(item.body.setdefault("open_until", time.time() + LATE_S))
        if not open_until:
            return True
        # A clock that was set back makes nobody wait longer.
        left_s = min(open_until - time.time(), LATE_S)
        since = self._answers_since or time.monotonic()
        left_s = max(left_s, since + lane.GRACE_S - time.monotonic())
        item.due_at = time.monotonic() + min(max(left_s, 0.0), _LOOK_S)
        return left_s <= 0

    # -- copies -----------------------------------------------------------------------------------

    def _once(self, item: Item, batch: list[str]) -> list[str]:
        """The ids of a batch that is there; copies that other attempts made are removed."""
        body, pair = item.body, (item.body["observer"], item.body["observed"])
        usual: dict[str, Any] = {"before": None, "attempts": 0, "mine": []}
        told = {key: body.get(key, value) for key, value in usual.items()} | {"batch": batch}
        if told["attempts"] > 1:
            body["watch"] = [*body.get("watch", ()), told]
        elif told["mine"]:
            return list(told["mine"])
        try:
            return self._thinned(pair, told)
        except Fault as fault:
            log.debug("honcho: copies cannot be looked for: %s", fault)
            return list(told["mine"]) or [""] * len(batch)

    def _thinned(self, pair: tuple[str, str], told: dict[str, Any]) -> list[str]:
        """
        Remove the copies of a batch beyond the first; gives the ids of those that stay.

        A copy is this provider's own if the server gave its id to a repeat, or if it was not there
        before the first attempt, of as many as there were repeats.
        """
        kept: list[str] = []
        mine, before = set(told["mine"]), told["before"]
        for place, (text, wanted) in enumerate(collections.Counter(told["batch"]).items()):
            # Earlier copies are known of the first part; a batch is stored whole.
            known = before if place == 0 else before or None
            is_known = before is not None and (place == 0 or not before)
            fresh = self._found(pair, text, known)
            # Of copies, those that a repeat made go first.
            mine_last = sorted(fresh, key=lambda each: each in mine)
            spare = mine_last[wanted:]
            if not is_known:
                spare = [each for each in spare if each in mine]
            for each in spare[: max(0, told["attempts"] - 1) * wanted]:
                self._removed(pair, each)
            kept += mine_last[:wanted]
        return kept

    def _removed(self, pair: tuple[str, str], conclusion_id: str) -> None:
        try:
            self._manager.remove(*pair, conclusion_id)
        except Fault as fault:
            if fault.kind != "missing":
                raise

    def _look_after(self, item: Item) -> None:
        """Remove what earlier attempts stored late; the last look lets go of the item."""
        body = item.body
        passed_s = WATCH_S[-1] - (float(body["watch_until"]) - time.time())
        try:
            for told in body["watch"]:
                self._thinned((body["observer"], body["observed"]), told)
        except Fault as fault:
            log.debug("honcho: copies cannot be looked for: %s", fault)
        later = [each for each in WATCH_S if each > max(passed_s, 0.0)]
        if later and passed_s >= 0.0:
            item.due_at = time.monotonic() + later[0] - passed_s
        else:
            self._outbox.unwatch(item)


def _key(item: Item) -> tuple[Any, ...]:
    body = item.body
    return (body.get("about"), body["text"], item.place["user"], item.place["ai"])


def _pair(item: Item, seen: Observation) -> tuple[str, str]:
    """Observer and observed: the one who is asked in a session where they watch so."""
    user, ai = item.place["user"], item.place["ai"]
    if item.body["about"] == "ai":
        return ai, ai
    return (ai if seen.ai_others else user), user
