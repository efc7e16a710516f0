"""Brings turns to the server: in order, each once."""

import logging
import time
from collections.abc import Iterator
from typing import Any

from . import lane, texts
from .lane import UploadLane
from .manager import Fault, HonchoManager
from .outbox import Item, Outbox
from .values import Observation

log = logging.getLogger("memproto.honcho")

#: The most that one request may hold; the server takes 100 messages.
MOST_MESSAGES, MOST_CHARS = 100, 1_000_000

#: After so many failures at a turn a later one is tried.
_PATIENCE = 3


class Turns(UploadLane):
    """Turns as messages, each part of a long text one of them."""

    kind = "turn"

    def __init__(self, outbox: Outbox, manager: HonchoManager, observation: Observation) -> None:
        super().__init__(outbox)
        self._manager = manager
        self._observation = observation

    def _pause_s(self) -> float | None:
        return lane.backoff_s(self._failures, self.fault) if self._ready() else None

    # -- one attempt ------------------------------------------------------------------------------

    def _attempt(self) -> Fault | None:
        worst: Fault | None = None
        stuck: set[str] = set()
        suspects: list[Item] = []
        for batch in self._batches():
            if self._is_stopped:
                return worst
            if batch[0].session in stuck:
                continue
            try:
                self._send(batch)
            except Fault as fault:
                worst = fault
                if fault.kind == "missing":
                    # One session may be gone, and the others not.
                    stuck.add(batch[0].session)
                elif fault.status != 500 or not self._may_probe(batch, suspects):
                    return worst
            else:
                # The server works: it fails at these, and the others wait for them no more.
                for item in suspects:
                    item.is_passed_over = True
        return worst

    @staticmethod
    def _may_probe(batch: list[Item], suspects: list[Item]) -> bool:
        """
        True if a later turn is tried after the server failed at these: it may be they, or all.

        A server that fails at everything is to get the turns in order, so that none is passed over
        until a later one was stored.
        """
        suspects += batch
        for item in batch:
            item.failures += 1
        most = suspects[0].failures
        return most >= _PATIENCE and len(suspects) <= most

    def _batches(self) -> Iterator[list[Item]]:
        """Neighbours of one session that were never sent go together, all others alone."""
        batch: list[Item] = []
        room = 0
        for item in sorted(self._ready(), key=lambda item: item.is_passed_over):
            size = sum(len(text) for _, text, _ in item.body.get("texts", ()))
            room += size
            fits = len(batch) < MOST_MESSAGES // 4 and room <= MOST_CHARS
            if batch and not (fits and _go_together(batch[-1], item)):
                yield batch
                batch, room = [], size
            batch.append(item)
        if batch:
            yield batch

    def _send(self, batch: list[Item]) -> None:
        self._manager.ready(batch[0].place, self._observation)
        if len(batch) > 1:
            self._post_together(batch)
        else:
            self._post_alone(batch[0])

    def _post_together(self, batch: list[Item]) -> None:
        messages = [message for item in batch for message in _messages(item)]
        if len(messages) > MOST_MESSAGES:
            for item in batch:
                self._post_alone(item)
            return
        try:
            self._post(batch, messages)
        except Fault as fault:
            if fault.kind != "refused":
                raise
            # One of them is at fault; nothing was stored.
            for item in batch:
                self._post_alone(item)
            return
        self._finished(batch)

    def _post_alone(self, item: Item) -> None:
        messages = _messages(item)
        if item.body.get("if_empty") and not self._manager.is_empty(item.session):
            self._finished([item])
            return
        if item.is_doubtful:
            there = self._there(item, len(messages))
            messages = [message for message in messages if message["metadata"]["part"] not in there]
        refused = False
        for start in range(0, len(messages), MOST_MESSAGES):
            refused |= not self._posted(item, messages[start : start + MOST_MESSAGES])
        if refused:
            log.warning("honcho: the server refuses a text of turn %s", item.id[:40])
        self._finished([item], "refused" if refused else "sent")

    def _posted(self, item: Item, messages: list[dict[str, Any]]) -> bool:
        """True if the server takes them; what it takes is stored beside what it refuses."""
        try:
            self._post([item], messages)
        except Fault as fault:
            if fault.kind != "refused":
                raise
            if len(messages) == 1:
                return False
            taken = [self._posted(item, [message]) for message in messages]
            return all(taken)
        return True

    def _post(self, items: list[Item], messages: list[dict[str, Any]]) -> None:
        if self._is_stopped:
            # The outbox may be another session's soon, which sends what is left.
            raise Fault("away", "the end came first")
        known = [item for item in items if not item.is_doubtful]
        self._outbox.doubt(items)
        try:
            self._manager.post(items[0].session, messages)
        except Fault as fault:
            if fault.kind in ("away", "refused"):
                self._outbox.trust(known)
            raise

    def _there(self, item: Item, count: int) -> set[int]:
        """The parts that the server has; looked for again while an earlier attempt may run."""
        there = self._manager.parts(item.session, item.id)
        if len(there) >= count or item.body.get("is_checked") or not self._settles():
            return there
        return self._manager.parts(item.session, item.id)

    def _settles(self) -> bool:
        """Wait until the server has answered for a while; whether that took a wait."""
        if self._answers_since is None:
            self._answers_since = time.monotonic()
        left_s = self._answers_since + lane.GRACE_S - time.monotonic()
        if left_s <= 0:
            return False
        with self._state:
            self._state.wait_for(lambda: self._is_stopped, left_s)
        if self._is_stopped:
            raise Fault("unsure", "the end came first")
        return True


def _go_together(one: Item, other: Item) -> bool:
    plain = all(
        not (item.is_doubtful or item.failures or "if_empty" in item.body) for item in (one, other)
    )
    return plain and one.session == other.session


def _messages(item: Item) -> list[dict[str, Any]]:
    """The messages of a turn, each part of a long text one of them."""
    made: list[dict[str, Any]] = []
    most = item.body.get("most", texts.MESSAGE_CHARS)
    for peer, text, said_at in item.body["texts"]:
        for part in texts.parts(texts.sent(text), most):
            noted = texts.sent_whole(item.body.get("about", {}))
            about = {"turn_id": item.id, "part": len(made), **noted}
            message = {"content": part, "peer_id": peer, "metadata": about}
            made.append({**message, "created_at": said_at} if said_at else message)
    return made
