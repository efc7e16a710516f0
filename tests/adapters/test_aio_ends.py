"""`from_async`: how hooks that never return end, and that no loop or thread outlives the end."""

import asyncio
import threading

import pytest

from memproto.adapters import aio
from memproto.adapters.aio import from_async
from memproto.errors import Unavailable
from tests.coroutine_providers import CONFIG, Remembers, in_thread, opened
from tests.virtual import eventually

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


class Hangs(Remembers):
    """Recall waits for ever; notes that it was cancelled after a clean-up that awaits."""

    async def enrich_turn(self, user_message, messages):
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # long enough to be broken off by a second cancellation
            self.calls.append("cleaned up")


def test_shutdown_frees_the_caller_of_a_hook_that_never_returns():
    provider, adapter = opened(Hangs())
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", []))
    assert provider.entered.wait(10)
    adapter.on_turn_complete("u", "a")  # a hung recall holds nobody else
    adapter.shutdown()
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)
    assert provider.calls[-2:] == [("shutdown",), "cleaned up"]


def test_shutdown_frees_a_caller_whose_coroutine_swallows_its_cancellation(monkeypatch):
    monkeypatch.setattr(aio, "CANCEL_BUDGET_S", 0.05)
    stop = []

    class Refuses(Remembers):
        async def enrich_turn(self, user_message, messages):
            self.entered.set()
            while not stop:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    continue

    provider = Refuses()
    adapter = from_async(provider)
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", []))
    assert provider.entered.wait(10)
    adapter.shutdown()
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)


def test_a_shutdown_that_never_returns_is_cut_long_after_the_hosts_budget():
    class NeverEnds(Remembers):
        async def shutdown(self):
            await asyncio.Event().wait()

    adapter = from_async(NeverEnds())
    adapter.initialize("s", {"home": "/nowhere", "deadlines": {"shutdown_s": 0.05}})
    with pytest.raises(TimeoutError, match=r"not done after 0\.1 s"):
        adapter.shutdown()
    adapter.shutdown()


def test_a_hook_that_freezes_the_loop_is_reported_and_the_thread_ends_with_it(monkeypatch):
    monkeypatch.setattr(aio, "CANCEL_BUDGET_S", 0.05)
    thaw = threading.Event()

    class Freezes(Remembers):
        async def enrich_turn(self, user_message, messages):
            self.entered.set()
            thaw.wait(30)

    provider = Freezes()
    adapter = from_async(provider)
    adapter.initialize("s", {"home": "/nowhere", "deadlines": {"shutdown_s": 0.05}})
    [(loop, thread)] = provider.loops
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", []))
    assert provider.entered.wait(10)
    with pytest.raises(TimeoutError, match="does not yield"):
        adapter.shutdown()
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)
    thaw.set()
    thread.join(10)
    assert loop.is_closed()


def test_tasks_and_executor_threads_of_the_provider_end_with_the_loop():
    class Busy(Remembers):
        async def initialize(self, session_key, config):
            self.task = asyncio.ensure_future(asyncio.Event().wait())
            asyncio.get_running_loop().run_in_executor(None, self.work)
            self.entered.wait(10)

        def work(self):
            self.worker = threading.current_thread()
            self.entered.set()
            threading.Event().wait(0.1)

    provider, adapter = opened(Busy())
    adapter.shutdown()
    assert provider.task.cancelled()
    assert not provider.worker.is_alive()


def test_a_coroutine_hook_after_shutdown_is_refused_and_starts_no_thread():
    provider, adapter = opened(Remembers())
    adapter.shutdown()
    with pytest.raises(Unavailable, match="ended with `shutdown`"):
        adapter.on_turn_complete("u", "a")
    assert provider.calls[-1] == ("shutdown",)


def test_initialize_after_shutdown_opens_a_new_loop():
    provider = Remembers()
    adapter = from_async(provider)
    adapter.shutdown()
    adapter.initialize("s", CONFIG)
    assert adapter.enrich_turn("tea", []) == "recalled"
    adapter.shutdown()
    assert provider.calls.count(("shutdown",)) == 2
    assert len(provider.loops) == 2


def test_a_call_is_cancelled_by_its_arguments_and_its_caller_waits_for_its_clean_up():
    provider, adapter = opened(Hangs())
    messages, others = [], []
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", messages))
    assert provider.entered.wait(10)
    adapter.cancel_call("enrich_turn", "u", others)
    adapter.on_turn_complete("u", "a")  # the cancellation of another call reached the loop
    assert caller.is_alive()
    adapter.cancel_call("enrich_turn", "u", messages)
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)
    assert provider.calls[-1] == "cleaned up"
    adapter.shutdown()


def test_a_call_that_its_busy_loop_has_not_begun_is_cancelled_as_well():
    held, may_go = threading.Event(), threading.Event()

    class Busy(Hangs):
        async def on_turn_complete(self, user_message, assistant_response):
            held.set()
            assert may_go.wait(20)

    _, adapter = opened(Busy())
    writer, _ = in_thread(lambda: adapter.on_turn_complete("u", "a"))
    assert held.wait(10)
    messages = []
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", messages))
    eventually(lambda: len(adapter._bridge._loop._calls) == 2, "the call is handed over")
    adapter.cancel_call("enrich_turn", "u", messages)
    may_go.set()
    caller.join(10)
    assert [type(answer) for answer in outcome] == [Unavailable]
    writer.join(10)
    adapter.shutdown()


def test_a_cancellation_of_nothing_does_nothing_before_and_after_the_loop():
    provider = Remembers()
    adapter = from_async(provider)
    adapter.cancel_call("enrich_turn", "u", [])
    adapter.initialize("s", CONFIG)
    adapter.cancel_call("enrich_turn", "u", [])
    assert adapter.enrich_turn("u", []) == "recalled"
    adapter.shutdown()
    adapter.cancel_call("enrich_turn", "u", [])
