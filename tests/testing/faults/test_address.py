"""Places for the address of a fault server, and their values before and after."""

import os

import pytest

from memproto.testing.faults.address import Place

ADDRESSES = {
    "": ("http://127.0.0.1:9", None),
    "http://127.0.0.1:8080": ("http://127.0.0.1:9", ("127.0.0.1", 8080)),
    "http://localhost:8080/v1?key=a": ("http://127.0.0.1:9/v1?key=a", ("127.0.0.1", 8080)),
    "https://api.example.com/v1": ("http://127.0.0.1:9/v1", None),
    "http://localhost": ("http://127.0.0.1:9", ("127.0.0.1", 80)),
    "redis://127.0.0.1:6379/0": ("redis://127.0.0.1:9/0", ("127.0.0.1", 6379)),
    "127.0.0.1:6333": ("127.0.0.1:9", ("127.0.0.1", 6333)),
    "localhost": ("127.0.0.1:9", ("127.0.0.1", 80)),
    "http://127.0.0.1:port": ("http://127.0.0.1:9", None),
}


@pytest.mark.parametrize("today", ADDRESSES)
def test_what_stands_there_is_the_pattern_and_names_the_backend(today):
    place = Place(("config", "server.url"), {"server": {"url": today}})
    assert (place.address(9), place.upstream) == ADDRESSES[today]


@pytest.mark.parametrize("today", ["", "127.0.0.1:80", "http://127.0.0.1:80"])
def test_a_scheme_may_be_asked_for(today):
    assert Place(("config", "url"), {"url": today}).address(9, "https") == "https://127.0.0.1:9"


def test_a_config_holds_it_without_the_old_one_being_changed():
    config = {"server": {"url": "http://localhost:1", "key": "a"}, "bank": "b"}
    with Place(("config", "server.url"), config).holding("http://127.0.0.1:9") as found:
        assert found == {"server": {"url": "http://127.0.0.1:9", "key": "a"}, "bank": "b"}
    assert config["server"] == {"url": "http://localhost:1", "key": "a"}


@pytest.mark.parametrize("config", [{}, {"server": "text"}, {"server": {"url": 3}}])
def test_a_key_that_is_not_there_is_made(config):
    place = Place(("config", "server.url"), config)
    assert place.today == ""
    with place.holding("http://127.0.0.1:9") as found:
        assert found["server"] == {"url": "http://127.0.0.1:9"}


@pytest.mark.parametrize("before", [None, "http://127.0.0.1:1"])
def test_a_variable_holds_it_for_as_long_as_is_asked(monkeypatch, before):
    monkeypatch.delenv("MINE_URL", raising=False)
    if before:
        monkeypatch.setenv("MINE_URL", before)
    with Place(("env", "MINE_URL"), {"bank": "b"}).holding("http://127.0.0.1:9") as found:
        assert os.environ["MINE_URL"] == "http://127.0.0.1:9"
        assert found == {"bank": "b"}
    assert os.environ.get("MINE_URL") == before
