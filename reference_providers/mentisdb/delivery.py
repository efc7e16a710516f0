"""Accepted thoughts on their way to the daemon: sent, or kept in the home until they are."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterable, Iterator, Sequence

from memproto.errors import Rejected, TooLarge, Unavailable, WriteRefused
from memproto.reference_providers.outbox import Entry, Outbox, OutboxFull

from .daemon import Daemon, Thought, Unanswered
from .standing import Standing, logger

#: A daemon that answers again has done by then what came before.
_CALM_S = 2.0

_FULL = "too much waits for the daemon; start it, or look into the provider's home"


@dataclasses.dataclass(frozen=True)
class Parcel:
    """
    One thought to be stored once.

    Attributes:
        thought: The thought that the daemon gets.
        unless: Tags by which it is known to be stored already.
        is_new: True if nobody can have sent it before.

    """

    thought: Thought
    unless: tuple[str, ...]
    is_new: bool = True


class _OutOfTime(Unavailable):
    """The hook's time is over; nothing is wrong with the daemon."""


class Delivery:
    """
    The way of parcels to the daemon, in their order.

    Each is written into the outbox first, and removed when the daemon has confirmed it. One whose
    answer did not come is looked up before it is sent again, and not before the daemon has answered
    for a while: one that stood still may carry it out first. Later thoughts wait behind it.

    Attributes:
        lost: Number of accepted thoughts that the daemon has refused for good.

    """

    def __init__(self, daemon: Daemon, outbox: Outbox, standing: Standing) -> None:
        self.lost = 0
        self._daemon = daemon
        self._outbox = outbox
        self._standing = standing
        # One that knows its thread: Ctrl+C may come before it is known here whether it was taken.
        self._lock = threading.RLock()
        self._sends = 0
        self._uncertain: set[str] = set()
        self._calm_at: float | None = None

    def waiting(self) -> int:
        """Number of accepted thoughts of this home that are not confirmed."""
        return self._outbox.count()

    def keep(self, parcels: Sequence[Parcel], budget_s: float) -> bool:
        """
        Accept parcels: whether they are stored when this returns, or wait in the home.

        Raises:
            Rejected: The daemon refuses one; it does not wait. `TooLarge` where it is too long.
            WriteRefused: Too much waits.
            Unavailable: The daemon is away, and the home cannot be written.

        """
        held: list[tuple[Parcel, Entry | None]] = []
        try:
            held.extend((parcel, self._put(parcel)) for parcel in parcels)
            return self._send_all(held, time.monotonic() + budget_s)
        except (Rejected, TooLarge, WriteRefused):
            for _, entry in held:
                if entry is not None:
                    entry.done()
            raise
        finally:
            for _, entry in held:
                if entry is not None:
                    entry.release()

    def _put(self, parcel: Parcel) -> Entry | None:
        try:
            return self._outbox.put({"thought": parcel.thought, "unless": parcel.unless})
        except OutboxFull:
            raise WriteRefused(_FULL) from None
        except OSError:
            # It is accepted only if the daemon confirms it.
            return None

    def _send_all(self, held: Sequence[tuple[Parcel, Entry | None]], ends: float) -> bool:
        try:
            with self._turn(ends):
                self._is_to_be_asked()
                mine = {entry.name for _, entry in held if entry is not None}
                self._send_older(mine, ends)
                for parcel, entry in held:
                    self._send_own(parcel, entry, ends)
        except Unavailable:
            if any(entry is None for _, entry in held):
                raise
            return False
        return True

    @contextlib.contextmanager
    def _turn(self, ends: float) -> Iterator[None]:
        """One thread sends at a time; to wait for another is time of the hook."""
        mine = threading.get_ident()
        if self._sends == mine:
            raise _OutOfTime("this hook is sending already")
        try:
            if not self._lock.acquire(timeout=max(0.0, ends - time.monotonic())):
                raise _OutOfTime("another hook is sending")
            self._sends = mine
            yield
        finally:
            if self._sends == mine:
                self._sends = 0
            # Not taken after all where this raises.
            with contextlib.suppress(RuntimeError):
                self._lock.release()

    def _is_to_be_asked(self) -> None:
        if self._standing.is_resting():
            raise Unavailable(self._standing.fault)

    def _send_own(self, parcel: Parcel, entry: Entry | None, ends: float) -> None:
        self._send(parcel, entry.name if entry else "", ends)
        if entry is not None:
            entry.done()

    def _send(self, parcel: Parcel, name: str, ends: float) -> None:
        try:
            if parcel.is_new or not self._is_stored(parcel, ends):
                if name in self._uncertain:
                    self._needs_calm()
                self._daemon.append(parcel.thought, _left_s(ends))
        except _OutOfTime:
            raise
        except Unavailable as away:
            if isinstance(away, Unanswered):
                self._uncertain.add(name)
            self._calm_at = None
            self._standing.failed(away)
            raise
        self._standing.served()

    def _is_stored(self, parcel: Parcel, ends: float) -> bool:
        chain = parcel.thought["chain_key"]
        with contextlib.suppress(Rejected):
            return bool(self._daemon.tagged(parcel.unless, _left_s(ends), chain))
        return False

    def _needs_calm(self) -> None:
        """Go on only if what the daemon may still have in its hands is done by now."""
        if self._calm_at is None:
            # It has just answered, for the first time since.
            self._calm_at = time.monotonic() + _CALM_S
        if time.monotonic() < self._calm_at:
            raise _OutOfTime("the daemon may still carry out what it did not answer")

    def stored(self, tags: Iterable[str], budget_s: float) -> set[str]:
        """Tags of these that a thought of this chain has. Raises `Unavailable`."""
        wanted = set(tags)
        self._is_to_be_asked()
        try:
            found = self._daemon.tagged(wanted, budget_s)
        except Unavailable as away:
            self._standing.failed(away)
            raise
        return wanted.intersection(tag for thought in found for tag in thought["tags"])

    # -- what waits --------------------------------------------------------------------------------

    def flush(self, budget_s: float) -> None:
        """Send what waits, as far as the daemon takes it in this time; raises nothing."""
        ends = time.monotonic() + budget_s
        with contextlib.suppress(Unavailable, OSError), self._turn(ends):
            self._send_older(set(), ends)

    def _send_older(self, mine: set[str], ends: float) -> None:
        """Sends the waiting thoughts of this chain, and then those of others of this home."""
        others = []
        for entry in self._outbox.entries():
            if entry.name in mine:
                continue
            if not self._is_taken(entry, ends, self._daemon.chain):
                others.append(entry)
        for entry in others:
            self._is_taken(entry, ends, "")

    def _is_taken(self, entry: Entry, ends: float, chain: str) -> bool:
        """Send an entry unless it is of another chain than the one that is asked for."""
        if not entry.claim():
            return True
        try:
            parcel = _parcel(entry)
            if parcel is None:
                self._give_up(entry, "it is none of this provider's")
            elif chain and parcel.thought["chain_key"] != chain:
                return False
            else:
                self._send_waiting(entry, parcel, ends)
        finally:
            entry.release()
        return True

    def _send_waiting(self, entry: Entry, parcel: Parcel, ends: float) -> None:
        try:
            self._send(parcel, entry.name, ends)
        except (Rejected, TooLarge) as refusal:
            self._give_up(entry, str(refusal))
        else:
            entry.done()
            self._uncertain.discard(entry.name)

    def _give_up(self, entry: Entry, why: str) -> None:
        self.lost += 1
        logger.warning("a thought that waited is put aside: %s", why)
        entry.refuse()


def _parcel(entry: Entry) -> Parcel | None:
    thought, unless = entry.content.get("thought"), entry.content.get("unless")
    if not isinstance(thought, dict) or not isinstance(thought.get("chain_key"), str):
        return None
    if not isinstance(unless, list) or not all(isinstance(tag, str) for tag in unless):
        return None
    return Parcel(thought, tuple(unless), is_new=False)


def _left_s(ends: float) -> float:
    left_s = ends - time.monotonic()
    if left_s <= 0:
        raise _OutOfTime("no time is left to ask the daemon")
    return left_s
