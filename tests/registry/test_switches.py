"""Providers that are told of a switch: those that serve it, and adapters that keep the key."""

import pytest

from memproto.adapters.hermes import HermesAdapter
from tests.extended import Extended, opened, told
from tests.virtual import FakeProvider


class Adapter(FakeProvider):
    """Declares nothing, and hands the key of its session to what it adapts."""

    keeps_session_key = True
    key = "session"

    def on_session_switch(self, new_session_id, **_):
        self.key = new_session_id

    def enrich_turn(self, user_message, messages):
        return self.key


def test_an_adapter_that_keeps_the_key_is_told_of_each_switch_whatever_it_declares():
    with opened(Adapter("a"), FakeProvider("b")) as (registry, events):
        registry.on_session_switch("next")
        assert registry.enrich_turn("hello", []) == [("a", "next")]
    outcomes = sorted(told(events, "on_session_switch"))  # told on two threads
    assert outcomes == [("a", "ok", ""), ("b", "dropped", "not served")]


@pytest.mark.parametrize("says", [False, None, "yes", 1])
def test_only_true_says_that_a_provider_keeps_the_key(says):
    adapter = Adapter("a")
    adapter.keeps_session_key = says
    with opened(adapter) as (registry, events):
        registry.on_session_switch("next")
    assert told(events, "on_session_switch") == [("a", "dropped", "not served")]
    assert adapter.key == "session"


def test_an_adapter_that_says_so_without_the_hook_is_told_as_one_that_cannot():
    adapter = Adapter("a")
    adapter.on_session_switch = None
    with opened(adapter) as (registry, events):
        registry.on_session_switch("next")
    assert told(events, "on_session_switch") == [("a", "dropped", "not served")]


def test_an_attribute_that_raises_keeps_the_switch_from_nobody_else():
    class Raises(FakeProvider):
        @property
        def keeps_session_key(self):
            raise SystemExit

    other = Extended("b", "sessions")
    with opened(Raises("a"), other) as (registry, _):
        registry.on_session_switch("next")
    assert [key for key, *_ in other.named("on_session_switch")] == ["next"]


def test_the_hermes_adapter_keeps_the_key():
    assert HermesAdapter.keeps_session_key is True
