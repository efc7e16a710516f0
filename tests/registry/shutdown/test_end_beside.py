import os
import threading

import pytest

from memproto.registry import MemoryProviderRegistry
from tests.extended import Extended, offering, opened, schema, told
from tests.virtual import VirtualClock, eventually, own_threads

EVERYTHING = ("sessions", "prewarm", "turns", "delegation", "prompt", "status", "items", "privacy")


class Interrupted(VirtualClock):
    """Raises the user's interrupt in the next wait of the main thread, once it is armed."""

    armed = False
    entered = None

    def wait(self, condition, until):
        if self.armed and threading.current_thread() is threading.main_thread():
            self.armed = False
            # A call that has not begun is taken back, and none is late then.
            assert self.entered is None or self.entered.wait(10)
            raise KeyboardInterrupt
        super().wait(condition, until)


def test_the_users_interrupt_of_a_tool_call_passes_and_the_next_call_works():
    clock, release = Interrupted(), threading.Event()
    clock.entered = threading.Event()

    def handle(tool, args, *_):
        clock.entered.set()
        if args:
            release.wait(10)
        return "{}"

    with opened(offering("a", schema("one"), handle_tool_call=handle), clock=clock) as (
        registry,
        _,
    ):
        clock.armed = True
        with pytest.raises(KeyboardInterrupt):
            registry.handle_tool_call("one", {"text": "x"})
        assert "has not returned" in registry.handle_tool_call("one", {})
        release.set()
        eventually(lambda: not registry._core.lanes[0].late["handle_tool_call"])
        assert registry.handle_tool_call("one", {}) == "{}"


def test_a_shutdown_waits_for_a_tool_call_within_its_own_budget_and_no_longer():
    clock, entered, release = VirtualClock(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    provider = offering("a", schema("one"), handle_tool_call=hang)
    with opened(provider, clock=clock) as (registry, events):
        caller = threading.Thread(target=registry.handle_tool_call, args=("one", {}))
        caller.start()
        assert entered.wait(10)
        ender = threading.Thread(target=registry.shutdown_all)
        ender.start()
        clock.advance(13.5, waits=3)
        ender.join(10)
        assert not ender.is_alive()
        assert provider.named("shutdown") == [()]
        release.set()
        caller.join(10)
    assert told(events, "shutdown") == [("a", "ok", "")]


def test_a_tool_that_ends_its_own_registry_ends_it():
    provider = offering("a", schema("one"))
    with opened(provider) as (registry, _):
        provider._hooks["handle_tool_call"] = lambda *_: registry.shutdown_all() or "{}"
        assert registry.handle_tool_call("one", {}) == "{}"
    assert provider.named("shutdown") == [()]


def test_a_shutdown_in_the_midst_of_a_switch_that_hangs_keeps_its_budget():
    clock, entered, release = VirtualClock(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    provider = Extended("a", "sessions", on_session_switch=hang)
    with opened(provider, clock=clock) as (registry, events):
        registry.on_session_switch("next")
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        recaller = threading.Thread(target=registry.enrich_turn, args=("x", []))
        recaller.start()
        eventually(lambda: registry._core.lanes[0]._waiting)
        ender = threading.Thread(target=registry.shutdown_all)
        ender.start()
        clock.advance(5.0, waits=4)
        recaller.join(10)
        clock.advance(8.5, waits=3)
        ender.join(10)
        assert not ender.is_alive()
        release.set()
    assert provider.named("enrich_turn") == []
    assert provider.named("shutdown") == [()]
    lost = {event.hook: event.lost for event in events if event.outcome == "abandoned"}
    assert lost == {"on_session_switch": 1, "on_turn_complete": 1, "on_session_end": 1}
    eventually(lambda: not own_threads())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_in_a_forked_child_every_method_does_nothing():
    provider = Extended("a", *EVERYTHING)
    with opened(provider, offering("b", schema("one"))) as (registry, _):
        child = os.fork()
        if not child:
            os._exit(0 if _does_nothing(registry) else 1)
        assert os.waitpid(child, 0)[1] == 0


def _does_nothing(registry: MemoryProviderRegistry) -> bool:
    registry.on_turn_start(1, "x")
    registry.on_session_end([])
    registry.on_session_switch("next", reset=True)
    registry.on_delegation("a", "b")
    asked = [registry.recall_status(), registry.recall_items({"query": "x"}), registry.export({})]
    asked += [registry.get_tool_schemas(), registry.system_prompt_block(), registry.backup_paths()]
    refused = "no such tool" in registry.handle_tool_call("one", {})
    return refused and registry.flush() and not any(asked) and registry.session_key == "session"
