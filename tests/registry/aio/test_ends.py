"""Ends of the asyncio face: with its loop, with its process, and under a call that hangs."""

import asyncio
import threading

import pytest

from memproto import AsyncMemoryProviderRegistry
from memproto.deadlines import Deadlines
from memproto.registry.aio.crew import Crew
from memproto.registry.calls.workers import Worker
from tests.coroutine_providers import Remembers
from tests.programs import run
from tests.virtual import FakeProvider, VirtualClock, eventually, own_threads

CONFIG = {"home": "/nowhere"}


def own_names():
    return [thread.name for thread in own_threads()]


@pytest.fixture
def no_thread_of_ours():
    yield
    eventually(lambda: not own_threads(), "the end of every thread")


pytestmark = pytest.mark.usefixtures("no_thread_of_ours")


async def opened(*providers, **parts):
    registry = AsyncMemoryProviderRegistry(**parts)
    for provider in providers:
        await registry.register(provider)
    await registry.initialize_all("session", CONFIG)
    return registry


def test_everything_that_hangs_is_left_after_its_budget_while_the_loop_goes_on():
    clock, may_go, events = VirtualClock(), threading.Event(), []
    entered = threading.Semaphore(0)

    def hang(*_):
        entered.release()
        assert may_go.wait(20)

    async def passes(seconds):
        assert await asyncio.to_thread(entered.acquire, timeout=10)
        await asyncio.to_thread(clock.advance, seconds)

    hooks = dict.fromkeys(("enrich_turn", "on_turn_complete", "on_compress", "shutdown"), hang)

    async def work():
        registry = await opened(FakeProvider("a", **hooks), clock=clock, on_event=events.append)
        turn = asyncio.ensure_future(registry.enrich_turn("u", []))
        await passes(5.0)
        assert await turn == []
        compression = asyncio.ensure_future(registry.on_compress([], 1))
        await passes(120.0)
        assert await compression is None
        await registry.on_turn_complete("u", "a")
        ending = asyncio.ensure_future(registry.shutdown_all())
        assert await asyncio.to_thread(entered.acquire, timeout=10)
        await asyncio.to_thread(clock.advance, 15.0, waits=2)
        await ending

    asyncio.run(work())
    may_go.set()
    late = [event.hook for event in events if event.outcome == "late"]
    assert late == ["enrich_turn", "on_compress", "shutdown"]
    assert [(e.hook, e.lost) for e in events if e.lost] == [("on_turn_complete", 1)]


def test_a_loop_that_is_closed_with_work_open_leaves_the_registry_usable():
    may_go, entered = threading.Event(), threading.Semaphore(0)

    def held(*_):
        entered.release()
        assert may_go.wait(20)
        return "known"

    provider = FakeProvider("a", enrich_turn=held, on_compress=held)
    registry = asyncio.run(opened(provider))
    loop = asyncio.new_event_loop()
    calls = registry.enrich_turn("u", []), registry.on_compress([], 1)
    tasks = [loop.create_task(call) for call in calls]
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert entered.acquire(timeout=10)
    assert entered.acquire(timeout=10)
    for task in tasks:
        task._log_destroy_pending = False
    loop.close()
    may_go.set()
    assert asyncio.run(registry.flush())
    assert asyncio.run(registry.enrich_turn("u", [])) == [("a", "known")]
    asyncio.run(registry.shutdown_all())
    assert provider.named("shutdown") == [()]


def test_an_interrupt_of_the_user_leaves_the_loop_and_the_registry_ends_behind_it():
    provider = FakeProvider("a", enrich_turn=lambda *_: "known")

    async def work():
        async with await opened(provider) as registry:
            await registry.on_turn_complete("u", "a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert [call[0] for call in provider.calls][-2:] == ["on_turn_complete", "shutdown"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_an_exit_of_a_provider_ends_neither_the_loop_nor_the_callers_task(error, kind):
    class Exits(Remembers):
        async def enrich_turn(self, user_message, messages):
            raise error

    def leave(*_):
        raise error

    provider = Exits() if kind == "coroutine" else FakeProvider("a", enrich_turn=leave)

    async def work():
        async with await opened(provider) as registry:
            return await registry.enrich_turn("u", [])

    assert asyncio.run(work()) == []


@pytest.mark.parametrize("error", [SystemExit, StopIteration])
def test_what_no_loop_takes_from_a_thread_is_an_error_of_its_caller(error):
    class Config(dict):
        def items(self):
            raise error

        keys = __iter__ = items

    async def work():
        registry = AsyncMemoryProviderRegistry()
        await registry.register(FakeProvider("a"))
        with pytest.raises(RuntimeError, match=error.__name__):
            await registry.initialize_all("s", Config(home="/nowhere"))
        await registry.shutdown_all()

    asyncio.run(work())


def test_threads_that_ended_are_not_kept_in_a_long_session():
    crew = Crew("memproto-test")

    async def work():
        for _ in range(5):
            together = threading.Barrier(8)
            await asyncio.gather(*[crew.run(together.wait, 10) for _ in range(8)])
            # Four wait for the next round; the others end before it.
            await asyncio.to_thread(eventually, lambda: own_names() == ["memproto-test"] * 4)
        assert len(crew._ending) <= 4
        crew.close()

    asyncio.run(work())


def test_shutting_down_twice_and_at_once_calls_each_provider_once():
    provider = FakeProvider("a")

    async def work():
        registry = await opened(provider)
        await asyncio.gather(*[registry.shutdown_all() for _ in range(5)])
        await registry.shutdown_all()
        assert own_threads() == []
        assert await registry.handle_tool_call("x", {})
        assert await registry.on_compress([], 1) is None
        assert await registry.flush()

    asyncio.run(work())
    assert provider.named("shutdown") == [()]


def test_before_initialize_all_nothing_is_called_and_nothing_raises():
    provider = FakeProvider("a")

    async def work():
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(provider)
            assert await registry.enrich_turn("u", []) == []
            await registry.on_turn_complete("u", "a")
            assert await registry.on_compress([], 1) is None
        with pytest.raises(Exception, match="initialize_all"):
            await registry.initialize_all("s", CONFIG)

    asyncio.run(work())
    assert provider.calls == []


def test_a_deadline_that_passes_while_the_loop_is_held_counts_all_the_same():
    clock, entered, may_go, events = VirtualClock(), threading.Event(), threading.Event(), []

    def answer(*_):
        entered.set()
        return may_go.wait(20) and "too late"

    provider = FakeProvider("a", enrich_turn=answer)

    async def work():
        registry = await opened(provider, clock=clock, on_event=events.append)
        turn = asyncio.ensure_future(registry.enrich_turn("u", []))
        await asyncio.sleep(0)
        assert entered.wait(10)
        clock.advance(5.0)  # the loop stands still; the deadline does not
        eventually(lambda: registry._registry._core.lanes[0].late["enrich_turn"])
        may_go.set()
        eventually(lambda: "late_answer" in [event.outcome for event in events])
        assert await turn == []
        await registry.shutdown_all()

    asyncio.run(work())


def test_where_no_thread_can_be_started_calls_are_answered_all_the_same(monkeypatch):
    def refused(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    async def work():
        registry = await opened(FakeProvider("a", enrich_turn=lambda *_: "known"))
        with monkeypatch.context() as patches:
            patches.setattr(Worker, "start", refused)
            registry._crew.close()
            await registry._crew.ended(lambda: True)
            assert await registry.enrich_turn("u", []) == [("a", "known")]
            assert await registry.flush()
            assert await registry.on_compress([], 1) is None
            await registry.shutdown_all()

    asyncio.run(work())


def test_the_budgets_are_those_that_were_given():
    clock, may_go = VirtualClock(), threading.Event()
    provider = FakeProvider("a", enrich_turn=lambda *_: may_go.wait(20))

    async def work():
        registry = await opened(provider, clock=clock, deadlines=Deadlines(enrich_s=0.25))
        turn = asyncio.ensure_future(registry.enrich_turn("u", []))
        await asyncio.sleep(0)
        await asyncio.to_thread(clock.advance, 0.25)
        assert await asyncio.wait_for(turn, 10) == []
        may_go.set()
        await registry.shutdown_all()

    asyncio.run(work())


def test_what_was_accepted_is_delivered_when_the_process_ends_with_the_loop():
    assert run("""
        import asyncio
        from memproto import AsyncMemoryProviderRegistry
        provider = FakeProvider(
            on_turn_complete=lambda a, b: say("turn", a), shutdown=lambda: say("shutdown")
        )
        registry = AsyncMemoryProviderRegistry()
        async def main():
            await registry.register(provider)
            await registry.initialize_all("session", {})
            for number in range(3):
                await registry.on_turn_complete(str(number), "")
            sys.exit(7)
        asyncio.run(main())
    """) == (7, ["turn 0", "turn 1", "turn 2", "shutdown"], [])


def test_ctrl_c_in_a_recall_ends_the_program_with_everything_stored():
    code, lines, _ = run("""
        import asyncio, signal
        from memproto import AsyncMemoryProviderRegistry
        entered, forever = threading.Event(), threading.Event()
        provider = FakeProvider(
            enrich_turn=lambda *_: (entered.set(), forever.wait()),
            on_turn_complete=lambda a, b: say("turn", a),
            shutdown=lambda: say("shutdown"),
        )
        deadlines = Deadlines(enrich_s=0.2)
        def interrupt():
            entered.wait(20)
            os.kill(os.getpid(), signal.SIGINT)
        async def main():
            async with AsyncMemoryProviderRegistry(deadlines=deadlines) as registry:
                await registry.register(provider)
                await registry.initialize_all("session", {})
                await registry.on_turn_complete("first", "")
                threading.Thread(target=interrupt, daemon=True).start()
                await registry.enrich_turn("hello", [])
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            say("interrupted")
    """)
    assert (code, lines) == (0, ["turn first", "shutdown", "interrupted"])
