"""Hosts whose scrubber is broken."""

import re

import memproto
from memproto import fence
from memproto.registry import MemoryProviderRegistry
from tests.broken.hosts_fence import Fence
from tests.broken.marks import mutant

_Good = memproto.StreamingContextScrubber


class _ByLowerCase(_Good):
    """Looks for the tag in a lower-cased copy, and cuts the text at the copy's offset."""

    def feed(self, chunk):
        place = chunk.lower().find(fence.OPEN_TAG)
        if place < 0 or len(chunk.lower()) == len(chunk):
            return super().feed(chunk)
        return super().feed(chunk[:place] + chunk[place + 1 :])


class _LowerCase(Fence):
    StreamingContextScrubber = _ByLowerCase


@mutant(kills="MP-HOST-FENCE-017", says="as in one piece", report="F1")
class CutsAtAnOffsetOfTheLowerCase(MemoryProviderRegistry):
    fence = _LowerCase()


class _Inline(Fence):
    class StreamingContextScrubber:
        def __init__(self):
            self.held = ""

        def feed(self, chunk):
            self.held += chunk
            return ""

        def flush(self):
            return re.sub(r"(?ms)^<memory-context>$.*?(</memory-context>|\Z)", "", self.held)


class _Waiting(Fence):
    class StreamingContextScrubber(_Good):
        def feed(self, chunk):
            self.held = getattr(self, "held", "") + super().feed(chunk)
            return ""

        def flush(self):
            return getattr(self, "held", "") + super().flush()


@mutant(kills="MP-HOST-FENCE-019", says="held back", report="F1")
class WaitsForTheEndOfTheStream(MemoryProviderRegistry):
    fence = _Waiting()


class _Greedy(Fence):
    class StreamingContextScrubber(_Good):
        def feed(self, chunk):
            return super().feed(chunk).replace("\u0130", "I")

        def flush(self):
            return super().flush().replace("\u0130", "I")


@mutant(kills="MP-HOST-FENCE-018", says="as it was", report="F1")
class ChangesLettersOnTheWay(MemoryProviderRegistry):
    fence = _Greedy()
