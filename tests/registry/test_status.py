import json
import threading

import pytest

from memproto.errors import Misconfigured
from memproto.registry import Answer, MemoryProviderRegistry
from tests.extended import Extended, opened, told
from tests.virtual import FakeProvider, VirtualClock, eventually


def no(*_):
    return False


# -- reasons --------------------------------------------------------------------------------------


def test_a_provider_that_is_not_available_is_named_with_its_reason():
    a = Extended("a", "status", is_available=no, unavailable_reason=lambda: "Set the key.")
    b = FakeProvider("b", is_available=no)
    with opened(a, b, FakeProvider("c")) as (registry, _):
        assert registry.dropped == {"a": "Set the key.", "b": "not available"}
        assert registry.unavailable_reason() == registry.dropped
        assert registry.providers == ("c",)


@pytest.mark.parametrize("reason", [None, 7, "", b"x"])
def test_a_reason_that_is_none_is_replaced(reason):
    a = Extended("a", "status", is_available=no, unavailable_reason=lambda: reason)
    with opened(a) as (registry, _):
        assert registry.dropped == {"a": "not available"}


def test_a_provider_whose_start_failed_is_named_with_what_the_operator_can_do():
    def misconfigured(*_):
        raise Misconfigured("no key is set")

    def broken(*_):
        raise ValueError("secret")

    a, b = FakeProvider("a", initialize=misconfigured), FakeProvider("b", initialize=broken)
    with opened(a, b) as (registry, _):
        assert registry.dropped == {"a": "Misconfigured: no key is set", "b": "ValueError"}


def test_a_reason_that_hangs_costs_five_seconds():
    clock, release = VirtualClock(), threading.Event()

    def hang():
        clock.advance(5.0)
        release.wait(10)

    a = Extended("a", "status", is_available=no, unavailable_reason=hang)
    with opened(a, FakeProvider("b"), clock=clock) as (registry, _):
        assert registry.dropped == {"a": "not available"}
        assert registry.providers == ("b",)
        release.set()


def test_an_active_provider_says_what_is_wrong_with_it():
    a = Extended("a", "status", unavailable_reason=lambda: "The server does not answer.")
    b = Extended("b", "status", unavailable_reason=lambda: "")
    with opened(a, b) as (registry, _):
        assert registry.unavailable_reason() == {"a": "The server does not answer."}


# -- status ---------------------------------------------------------------------------------------


def test_the_status_of_each_provider_that_serves_one_is_gathered():
    a = Extended("a", "status", recall_status=lambda: {"state": "ok", "recalled": 2})
    b = Extended("b", "status", recall_status=lambda: {"state": "fine"})
    c = Extended("c", "status", recall_status=lambda: {}["x"])
    with opened(a, b, FakeProvider("d"), c) as (registry, events):
        found = registry.recall_status()
    assert found == [
        Answer("a", "ok", {"state": "ok", "recalled": 2}),
        Answer("b", "wrong_type", reason="no state that there is"),
        Answer("c", "raised", reason="KeyError"),
    ]
    assert len(told(events, "recall_status")) == 3


def test_a_status_that_hangs_is_late_and_then_stuck():
    clock, release = VirtualClock(), threading.Event()

    def hang():
        clock.advance(5.0)
        release.wait(10)

    with opened(Extended("a", "status", recall_status=hang), clock=clock) as (registry, _):
        assert registry.recall_status() == [Answer("a", "late")]
        assert registry.recall_status() == [Answer("a", "stuck")]
        assert registry.stats()["providers"]["a"]["stuck"] == ["recall_status"]
        release.set()


# -- backup ---------------------------------------------------------------------------------------


def test_paths_are_listed_before_and_in_a_session():
    provider = Extended("a", "backup", backup_paths=lambda: ["/x/y"])
    registry = MemoryProviderRegistry()
    registry.register(provider)
    registry.register(FakeProvider("b"))
    assert registry.backup_paths() == [Answer("a", "ok", ("/x/y",))]
    assert provider.named("initialize") == []
    registry.initialize_all("session", {})
    assert registry.backup_paths() == [Answer("a", "ok", ("/x/y",))]
    registry.shutdown_all()
    assert registry.backup_paths() == []


@pytest.mark.parametrize("paths", [None, "/x", ["x"], ["~/x"], [b"/x"], [7], {"/x": 1}])
def test_paths_that_mean_another_place_elsewhere_are_told(paths):
    with opened(Extended("a", "backup", backup_paths=lambda: paths)) as (registry, _):
        assert [answer.outcome for answer in registry.backup_paths()] == ["wrong_type"]


# -- counters -------------------------------------------------------------------------------------


def test_the_counters_are_plain_json_without_text_of_the_user():
    def broken(*_):
        raise ValueError("mine")

    a = FakeProvider("a", enrich_turn=broken)
    with opened(a, FakeProvider("b"), FakeProvider("c", is_available=no)) as (registry, _):
        registry.enrich_turn("mine", [])
        registry.on_turn_complete("mine", "mine")
        # The event of a write follows its delivery, which is all that a flush waits for.
        eventually(lambda: registry.stats()["providers"]["b"]["hooks"].get("on_turn_complete"))
        stats = registry.stats()
        assert "mine" not in json.dumps(stats)
    found = stats["providers"]
    assert {name: one["state"] for name, one in found.items()} == {
        "a": "active",
        "b": "active",
        "c": "dropped",
    }
    assert found["a"]["hooks"]["enrich_turn"] == {"raised": 1}
    assert found["b"]["hooks"]["on_turn_complete"] == {"ok": 1}
    assert found["c"]["reason"] == "not available"
    assert registry.stats()["providers"]["a"]["state"] == "ended"


def test_the_counters_tell_what_waits_and_what_was_lost():
    entered, release = threading.Event(), threading.Event()

    def hold(*_):
        entered.set()
        release.wait(10)

    with opened(FakeProvider("a", on_turn_complete=hold)) as (registry, _):
        assert registry.stats()["providers"]["a"]["queued"] == 0
        registry.on_turn_complete("one", "")
        registry.on_turn_complete("two", "")
        assert entered.wait(10)
        assert registry.stats()["providers"]["a"]["queued"] == 2
        release.set()
    registry.on_turn_complete("three", "")
    counted = registry.stats()["providers"]["a"]
    assert (counted["queued"], counted["lost"]) == (0, 1)
    assert counted["hooks"]["on_turn_complete"] == {"ok": 2, "dropped": 1}


def test_the_counters_of_many_threads_miss_nothing():
    with opened(FakeProvider("a", enrich_turn=lambda *_: "x")) as (registry, _):
        threads = [
            threading.Thread(target=lambda: [registry.enrich_turn("x", []) for _ in range(50)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert registry.stats()["providers"]["a"]["hooks"]["enrich_turn"] == {"ok": 400}


def test_a_registry_that_was_not_opened_counts_its_providers_as_registered():
    registry = MemoryProviderRegistry()
    registry.register(FakeProvider("a"))
    assert registry.stats()["providers"]["a"]["state"] == "registered"
    assert registry.dropped == {}
    registry.shutdown_all()
    eventually(lambda: registry.recall_status() == [])
