"""Hosts that are broken at the end."""

import dataclasses
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.shutdown import Ending
from tests.broken.host.parts import OtherLane, Through, WallClock, Wrapping
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-SHUT-004", says="turns that were given up", report="hermes#61794")
class SaysNothingOfWhatItGaveUp(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if not event.lost and event.outcome != "abandoned":
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-SHUT-006", says="which raised", report="B7")
class SaysNothingOfAnEndThatFailed(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if event.hook != "shutdown":
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-SHUT-006", says="which had not returned", report="B7")
class SaysNothingOfAnEndThatHangs(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if (event.hook, event.outcome) != ("shutdown", "late"):
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


class _Undrained(ProviderLane):
    def _busy_until(self, limit):
        # An end that waits is lost or not by the threads' luck; it is another requirement's.
        return super()._busy_until(limit) if "sessions" in self.extensions else -math.inf


@mutant(kills="MP-HOST-SHUT-001", says="came before it", report="A7")
class ShutsDownWithoutDraining(OtherLane):
    lane = _Undrained


@mutant(kills="MP-HOST-SHUT-002", says="2 calls", report="A8")
class ShutsDownAgain(MemoryProviderRegistry):
    def shutdown_all(self):
        for lane in self._core.ended:
            lane.attempt("shutdown")
        super().shutdown_all()


@mutant(kills="MP-HOST-SHUT-003", says="had not returned", report="B5")
class WaitsForEveryShutdown(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        patient = dataclasses.replace(deadlines or Deadlines(), shutdown_s=3600)
        super().__init__(deadlines=patient, on_event=on_event)


@mutant(kills="MP-HOST-SHUT-003", says="had not returned", report="B5")
class EndsOneAfterTheOther(MemoryProviderRegistry):
    def shutdown_all(self):
        with self._core.lock:
            lanes, self._core.lanes = self._core.lanes, ()
        for lane in lanes:
            Ending([lane], self._core.clock, self._core.deadlines.shutdown_s).begin().wait()


@mutant(kills="MP-HOST-SHUT-005", says="more threads", report="C4")
class LeavesAWatcherWithEachSession(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        super().initialize_all(session_key, config)


class _Abandoned(Through):
    is_busy = False

    def enrich_turn(self, user_message, messages):
        self.is_busy = True
        answer = self.inner.enrich_turn(user_message, messages)
        self.is_busy = False
        return answer

    def shutdown(self):
        if not self.is_busy:
            self.inner.shutdown()


@mutant(kills="MP-HOST-SHUT-002", says="that hangs in a recall", report="B10")
class ShutsDownNoneThatHangsInARecall(Wrapping):
    through = _Abandoned


_POOL = ThreadPoolExecutor(64)


class _Pooled(Through):
    def enrich_turn(self, user_message, messages):
        return _POOL.submit(self.inner.enrich_turn, user_message, messages).result()


@mutant(kills="MP-HOST-SHUT-007", says="enrich_turn hangs on", report="B5")
class RecallsOnThreadsThatAreJoined(Wrapping):
    through = _Pooled


class _DrainedWhenEmpty(ProviderLane):
    def _busy_until(self, limit):
        waiting = set(self._accepted) - {self._in_hand}
        return limit if waiting else self._flying_until(limit)


@mutant(kills="MP-HOST-SHUT-001", says="it came while that write ran", report="B7")
class DoesNotWaitForTheWriteInHand(OtherLane):
    lane = _DrainedWhenEmpty


class _Undeclared(Through):
    is_dropped = False

    def capabilities(self):
        self.is_dropped = True
        declared = self.inner.capabilities()
        self.is_dropped = False
        return declared

    def shutdown(self):
        if not self.is_dropped:
            self.inner.shutdown()


@mutant(kills="MP-HOST-SHUT-002", says="0 calls", report="C4")
class LeavesOpenWhatCouldNotSayWhatItServes(Wrapping):
    through = _Undeclared


@mutant(kills="MP-HOST-SHUT-004", says="turns that were given up", report="hermes#61794")
class SaysItOfOneProviderOnly(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        told = []

        def hear(event):
            told.extend([event.provider] * event.lost)
            if not event.lost or event.provider == told[0]:
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-SHUT-001", says="the number of the turns", report="H4")
class SaysNotHowManyItGaveUp(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        super().__init__(deadlines=deadlines, on_event=lambda event: on_event(_unnumbered(event)))


def _unnumbered(event):
    return dataclasses.replace(event, lost=0)


class _Prepared(Through):
    def queue_prefetch(self, query, *, session_id=""):
        with self.registry.preparing:
            self.inner.queue_prefetch(query, session_id=session_id)


@mutant(kills="MP-HOST-SHUT-003", says="had not returned", report="B5")
class WaitsForPreparations(Wrapping):
    through = _Prepared

    def __init__(self, *, deadlines=None, on_event=None):
        super().__init__(deadlines=deadlines, on_event=on_event)
        self.preparing = threading.Lock()

    def shutdown_all(self):
        with self.preparing:
            super().shutdown_all()


@mutant(kills="MP-HOST-SHUT-003", says="while the wall clock stands still", report="B5")
class LeavesByTheWallClock(MemoryProviderRegistry):
    def shutdown_all(self):
        ending, until = self.begin_end(), time.time() + self._core.deadlines.shutdown_s
        while ending is not None and ending._open and time.time() < until:
            time.sleep(0.01)
        super().shutdown_all()


@mutant(kills="MP-HOST-SHUT-004", says="neither event nor log has it", report="H4")
class CountsWhatWaitsAlone(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if event.lost != 1:
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


class _DrainsByTheWallClock(ProviderLane):
    def run_close(self, drain_until, until):
        self._clock, away = WallClock(), time.time() - time.monotonic()
        super().run_close(drain_until + away, until + away)


@mutant(kills="MP-HOST-SHUT-001", says="though the wall clock jumps", report="J4")
class DrainsByTheWallClock(OtherLane):
    lane = _DrainsByTheWallClock


@mutant(kills="MP-HOST-SHUT-003", says="had not returned", report="B5")
class HasABudgetForItsDrainAndOneForTheRest(MemoryProviderRegistry):
    def shutdown_all(self):
        self.flush(self._core.deadlines.shutdown_s)
        super().shutdown_all()
