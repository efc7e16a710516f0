"""A turn that is recorded again, by its id, is stored once."""

import asyncio
import threading

from memproto import AsyncMemoryProviderRegistry
from memproto.registry.calls.duplicates import Once
from tests.extended import Extended, opened, told
from tests.virtual import FakeProvider

MOST = 1000


def turn(number, text="hello"):
    return {
        "turn_id": f"t-{number}",
        "started_at": "2026-03-14T09:26:53+05:45",
        "ended_at": "2026-03-14T09:27:03+05:45",
        "user_message": text,
        "assistant_response": "hi",
    }


def test_a_provider_of_two_texts_gets_a_repeated_turn_once():
    provider = FakeProvider("a")
    with opened(provider) as (registry, events):
        registry.record(turn(1))
        registry.record(turn(1))
        registry.flush()
        registry.record(turn(1))
        registry.record(turn(2))
    assert provider.named("on_turn_complete") == [("hello", "hi")] * 2
    assert sorted(told(events, "on_turn_complete")) == [
        ("a", "dropped", "repeated"),
        ("a", "dropped", "repeated"),
        ("a", "ok", ""),
        ("a", "ok", ""),
    ]
    assert not [event for event in events if event.lost]


def test_a_provider_of_whole_turns_gets_each_repetition_and_tells_them_apart_itself():
    provider = Extended("a", "record")
    with opened(provider) as (registry, _):
        registry.record(turn(1))
        registry.record(turn(1))
    assert len(provider.named("record")) == 2


def test_equal_texts_of_two_turns_are_two_turns():
    provider = FakeProvider("a")
    with opened(provider) as (registry, _):
        registry.record(turn(1))
        registry.record(turn(2))
        registry.on_turn_complete("hello", "hi")
        registry.on_turn_complete("hello", "hi")
    assert len(provider.named("on_turn_complete")) == 4


def test_a_turn_that_was_not_stored_may_come_again():
    answers = iter([OSError, None, None])

    def store(*_):
        if (error := next(answers)) is not None:
            raise error

    provider = FakeProvider("a", on_turn_complete=store)
    with opened(provider) as (registry, events):
        for _ in range(3):
            registry.record(turn(1))
            registry.flush()
    assert [outcome for _, outcome, _ in told(events, "on_turn_complete")] == [
        "raised",
        "ok",
        "dropped",
    ]


def test_of_threads_that_claim_one_name_at_once_one_gets_it():
    once, gate, claimed = Once(MOST), threading.Barrier(8), []

    def claim(number):
        gate.wait(10)
        claimed.append([once.claim(str(name), number * MOST + name) for name in range(500)])

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [sum(column) for column in zip(*claimed, strict=True)] == [1] * 500


def test_the_latest_names_are_kept_and_no_more():
    once = Once(3)
    assert all(once.claim(name, number) for number, name in enumerate("abcd"))
    for number in range(4):
        once.settle(number, is_kept=True)
    assert [once.claim(name, 10 + n) for n, name in enumerate("bcda")] == [False] * 3 + [True]
    assert len(once._numbers) == 3
    assert list(once._names.values()) == ["a"]


def test_a_name_too_many_that_a_race_left_goes_with_the_next_claim():
    once = Once(3)
    for number, name in enumerate("abc"):
        once.claim(name, number)
    once._numbers["d"] = 3  # as if two threads had deleted one name together
    assert once.claim("e", 4)
    assert list(once._numbers) == ["c", "d", "e"]


def test_a_host_that_was_cancelled_beside_a_write_repeats_it_and_it_is_stored_once():
    texts, whole = FakeProvider("texts"), Extended("whole", "record")

    async def run():
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(texts)
            await registry.register(whole)
            await registry.initialize_all("session", {"home": "/nowhere"})
            await cancelled_at_each_step(registry)

    asyncio.run(run())
    assert texts.named("on_turn_complete") == [(f"hello {n}", "hi") for n in range(4)]
    ids = [given["turn_id"] for (given,) in whole.named("record")]
    assert list(dict.fromkeys(ids)) == [f"t-{n}" for n in range(4)]


async def cancelled_at_each_step(registry):
    """Cancels the task that records before, right after and long after it ran; then repeats."""
    for number in range(4):
        task = asyncio.ensure_future(registry.record(turn(number, f"hello {number}")))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await registry.record(turn(number, f"hello {number}"))
