"""Cancelling on the loop: a recall leaves nothing, and a call with effects goes on unseen."""

import asyncio
import threading

import pytest

from memproto import AsyncMemoryProviderRegistry
from memproto.deadlines import Limits, MonotonicClock
from memproto.registry.aio.arrivals import Arrival
from memproto.registry.aio.timekeeper import Alarm
from memproto.registry.calls.gather import take_off
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.recall import recalls
from memproto.registry.events import EventSink
from tests.coroutine_providers import Remembers
from tests.extended import Extended, offering, schema
from tests.virtual import REAL_LIMIT_S, FakeProvider, VirtualClock, eventually, own_threads

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
CONFIG = {"home": "/nowhere"}


class Gated:
    """A function that is held until it is let go, and that notes who entered."""

    def __init__(self, answer=lambda *args: f"known of {args[0]}") -> None:
        self.entered, self.may_go = threading.Semaphore(0), threading.Event()
        self.answer, self.calls = answer, []

    def __call__(self, *args):
        self.calls.append(args)
        self.entered.release()
        assert self.may_go.wait(20)
        return self.answer(*args)


async def reached(gated):
    """Waits until the function is entered, without a hold of the loop."""
    assert await asyncio.to_thread(gated.entered.acquire, timeout=10)


async def cancelled(task):
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def on_loop(work, *providers, **parts):
    events = []

    async def run():
        async with AsyncMemoryProviderRegistry(on_event=events.append, **parts) as registry:
            for provider in providers:
                await registry.register(provider)
            await registry.initialize_all("session", CONFIG)
            await work(registry)

    asyncio.run(run())
    return events


def outcomes(events, hook):
    return [event.outcome for event in events if event.hook == hook]


def test_a_cancelled_recall_is_never_shown_and_the_next_turn_has_its_own():
    gated = Gated()

    async def work(registry):
        first = asyncio.ensure_future(registry.enrich_turn("first", []))
        await reached(gated)
        await cancelled(first)
        second = asyncio.ensure_future(registry.enrich_turn("second", []))
        await asyncio.sleep(0)
        gated.may_go.set()
        assert await second == [("a", "known of second")]
        assert await registry.enrich_turn("third", []) == [("a", "known of third")]
        stats = await registry.stats()
        assert stats["providers"]["a"]["stuck"] == []

    events = on_loop(work, FakeProvider("a", enrich_turn=gated))
    assert outcomes(events, "enrich_turn") == ["cancelled", "late_answer", "ok", "ok"]


def test_recalls_that_were_cancelled_before_they_began_are_not_made():
    gated = Gated()

    async def work(registry):
        held = asyncio.ensure_future(registry.enrich_turn("held", []))
        await reached(gated)
        for number in range(20):
            turn = asyncio.ensure_future(registry.enrich_turn(f"{number}", []))
            await asyncio.sleep(0)
            await cancelled(turn)
        gated.may_go.set()
        await held
        await registry.enrich_turn("next", [])

    on_loop(work, FakeProvider("a", enrich_turn=gated))
    assert [message for message, _ in gated.calls] == ["held", "next"]


def test_of_the_providers_of_a_cancelled_recall_each_is_told_once():
    gated = Gated()
    quick = FakeProvider("quick", enrich_turn=lambda *_: "known")

    async def work(registry):
        turn = asyncio.ensure_future(registry.enrich_turn("u", []))
        await reached(gated)
        lane = registry._registry._core.lanes[0]
        await asyncio.to_thread(eventually, lambda: quick.named("enrich_turn"))
        await asyncio.to_thread(eventually, lambda: not lane._flights)
        await cancelled(turn)
        gated.may_go.set()

    events = on_loop(work, quick, FakeProvider("held", enrich_turn=gated))
    eventually(lambda: outcomes(events, "enrich_turn").count("late_answer") == 1)
    told = [(e.provider, e.outcome) for e in events if e.hook == "enrich_turn"]
    assert sorted(told)[:2] == [("held", "cancelled"), ("held", "late_answer")]
    assert [who for who, _ in told].count("quick") == 1


def test_a_recall_that_is_late_is_left_out_until_it_has_returned():
    clock, gated = VirtualClock(), Gated()

    async def work(registry):
        first = asyncio.ensure_future(registry.enrich_turn("first", []))
        await reached(gated)
        await asyncio.to_thread(clock.advance, 5.0)
        assert await first == []
        assert await registry.enrich_turn("second", []) == []
        gated.may_go.set()
        lane = registry._registry._core.lanes[0]
        await asyncio.to_thread(eventually, lambda: not lane._flights)
        assert await registry.enrich_turn("third", []) == [("a", "known of third")]

    events = on_loop(work, FakeProvider("a", enrich_turn=gated), clock=clock)
    assert outcomes(events, "enrich_turn") == ["late", "stuck", "late_answer", "ok"]


class Slow(Remembers):
    """Recalls when it may; notes when it began, and whether it was cancelled."""

    def __init__(self, *, swallows) -> None:
        super().__init__()
        self.swallows, self.may_go, self.inside = swallows, threading.Event(), 0
        self.cancelled = threading.Event()

    async def enrich_turn(self, user_message, messages):
        assert not self.inside, "a recall began while another one had not returned"
        self.inside += 1
        self.entered.set()
        try:
            await self._wait()
        finally:
            self.inside -= 1
        return f"known of {user_message}"

    async def _wait(self):
        while not self.may_go.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                self.cancelled.set()
                if not self.swallows:
                    raise


@pytest.mark.parametrize("swallows", [False, True])
def test_a_cancelled_recall_cancels_its_coroutine_which_may_ignore_it(swallows):
    provider = Slow(swallows=swallows)

    async def work(registry):
        first = asyncio.ensure_future(registry.enrich_turn("first", []))
        assert await asyncio.to_thread(provider.entered.wait, 10)
        await cancelled(first)
        assert await asyncio.to_thread(provider.cancelled.wait, 10)
        second = asyncio.ensure_future(registry.enrich_turn("second", []))
        await asyncio.sleep(0)
        provider.may_go.set()
        assert await second == [("remembers", "known of second")]

    events = on_loop(work, provider)
    assert outcomes(events, "enrich_turn")[0] == "cancelled"
    assert outcomes(events, "enrich_turn")[-1] == "ok"


def test_a_coroutine_that_ignores_its_cancellation_for_ever_costs_the_others_nothing():
    stuck, answered = Slow(swallows=True), FakeProvider("b", enrich_turn=lambda *_: "known")
    clock, events = VirtualClock(), []

    async def run():
        registry = AsyncMemoryProviderRegistry(clock=clock, on_event=events.append)
        await registry.register(stuck)
        await registry.register(answered)
        await registry.initialize_all("session", CONFIG)
        first = asyncio.ensure_future(registry.enrich_turn("first", []))
        assert await asyncio.to_thread(stuck.entered.wait, 10)
        await cancelled(first)
        lane = registry._registry._core.lanes[1]
        await asyncio.to_thread(eventually, lambda: not lane._flights)
        answered.calls.clear()
        second = asyncio.ensure_future(registry.enrich_turn("next", []))
        await asyncio.to_thread(eventually, lambda: answered.calls and not lane._flights)
        await asyncio.to_thread(clock.advance, 5.0)
        for turn in (second, registry.enrich_turn("next", []), registry.enrich_turn("next", [])):
            assert await turn == [("b", "known")]
        await registry.shutdown_all()

    asyncio.run(run())
    stuck.may_go.set()
    eventually(lambda: not own_threads())
    told = [event.outcome for event in events if event.provider == "remembers"]
    assert told.count("cancelled") == 1
    assert "late" not in told[: told.index("stuck")]


def test_a_host_that_gives_up_early_each_time_does_not_wait_for_a_hang_for_ever():
    clock, gated, events = VirtualClock(), Gated(), []

    async def run():
        registry = AsyncMemoryProviderRegistry(clock=clock, on_event=events.append)
        async with registry:
            await registry.register(FakeProvider("a", enrich_turn=gated))
            await registry.initialize_all("session", CONFIG)
            for number in range(3):
                turn = asyncio.ensure_future(registry.enrich_turn(f"{number}", []))
                await asyncio.sleep(0)
                await asyncio.to_thread(eventually, lambda: gated.calls)
                await cancelled(turn)
            assert stuck(await registry.stats()) == []
            await asyncio.to_thread(clock.advance, 5.0)
            lane = registry._registry._core.lanes[0]
            await asyncio.to_thread(eventually, lambda: lane.late["enrich_turn"])
            assert await registry.enrich_turn("after", []) == []
            assert stuck(await registry.stats()) == ["enrich_turn"]
            gated.may_go.set()
            await asyncio.to_thread(eventually, lambda: not lane.late["enrich_turn"])
            assert await registry.enrich_turn("last", []) == [("a", "known of last")]

    asyncio.run(run())
    assert [message for message, _ in gated.calls] == ["0", "last"]
    wanted = ["cancelled"] * 3 + ["stuck", "late_answer", "ok"]
    assert outcomes(events, "enrich_turn") == wanted


def stuck(stats):
    return stats["providers"]["a"]["stuck"]


def test_a_tool_call_that_was_cancelled_goes_on_and_its_answer_is_seen_by_nobody():
    gated = Gated(lambda *_: '{"n": 1}')
    tools = offering("tools", schema("note"), handle_tool_call=gated)

    async def work(registry):
        call = asyncio.ensure_future(registry.handle_tool_call("note", {"text": "first"}))
        await reached(gated)
        await cancelled(call)
        gated.may_go.set()
        assert await registry.handle_tool_call("note", {"text": "second"}) == '{"n": 1}'

    events = on_loop(work, tools)
    eventually(lambda: outcomes(events, "handle_tool_call") == ["ok", "ok"])


@pytest.mark.parametrize("method", ["export", "forget", "on_compress", "flush"])
def test_what_was_cancelled_while_it_waits_leaves_the_loop_and_the_next_call_whole(method):
    gated = Gated(lambda *_: {"items": [], "removed": 0, "pending": 0})
    hook = "on_turn_complete" if method == "flush" else method
    args = {"export": ({},), "forget": ({},), "on_compress": ([], 1), "flush": ()}[method]

    async def work(registry):
        await registry.on_turn_complete("u", "a")
        call = asyncio.ensure_future(getattr(registry, method)(*args))
        await reached(gated)
        await cancelled(call)
        gated.may_go.set()
        assert await registry.flush()
        await getattr(registry, method)(*args)

    on_loop(work, Extended("a", "privacy", **{hook: gated}))


def test_an_initialize_that_was_cancelled_goes_on_and_shutdown_closes_what_it_opens():
    gated = Gated()
    provider = FakeProvider("a", initialize=gated)

    async def run():
        registry = AsyncMemoryProviderRegistry()
        await registry.register(provider)
        opening = asyncio.ensure_future(registry.initialize_all("s", CONFIG))
        await reached(gated)
        await cancelled(opening)
        await registry.shutdown_all()
        assert await registry.enrich_turn("u", []) == []
        gated.may_go.set()

    asyncio.run(run())
    eventually(lambda: provider.named("shutdown") == [()])
    eventually(lambda: not own_threads())


def test_a_shutdown_that_was_cancelled_goes_on_and_may_be_awaited_again():
    gated = Gated()
    provider = FakeProvider("a", on_turn_complete=gated)

    async def run():
        registry = AsyncMemoryProviderRegistry()
        await registry.register(provider)
        await registry.initialize_all("s", CONFIG)
        await registry.on_turn_complete("u", "a")
        ending = asyncio.ensure_future(registry.shutdown_all())
        await reached(gated)
        await cancelled(ending)
        gated.may_go.set()
        await registry.shutdown_all()
        assert provider.named("shutdown") == [()]

    asyncio.run(run())


def test_a_shutdown_that_is_awaited_again_waits_for_the_thread_of_the_cancelled_one(monkeypatch):
    reached_the_end, may_go = threading.Event(), threading.Event()

    async def run():
        registry = AsyncMemoryProviderRegistry()
        await registry.register(FakeProvider("a"))
        await registry.initialize_all("s", CONFIG)
        shut_down = registry._registry.shutdown_all

        def slow_to_return():
            shut_down()
            if not reached_the_end.is_set():
                reached_the_end.set()
                may_go.wait(10.0)

        monkeypatch.setattr(registry._registry, "shutdown_all", slow_to_return)
        ending = asyncio.ensure_future(registry.shutdown_all())
        await asyncio.to_thread(reached_the_end.wait, 10.0)
        await cancelled(ending)
        asyncio.get_running_loop().call_later(0.05, may_go.set)
        await registry.shutdown_all()
        assert may_go.is_set()
        assert "memproto-waits" not in {thread.name for thread in threading.enumerate()}

    asyncio.run(run())


def test_a_timeout_around_a_recall_is_the_hosts_and_leaves_nothing():
    gated = Gated()

    async def work(registry):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await registry.enrich_turn("first", [])
        gated.may_go.set()
        assert await registry.enrich_turn("second", []) == [("a", "known of second")]

    on_loop(work, FakeProvider("a", enrich_turn=gated))


def test_a_recall_that_is_given_up_as_its_deadline_comes_is_late():
    entered, leaves = threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        leaves.wait(REAL_LIMIT_S)

    async def given_up_at_the_deadline():
        lane = ProviderLane(
            "slow", FakeProvider("slow", enrich_turn=hang), clock, EventSink(None), Limits()
        )
        lane.start()
        arrival = Arrival(clock, 5.0)
        arrival.alarm = Alarm(5.0, 0, arrival.ring)
        arrival.calls = recalls([lane], "Where is the boat?", [], arrival)
        take_off(arrival.calls, arrival)
        assert entered.wait(REAL_LIMIT_S)
        with arrival.condition:  # the alarm rings, and comes to no end before the host gives up
            ringing = threading.Thread(target=arrival.alarm.ring)
            ringing.start()
            eventually(lambda: not arrival.alarm.is_set)
            ringing.join(0.05)  # it waits for the condition, with or without a look before
            arrival.abandon()
        ringing.join(REAL_LIMIT_S)
        late = set(lane.late["enrich_turn"])
        leaves.set()
        lane.run_close(clock.now(), clock.now())
        lane.exit.stop()
        return late == set(arrival.calls)

    clock = MonotonicClock()
    assert asyncio.run(given_up_at_the_deadline())
    eventually(lambda: not own_threads())
