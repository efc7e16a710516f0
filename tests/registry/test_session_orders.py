import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.deadlines import Deadlines
from tests.extended import Extended, opened
from tests.virtual import eventually, own_threads

pytestmark = pytest.mark.once

STEPS = st.sampled_from(["record", "mirror", "delegate", "switch", "reset", "rewind", "end"])


class Notebook(Extended):
    """Notes each write under the session that it is in, and how often each session was ended."""

    def __init__(self, name) -> None:
        super().__init__(name, "sessions", "delegation", "prewarm", "turns")
        self.key, self.written, self.ends, self.prepared = "s0", [], [], []

    def on_turn_complete(self, user_message, assistant_response):
        self.written.append((self.key, user_message))

    def on_memory_write(self, action, target, content, old_text=None):
        self.written.append((self.key, content))

    def on_delegation(self, task, result, **keywords):
        self.written.append((self.key, task))

    def on_session_switch(self, new_session_id, **keywords):
        self.key = new_session_id

    def on_session_end(self, messages):
        self.ends.append(self.key)

    def queue_prefetch(self, query, *, session_id=""):
        self.prepared.append((session_id, query))

    def enrich_turn(self, user_message, messages):
        return self.key


def take(registry, step, number):
    """One step; returns the key of the session afterwards."""
    key = registry.session_key
    if step == "record":
        registry.on_turn_complete(str(number), "")
    elif step == "mirror":
        registry.on_memory_write("add", "memory", str(number))
    elif step == "delegate":
        registry.on_delegation(str(number), "")
    elif step == "end":
        registry.on_session_end([])
    else:
        key = key if step == "rewind" else f"s{number}"
        registry.on_session_switch(key, reset=step == "reset", rewound=step == "rewind")
    return key


@given(st.lists(STEPS, max_size=25), st.sets(st.integers(0, 24)))
@settings(deadline=None, max_examples=60, derandomize=True, database=None)
def test_every_write_belongs_to_its_session_and_each_session_ends_once(steps, recalls):
    a, b = Notebook("a"), Notebook("b")
    expected, ended, key = [], [], "s0"
    with opened(a, b, session="s0", deadlines=Deadlines(enrich_s=30.0)) as (registry, _):
        for number, step in enumerate(steps, 1):
            left, key = key, take(registry, step, number)
            if step in ("record", "mirror", "delegate"):
                expected.append((key, str(number)))
            if step in ("end", "reset") and left not in ended:
                ended.append(left)
            if number in recalls:
                assert registry.enrich_turn("x", []) == [("a", key), ("b", key)]
    if key not in ended:
        ended.append(key)
    for provider in (a, b):
        assert provider.written == expected
        assert provider.ends == ended
        assert set(provider.prepared) <= set(expected)


def test_threads_that_switch_write_and_recall_at_once_never_see_another_session():
    provider = Notebook("a")
    wrong = []
    with opened(provider, session="s0", deadlines=Deadlines(enrich_s=30.0)) as (registry, events):

        def switch():
            for number in range(100):
                registry.on_session_switch(f"s{number}")

        def recall():
            for _ in range(100):
                before = registry.session_key
                found = registry.enrich_turn("x", [])
                if registry.session_key == before and found and found != [("a", before)]:
                    wrong.append((before, found))

        def write():
            for number in range(100):
                registry.on_turn_complete(str(number), "")

        threads = [threading.Thread(target=job) for job in (switch, recall, recall, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert registry.flush()
        assert registry.enrich_turn("x", []) == [("a", "s99")]
    assert wrong == []
    assert len(provider.written) == 100
    assert not any(event.lost for event in events)
    eventually(lambda: not own_threads())


def test_two_hundred_sessions_with_every_extension_leave_no_thread():
    def one():
        a = Extended("a", "sessions", "prewarm", "turns", "prompt", "status", "privacy", "items")
        with opened(a) as (registry, _):
            registry.on_turn_start(1, "x")
            registry.on_turn_complete("x", "")
            registry.system_prompt_block()
            registry.recall_status()
            registry.on_session_switch("next", reset=True)

    before = set(threading.enumerate())
    for _ in range(200):
        one()
    eventually(lambda: set(threading.enumerate()) <= before)
