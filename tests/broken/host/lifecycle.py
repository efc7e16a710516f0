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


@mutant(kills="MP-HOST-LIFE-001", says="`handle_tool_call` came", report="A3")
class CallsAToolOfTheEnded(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        result = super().handle_tool_call(tool_name, args, **kwargs)
        tool = self._tools.table.get(tool_name)
        if tool and not self._core.lanes:
            return tool.lane.attempt("handle_tool_call", tool_name, dict(args))[0]
        return result


@mutant(kills="MP-HOST-LIFE-001", says="`on_compress` came", report="A3")
class ShowsWhatIsDiscardedToTheEnded(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        for lane in () if self._core.lanes else self._core.ended:
            lane.attempt("on_compress", list(messages), compression_count)
        return super().on_compress(messages, compression_count)
