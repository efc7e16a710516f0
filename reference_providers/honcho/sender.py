"""Brings what was accepted to the server: one thread, in order, each thing once."""

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

from . import texts
from .manager import Fault, HonchoManager
from .outbox import Item, Outbox
from .values import Observation

log = logging.getLogger("memproto.honcho")

#: What one request may hold; the server takes 100 messages.
MOST_MESSAGES, MOST_CHARS = 100, 1_000_000

#: A request that was given up may still be done after the server works again; so long is waited
#: between two looks before the same is sent again.
GRACE_S = 1.0

#: Between two attempts.
_FIRST_S, _LONGEST_S = 0.5, 30.0

#: The most pages of conclusions that are looked through for one that may be there.
_PAGES = 20


class Sender:
    """
    Sends the ready items of an outbox whenever it is kicked, and again until the server has them.

    Attributes:
        fault: Why the last attempt failed; None after one that did not.
        sent: How many items the server took.

    """

    def __init__(self, outbox: Outbox, manager: HonchoManager, observation: Observation) -> None:
        self._outbox = outbox
        self._manager = manager
        self._observation = observation
        self._state = threading.Condition()
        self._is_kicked = False
        self._is_stopped = False
        self._attempts = 0
        self._is_busy = False
        self._failures = 0
        self._answers_since: float | None = None
        self.fault: Fault | None = None
        self.sent = 0
        self._thread = threading.Thread(target=self._run, name="honcho-sender", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def kick(self) -> None:
        """Send what is ready, without a wait for it."""
        with self._state:
            self._is_kicked = True
            self._state.notify_all()

    def flush(self, budget_s: float) -> bool:
        """Send what is ready and wait; False where some of it is not on the server yet."""
        until = time.monotonic() + budget_s
        with self._state:
            # An attempt that is under way may have begun before what is waited for was there.
            wanted = self._attempts + (2 if self._is_busy else 1)
            self._is_kicked = True
            self._state.notify_all()
            while self._attempts < wanted or self._is_busy:
                rest_s = until - time.monotonic()
                if rest_s <= 0 or self._is_stopped:
                    break
                self._state.wait(rest_s)
                if not self._is_busy and not self._outbox.ready():
                    break
        return not self._outbox.ready()

    def is_idle(self) -> bool:
        """Whether everything that is ready was sent."""
        return not self._outbox.ready()

    def wait_idle(self, budget_s: float) -> None:
        """Wait until everything that is ready was sent, or an attempt failed."""
        until = time.monotonic() + budget_s
        with self._state:
            before = self._failures
            while self._outbox.ready() and self._failures == before and not self._is_stopped:
                rest_s = until - time.monotonic()
                if rest_s <= 0:
                    return
                self._state.wait(rest_s)

    def stop(self) -> None:
        """Make no further attempt."""
        with self._state:
            self._is_stopped = True
            self._state.notify_all()

    def join(self, budget_s: float) -> None:
        """Wait for the thread."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, budget_s))

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._wait():
            try:
                fault = self._attempt()
            except Exception as error:
                # A thread that ends here would end the sending for good.
                log.warning("honcho: sending failed: %s", type(error).__name__)
                fault = Fault("unsure", f"sending failed ({type(error).__name__})")
            self._noted(fault)

    def _wait(self) -> bool:
        """Wait until there is something to do; False at the end."""
        with self._state:
            while not self._is_stopped:
                if self._is_kicked:
                    break
                pause_s = self._pause_s() if self._outbox.ready() else None
                if pause_s is not None and pause_s <= 0:
                    break
                # A notification comes with a kick, and early returns look again.
                if not self._state.wait(pause_s) and pause_s is not None:
                    break
            self._is_kicked = False
            self._is_busy = not self._is_stopped
            return self._is_busy

    def _pause_s(self) -> float:
        if self.fault is None:
            return 0.0
        if self.fault.retry_after_s is not None:
            return max(self.fault.retry_after_s, _FIRST_S)
        return float(min(_LONGEST_S, _FIRST_S * 2 ** min(self._failures, 8)))

    def _noted(self, fault: Fault | None) -> None:
        if fault is not None and (self.fault is None or self.fault.kind != fault.kind):
            log.warning("honcho: %s; %d items wait", fault, self._outbox.count())
        with self._state:
            self.fault = fault
            self._failures = 0 if fault is None else self._failures + 1
            if fault is not None:
                self._answers_since = None
            self._attempts += 1
            self._is_busy = False
            self._state.notify_all()

    # -- one attempt ------------------------------------------------------------------------------

    def _attempt(self) -> Fault | None:
        """Send what is ready; gives the fault that stopped it."""
        worst: Fault | None = None
        stuck: set[str] = set()
        for batch in self._batches():
            if self._is_stopped:
                return worst
            if batch[0].session in stuck:
                continue
            try:
                self._send(batch)
            except Fault as fault:
                worst = fault
                if fault.kind != "missing":
                    return worst
                # One session may be gone, and the others not.
                stuck.add(batch[0].session)
        return worst

    def _batches(self) -> Iterator[list[Item]]:
        """Neighbours of one session that were never sent go together, all others alone."""
        batch: list[Item] = []
        room = 0
        for item in self._outbox.ready():
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
        if batch[0].kind == "conclusion":
            self._conclude(batch[0])
        elif len(batch) > 1:
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
        """Whether the server takes them; what it takes is stored beside what it refuses."""
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
        left_s = self._answers_since + GRACE_S - time.monotonic()
        if left_s <= 0:
            return False
        with self._state:
            self._state.wait_for(lambda: self._is_stopped, left_s)
        if self._is_stopped:
            raise Fault("unsure", "the end came first")
        return True

    def _conclude(self, item: Item) -> None:
        body = item.body
        pair = (body["observer"], body["observed"])
        known = self._known(pair, item) if item.is_doubtful else set()
        self._outbox.doubt([item])
        refused = False
        for text in texts.parts(texts.sent(body["text"]), texts.CONCLUSION_CHARS):
            if text in known:
                continue
            try:
                body["made"] = self._manager.conclude(*pair, text, item.session)
            except Fault as fault:
                if fault.kind != "refused":
                    raise
                refused = True
                log.warning("honcho: the server refuses a conclusion; it may lack embeddings")
        self._finished([item], "refused" if refused else "sent")

    def _known(self, pair: tuple[str, str], item: Item) -> set[str]:
        """The conclusions that are there, looked for after the time that a late one needs."""
        known: set[str] = set()
        for page in range(1, _PAGES + 1):
            rows = self._manager.conclusions(*pair, page)
            if page == 1 and self._settles():
                rows = self._manager.conclusions(*pair, page)
            known |= {row.content for row in rows}
            if not rows:
                break
        return known

    def _finished(self, items: list[Item], state: str = "sent") -> None:
        self._outbox.done(items, state)
        self.sent += len(items)
        with self._state:
            self._state.notify_all()


def _go_together(one: Item, other: Item) -> bool:
    plain = all(
        item.kind == "turn" and not item.is_doubtful and "if_empty" not in item.body
        for item in (one, other)
    )
    return plain and one.session == other.session


def _messages(item: Item) -> list[dict[str, Any]]:
    """The messages of a turn, each part of a long text one of them."""
    made: list[dict[str, Any]] = []
    most = item.body.get("most", texts.MESSAGE_CHARS)
    for peer, text, said_at in item.body["texts"]:
        for part in texts.parts(texts.sent(text), most):
            about = {"turn_id": item.id, "part": len(made), **item.body.get("about", {})}
            message = {"content": part, "peer_id": peer, "metadata": about}
            made.append({**message, "created_at": said_at} if said_at else message)
    return made
