"""Registries that make calls which the life of an instance does not allow."""

from memproto.registry import MemoryProviderRegistry
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-LIFE-001", says="`is_available` came", report="hermes#48204")
class AsksBeforeEachRecall(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        for lane in self._core.lanes:
            lane.attempt("is_available")
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-HOST-LIFE-001", says="on_turn_start", report="A3")
class TellsOfTurnsWhoeverHasTheHook(MemoryProviderRegistry):
    def on_turn_start(self, turn_number, message, **kwargs):
        for lane in self._core.lanes:
            if hasattr(lane.provider, "on_turn_start"):
                lane.attempt("on_turn_start", turn_number, message)
