"""Hosts that are broken in compression."""

import dataclasses
import time

from memproto.deadlines import Deadlines, Limits
from memproto.fence import build_memory_context_block, parse_memory_context
from memproto.registry import MemoryProviderRegistry
from tests.broken.host.parts import LateLane, OtherLane, WallClock, by_the_wall_clock, leaving_out
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-COMP-002", says="the host had gone on", report="hermes#47202")
class HardlyWaitsForCompression(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        hasty = dataclasses.replace(deadlines or Deadlines(), compress_s=0.4)
        super().__init__(deadlines=hasty, on_event=on_event)


@mutant(kills="MP-HOST-COMP-003", says="for the model that summarizes", report="hermes#7192")
class ThrowsTheNotesAway(MemoryProviderRegistry):
    def compress_notes(self, messages):
        super().compress_notes(messages)
        return ""


@mutant(kills="MP-HOST-COMP-004", says="they were let go", report="I2")
class DiscardsWhateverACheckpointSays(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        super().on_compress(messages, compression_count)


@mutant(kills="MP-HOST-COMP-004", says="had not returned at the deadline", report="I2")
class DiscardsWhatALateCheckpointHolds(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        refused = super().on_compress(messages, compression_count)
        has_raised = refused and not {"late", "stuck"} & set(refused.reasons.values())
        return refused if has_raised else None


@mutant(kills="MP-HOST-COMP-003", says="for the model that summarizes", report="I1")
class TakesTheLastNotesOnly(MemoryProviderRegistry):
    def compress_notes(self, messages):
        last = parse_memory_context(super().compress_notes(messages))[-1:]
        return build_memory_context_block(last)


@mutant(kills="MP-HOST-COMP-005", says="in the context 'cron'", report="F6")
class KeepsTheMessagesOfAJob(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        called, self._core.writes_are_called = self._core.writes_are_called, True
        refused = super().on_compress(messages, compression_count)
        self._core.writes_are_called = called
        return refused


@mutant(kills="MP-HOST-COMP-006", says="fewer than", report="D6")
class TakesNotesOfAnyLength(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        limits = Limits(notes_chars=10**9)
        super().__init__(deadlines=deadlines, limits=limits, on_event=on_event)


@mutant(kills="MP-HOST-COMP-004", says="had not when it was asked before", report="I1")
class LetsGoWhatAStuckOneDoesNotHave(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        stuck = {lane.label for lane in self._core.lanes if lane.late["on_compress"]}
        refused = super().on_compress(messages, compression_count)
        return refused if refused and set(refused.reasons) - stuck else None


@mutant(kills="MP-HOST-COMP-006", says="fewer than", report="D6")
class CountsTheLinesOfNotes(MemoryProviderRegistry):
    def compress_notes(self, messages):
        self._core.limits = dataclasses.replace(self._core.limits, notes_chars=10**9)
        return "\n".join(super().compress_notes(messages).split("\n")[:200])


@mutant(kills="MP-HOST-COMP-002", says="had gone on before", report="I2")
class WaitsForCompressionAsForRecall(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        own = self._core.deadlines
        self._core.deadlines = dataclasses.replace(own, compress_s=own.enrich_s)
        try:
            return super().on_compress(messages, compression_count)
        finally:
            self._core.deadlines = own


@mutant(kills="MP-HOST-COMP-004", says="they were let go", report="I2")
class DiscardsWhatOneOfThemHas(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        refused = super().on_compress(messages, compression_count)
        asked = self._core.serving("checkpoint")
        return refused if refused and len(refused.reasons) == len(asked) else None


@mutant(kills="MP-HOST-COMP-004", says="raised SystemExit", report="I2")
class TakesAnExitForAReturn(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        refused = super().on_compress(messages, compression_count)
        ends = {"SystemExit", "CancelledError"}
        return refused if refused and not ends.issuperset(refused.reasons.values()) else None


class _Leaping(WallClock):
    """Goes on while the wall clock stands still, and leaps with it."""

    def __init__(self):
        self.away = time.time() - time.monotonic()

    def now(self):
        return time.monotonic() + max(0.0, time.time() - time.monotonic() - self.away)

    def wait(self, condition, until):
        condition.wait(min(max(until - self.now(), 0.0), 0.05))


@mutant(kills="MP-HOST-COMP-002", says="though the wall clock jumps", report="J4")
class CompressesByAClockThatLeaps(MemoryProviderRegistry):
    on_compress = by_the_wall_clock("on_compress", _Leaping)


@mutant(kills="MP-HOST-COMP-002", says="was late, and has returned", report="L2")
class CompressesWithoutWhoWasLateOnce(OtherLane):
    lane = LateLane
    on_compress = leaving_out("on_compress", 1)
