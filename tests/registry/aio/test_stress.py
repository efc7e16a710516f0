"""Many turns at once on one loop, over faulty providers, some of them cancelled."""

import asyncio
import collections
import random
import threading

from memproto import AsyncMemoryProviderRegistry
from memproto.deadlines import Deadlines
from tests.coroutine_providers import Remembers
from tests.virtual import FakeProvider, eventually, own_threads

TURNS, AT_ONCE = 1500, 25


class FaultyCoroutines(Remembers):
    """Yields, raises and is cancelled wherever the dice have it."""

    def __init__(self, dice) -> None:
        super().__init__()
        self.dice = dice

    async def enrich_turn(self, user_message, messages):
        for _ in range(self.dice.randrange(4)):
            await asyncio.sleep(0)
        if self.dice.random() < 0.1:
            raise OSError
        return f"coroutines {user_message}"

    async def on_turn_complete(self, user_message, assistant_response):
        await asyncio.sleep(0)
        if self.dice.random() < 0.1:
            raise OSError


def faulty(dice):
    def answer(message, _):
        if dice.random() < 0.1:
            raise dice.choice([OSError, SystemExit, KeyboardInterrupt])
        return dice.choice([None, 7, f"plain {message}", f"plain {message}"])

    return FakeProvider("plain", enrich_turn=answer)


async def one_turn(registry, number, dice, seen):
    task = asyncio.ensure_future(registry.enrich_turn(str(number), []))
    for _ in range(dice.randrange(1, 6)):  # it has begun, at least
        await asyncio.sleep(0)
    if dice.random() < 0.3:
        task.cancel()
    (found,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(found, asyncio.CancelledError):
        seen["cancelled"] += 1
    else:
        assert set(found) <= {("remembers", f"coroutines {number}"), ("plain", f"plain {number}")}
        seen["answered"] += len(found)
    await registry.on_turn_complete(str(number), "")


def test_many_turns_at_once_lose_no_write_unseen_and_mix_no_answers():
    dice, seen, events = random.Random(7), collections.Counter(), []

    async def work():
        registry = AsyncMemoryProviderRegistry(
            deadlines=Deadlines(enrich_s=30.0, shutdown_s=30.0), on_event=events.append
        )
        async with registry:
            await registry.register(faulty(dice))
            await registry.register(FaultyCoroutines(dice))
            await registry.initialize_all("s", {"home": "/nowhere"})
            for first in range(0, TURNS, AT_ONCE):
                numbers = range(first, first + AT_ONCE)
                await asyncio.gather(*[one_turn(registry, n, dice, seen) for n in numbers])
            return await registry.stats()

    stats = asyncio.run(work())
    assert seen["cancelled"] > TURNS / 10
    assert seen["answered"] > TURNS / 2
    assert [entry["stuck"] for entry in stats["providers"].values()] == [[], []]
    for provider in ("plain", "remembers"):
        told = [e for e in events if e.provider == provider and e.hook == "on_turn_complete"]
        assert len(told) == TURNS
        assert not any(event.lost for event in told)
        recalls = collections.Counter(
            e.outcome for e in events if e.provider == provider and e.hook == "enrich_turn"
        )
        assert sum(recalls.values()) - recalls["late_answer"] == TURNS
    eventually(lambda: not own_threads())


def test_three_hundred_registries_on_one_loop_leave_no_thread_and_no_task():
    async def session(number):
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(Remembers())
            await registry.register(FakeProvider("a", enrich_turn=lambda *_: f"known {number}"))
            await registry.initialize_all("s", {"home": "/nowhere"})
            found = await registry.enrich_turn("x", [])
            assert found == [("remembers", "recalled"), ("a", f"known {number}")]
            await registry.on_turn_complete("x", "y")
            await registry.on_session_switch("next", reset=True)

    async def work():
        for first in range(0, 300, 10):
            await asyncio.gather(*[session(first + n) for n in range(10)])
        return len(asyncio.all_tasks())

    before = set(threading.enumerate())
    assert asyncio.run(work()) == 1
    eventually(lambda: set(threading.enumerate()) <= before, "the end of every thread")
