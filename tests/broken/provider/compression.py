"""Broken compression."""

from typing import Any

from tests.broken.marks import mutant
from tests.good.choosy import Choosy
from tests.good.journal import Journal


@mutant(kills="MP-COMP-001", says="an empty list", report="I2")
class CompressionNeedsAMessage(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        newest = messages[-1]["content"]
        super().on_compress([{"role": "user", "content": newest}], compression_count)


@mutant(kills="MP-COMP-002", says="messages became 0", report="J5")
class CompressionDrainsTheMessages(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        while messages:
            messages.pop(0)


@mutant(kills="MP-COMP-003", says="did not come back after a compression", report="A5")
class CompressionResetsTheJournal(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        with self._lock:
            self._entries = []
            self._save()


@mutant(kills="MP-COMP-003", says="did not come back after a compression", report="I2")
class TheSecondCompressionKeepsAnOutline(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        with self._lock:
            if compression_count > 1:
                self._entries = self._entries[:-1]
            self._save()


@mutant(kills="MP-COMP-003", says="did not come back after a compression", report="A5")
class CompressionForgetsWhatWasChosen(Choosy):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        with self._lock:
            self._entries = []
            self._save()
