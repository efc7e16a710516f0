"""The kit's view of the provider: where a server is, what it holds, and when it has all."""

import os
import threading

from memproto.reference_providers.honcho import service

FACT = "My boat Kestrel is in Ostrava."


def test_the_service_is_a_stand_in_unless_a_server_is_named(monkeypatch):
    with service.running() as told:
        assert told["env"]["HONCHO_URL"].startswith("http://127.0.0.1:")
    monkeypatch.setenv("HONCHO_URL", "http://mine")
    with service.running() as told:
        assert told == {}


def test_a_text_is_counted_as_often_as_it_was_accepted(monkeypatch, view, opened):
    monkeypatch.setenv("HONCHO_URL", view.url)
    monkeypatch.setenv("HONCHO_API_KEY", view.key)
    provider = opened(writeFrequency="turn")
    counts = [service.stored(provider, "Kestrel")]
    for _ in range(2):
        provider.on_turn_complete(FACT, "Noted.")
        counts.append(service.stored(provider, "Kestrel"))
    provider.on_memory_write("add", "user", "Ada has a dog, Ferda.")
    counts.append(service.stored(provider, "Ferda"))
    assert counts == [0, 1, 2, 1]


def test_all_is_settled_when_nothing_waits_below_the_home(standin, opened, tmp_path):
    config = {"home": str(tmp_path / "home")}
    service.settled(config)
    provider = opened()
    standin.freeze()
    provider.on_turn_complete(FACT, "Noted.")
    waits = threading.Thread(target=service.settled, args=(config,))
    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    assert standin.store.texts() == []
    standin.thaw()
    waits.join(10.0)
    assert not waits.is_alive()
    assert standin.store.texts() == [FACT, "Noted."]
    assert "HONCHO_URL" not in os.environ
