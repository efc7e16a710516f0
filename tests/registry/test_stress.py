import gc
import random
import threading
from pathlib import Path

import psutil

from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from tests.virtual import FakeProvider, eventually, own_threads

TURNS = 10_000
HANGS_AT, RELEASED_AT = 2_000, 4_000
WRITES = ("on_turn_complete", "on_memory_write")


class Faulty(FakeProvider):
    """A provider that fails at random in every hook, and hangs once in a write and a recall."""

    def __init__(self, name, seed) -> None:
        super().__init__(name)
        self.recalls, self.writes = random.Random(seed), random.Random(seed + 100)
        self.released, self.next_turn = threading.Event(), threading.Event()
        self.written = []

    def fail(self, chance):
        fault = chance.choice([None] * 6 + [ValueError, SystemExit, KeyboardInterrupt])
        if fault is not None:
            raise fault

    def enrich_turn(self, user_message, messages):
        if user_message == str(HANGS_AT):
            self.released.wait(60)
        if self.recalls.random() < 0.001:
            self.next_turn.clear()
            self.next_turn.wait(60)  # slow: it answers while the next turn is on its way
        self.fail(self.recalls)
        return self.recalls.choice([None, "", 7, b"", user_message, user_message])

    def on_turn_complete(self, user_message, assistant_response):
        self.written.append(int(user_message))
        if user_message == str(HANGS_AT):
            self.released.wait(60)
        self.fail(self.writes)

    def on_memory_write(self, action, target, content, old_text=None):
        self.on_turn_complete(content, "")

    def on_compress(self, messages, compression_count):
        raise SystemExit

    def shutdown(self):
        self.calls.append(("shutdown",))
        self.fail(self.writes)


class StuckAtTheEnd(Faulty):
    at_last = threading.Event()

    def on_turn_complete(self, user_message, assistant_response):
        try:
            super().on_turn_complete(user_message, assistant_response)
        finally:
            if int(user_message) == TURNS - 100:
                self.at_last.wait(60)


def opened(*providers, **kwargs):
    events = []
    registry = MemoryProviderRegistry(on_event=events.append, **kwargs)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all("session", {})
    return registry, events


def one_turn(registry, number, providers):
    for provider in providers:
        provider.next_turn.set()
    if number % 10 == 0:
        for label, text in registry.enrich_turn(str(number), [{"role": "user", "content": "x"}]):
            assert (label in "abc", text) == (True, str(number))
    if number % 7:
        registry.on_turn_complete(str(number), "")
    else:
        registry.on_memory_write("add", "memory", str(number))
    if number % 1000 == 0:
        registry.on_compress([], number // 1000)


def test_ten_thousand_turns_over_faulty_providers_lose_no_write_unseen():
    providers = [Faulty("a", 1), Faulty("b", 2), StuckAtTheEnd("c", 3)]
    deadlines = Deadlines(enrich_s=0.05, shutdown_s=1.0)
    registry, events = opened(*providers, deadlines=deadlines)
    for number in range(TURNS):
        one_turn(registry, number, providers)
        if number == RELEASED_AT:
            for provider in providers:
                provider.released.set()
    for provider in providers:
        provider.next_turn.set()
    registry.shutdown_all()
    for provider in providers:
        assert provider.written == [*range(len(provider.written))]
        told = [e for e in events if e.provider == provider.name and e.hook in WRITES]
        delivered = [e for e in told if e.outcome in ("ok", "raised")]
        assert len(delivered) + sum(e.lost for e in told) == TURNS
        assert provider.calls.count(("shutdown",)) == 1
    assert providers[2].written[-1] == TURNS - 100
    providers[2].at_last.set()
    eventually(lambda: not own_threads(), "the end of the threads")


def one_session(number):
    registry, _ = opened(FakeProvider("a", enrich_turn=lambda *_: "x" * 1000), FakeProvider("b"))
    registry.enrich_turn("hello", [{"role": "user", "content": "x" * 1000}])
    registry.on_turn_complete("x" * 1000, str(number))
    registry.on_memory_write("add", "memory", "x" * 1000)
    if number % 5 == 0:
        registry.on_compress([{"role": "user", "content": "x"}], 1)
    if number % 10:
        registry.shutdown_all()


def measured():
    eventually(lambda: not own_threads(), "the end of the threads")
    gc.collect()
    files = len([*Path("/proc/self/fd").iterdir()])
    return threading.active_count(), files, psutil.Process().memory_info().rss


def test_a_thousand_registries_leave_no_thread_no_file_and_no_memory():
    for number in range(200):
        one_session(number)
    threads, files, memory = measured()
    for number in range(1000):
        one_session(number)
    assert measured()[:2] == (threads, files)
    assert measured()[2] - memory < 10_000_000


def test_many_threads_recall_at_once_and_each_gets_its_own_answers():
    registry, events = opened(*(FakeProvider(n, enrich_turn=lambda text, _: text) for n in "abc"))
    wrong = []

    def ask(thread):
        for number in range(100):
            mine = f"{thread}.{number}"
            answer = registry.enrich_turn(mine, [{"role": "user", "content": mine}])
            if [text for _, text in answer] != [mine] * 3:
                wrong.append(answer)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    registry.shutdown_all()
    assert wrong == []
    assert {e.outcome for e in events if e.hook == "enrich_turn"} == {"ok"}
