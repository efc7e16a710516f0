"""Hosts that are broken in writes, in compression and at the end."""

import contextlib
import copy
import dataclasses
import math

from memproto.deadlines import Deadlines
from memproto.fence import strip_memory_context
from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.lanes import ProviderLane
from tests.broken.host.parts import Through, Wrapping
from tests.broken.marks import mutant


class OtherLane(MemoryProviderRegistry):
    lane = ProviderLane

    def register(self, provider):
        super().register(provider)
        self._core.registered[provider.name].__class__ = self.lane


class _Exiting(Through):
    def on_compress(self, messages, compression_count):
        try:
            self.inner.on_compress(messages, compression_count)
        except SystemExit as error:
            self.registry.exiting = error


@mutant(kills="MP-HOST-ISO-001", says="SystemExit in on_compress", report="H4")
class LetsAProviderExit(Wrapping):
    through = _Exiting
    exiting = None

    def on_compress(self, messages, compression_count):
        answer = super().on_compress(messages, compression_count)
        if self.exiting:
            raise self.exiting
        return answer


class _StopsAtTheFirst(Through):
    def on_turn_complete(self, user_message, assistant_response):
        if not self.registry.failed:
            self.inner.on_turn_complete(user_message, assistant_response)

    def on_memory_write(self, *args):
        try:
            self.inner.on_memory_write(*args)
        except ValueError:
            self.registry.failed = True
            raise


@mutant(kills="MP-HOST-ISO-001", says="on_turn_complete of", report="H4")
class OneFailureEndsTheWritesOfAll(Wrapping):
    through = _StopsAtTheFirst
    failed = False


class _Quiet(Through):
    def on_turn_complete(self, user_message, assistant_response):
        with contextlib.suppress(BaseException):
            self.inner.on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-ISO-003", says="on_turn_complete", report="H4")
class SwallowsWhatAWriteRaises(Wrapping):
    through = _Quiet


class _NewestFirst(ProviderLane):
    piled = ("on_turn_complete", "on_memory_write")

    def accept(self, hook, args, *rest, **more):
        if hook in self.piled:
            self.__dict__.setdefault("pile", []).append((hook, args))
        super().accept(hook, args, *rest, **more)

    def _deliver(self, hook, args):
        super()._deliver(*(self.pile.pop() if hook in self.piled else (hook, args)))


@mutant(kills="MP-HOST-TURN-001", says="instead of", report="B1")
class DeliversTheNewestFirst(OtherLane):
    lane = _NewestFirst


@mutant(kills="MP-HOST-TURN-002", says="had not returned", report="B4")
class WritesOnTheCallersThread(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        said = strip_memory_context(user_message)
        self._write("on_turn_complete", (said, assistant_response))

    def on_memory_write(self, *write, served_by=None):
        self._write("on_memory_write", write)

    def _write(self, hook, args):
        for lane in self._core.lanes if self._core.writes_are_called else ():
            _, error = lane.attempt(hook, *args)
            lane.tell(hook, "raised" if error else "ok", detail=error)


@mutant(kills="MP-HOST-TURN-003", says="memory-context", report="F2")
class RecordsTheEnrichedMessage(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        for lane in self._core.writable():
            lane.accept("on_turn_complete", (user_message, assistant_response))


class _Raw(Through):
    def on_compress(self, messages, compression_count):
        self.inner.on_compress(copy.deepcopy(self.registry.raw), compression_count)


@mutant(kills="MP-HOST-COMP-001", says="'type': 'text'", report="J1")
class HandsOverListsOfParts(Wrapping):
    through = _Raw

    def on_compress(self, messages, compression_count):
        self.raw = messages
        return super().on_compress(messages, compression_count)


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
