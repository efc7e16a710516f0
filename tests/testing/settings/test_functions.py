"""The user's own functions: what they do wrong is a fault of the setting, with its line."""

import threading
import types

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.errors import InvalidSettings
from memproto.testing.provider.freshness import Freshness
from memproto.testing.provider.subject import Watch
from memproto.testing.settings import functions
from memproto.testing.settings.functions import Functions
from tests.settings_cases.plugin import Plugin

HERE = "tests.settings_cases.functions"


def made(key, name, **kwargs):
    found = Functions({key: [name, f"memproto.toml:4: {key}"]}, **kwargs)
    found.find()
    return found


@pytest.mark.parametrize(
    ("key", "name", "fault"),
    [
        ("warm", "nowhere.at_all:warm", "there is no module 'nowhere'"),
        ("warm", "tests.nowhere:warm", "importing tests.nowhere raised ModuleNotFoundError"),
        ("warm", f"{HERE}:warn", "has no 'warn'"),
        ("warm", f"{HERE}:time.nothing", "has no 'time.nothing'"),
        ("warm", f"{HERE}:NOT_CALLABLE", "is int, which cannot be called"),
        ("warm", f"{HERE}:counts", "cannot be called without arguments"),
        ("settle", f"{HERE}:takes_two", r"cannot be called as function\(config\) or without"),
        ("cleanup", f"{HERE}:good", r"cannot be called as function\(configs\)"),
        ("read_back", f"{HERE}:good", r"cannot be called as function\(provider, text\)"),
    ],
)
def test_one_that_cannot_be_called_is_found_out_before_anything_runs(key, name, fault):
    with pytest.raises(InvalidSettings, match=rf"toml:4: {key}: .*{fault}.*\n  fix: "):
        made(key, name)


@pytest.mark.parametrize("name", ["raises", "raises_at_exit"])
@pytest.mark.parametrize(
    ("key", "call"),
    [
        ("warm", lambda found: found.warm()),
        ("settle", lambda found: found.settle({})),
        ("cleanup", lambda found: found.clean([])),
        ("read_back", lambda found: found.stored(None, "a text")),
    ],
)
def test_what_one_raises_is_told_with_its_own_line(key, call, name):
    with pytest.raises(InvalidSettings, match=rf"{key}: .* raised .*functions\.py:\d+ in {name}"):
        call(made(key, f"{HERE}:{name}"))


@pytest.mark.parametrize("given", ["some", None, True, 1.0, -1])
def test_a_count_that_is_none_is_refused(given, monkeypatch):
    monkeypatch.setattr(f"{HERE}.counts", lambda provider, text: given)
    with pytest.raises(InvalidSettings, match=r"read_back: returned .*, which is no count"):
        made("read_back", f"{HERE}:counts").stored(None, "a text")


def test_without_the_setting_nothing_is_known_and_nothing_is_done():
    found = Functions()
    found.find()
    found.warm()
    found.settle({})
    found.clean([{}])
    assert found.stored(None, "a text") is None


def test_one_that_returns_after_its_time_is_refused(monkeypatch):
    monkeypatch.setitem(functions.BUDGETS_S, "warm", -1.0)
    with pytest.raises(InvalidSettings, match=r"warm: .* returned after 0 s of -1 s"):
        made("warm", f"{HERE}:good").warm()


def test_what_is_read_back_from_is_the_authors_own_instance(monkeypatch):
    seen = []
    monkeypatch.setattr(f"{HERE}.counts", lambda provider, text: len(seen.append(provider) or []))
    plugin = Plugin()
    made("read_back", f"{HERE}:counts").stored(from_hermes(plugin), "a text")
    assert seen == [plugin]


@pytest.mark.parametrize(("takes", "given"), [("config", [{"home": "h"}]), ("", [])])
def test_settle_gets_the_config_where_it_takes_one(monkeypatch, takes, given):
    module, seen = types.ModuleType("mine"), []
    module.seen = seen
    exec(f"def wait({takes}):\n    seen.extend([{takes}])", vars(module))
    monkeypatch.setitem(__import__("sys").modules, "mine", module)
    made("settle", "mine:wait").settle({"home": "h"})
    assert seen == given


# -- when what was stored is waited for -----------------------------------------------------------


class Silent:
    """A wire that nobody listens to."""

    def send(self, message):
        """Nothing."""


@pytest.fixture
def clock(monkeypatch):
    now = types.SimpleNamespace(s=100.0)
    monkeypatch.setattr("memproto.testing.provider.freshness.monotonic", lambda: now.s)
    return now


def test_the_declared_time_is_waited_once_for_all_that_was_stored(clock):
    watch = Watch(Silent())
    fresh = Freshness(watch)
    assert fresh.wait_s(3.0) == 0.0
    watch.stored_at = 100.0
    assert fresh.wait_s(3.0) == 3.0
    clock.s = 102.0
    assert fresh.wait_s(3.0) == 1.0
    clock.s = 200.0
    assert fresh.wait_s(3.0) == 0.0


def test_settle_is_called_once_for_all_that_was_stored(monkeypatch):
    calls = []
    monkeypatch.setattr(f"{HERE}.good", lambda: calls.append(1))
    watch = Watch(Silent())
    fresh = Freshness(watch)
    fresh.functions = made("settle", f"{HERE}:good")
    fresh.settle()
    assert calls == []
    for stored_at in (1.0, 1.0, 2.0, 2.0):
        watch.stored_at = stored_at
        fresh.settle()
        assert fresh.wait_s(3600.0) == 0.0
    assert calls == [1, 1]


def test_of_many_threads_no_more_call_than_the_user_allows():
    watch = Watch(Silent(), calls_left=50)
    refused = []

    def call():
        for _ in range(20):
            try:
                watch.spend("recall")
            except Exception as error:
                refused.append(error)

    threads = [threading.Thread(target=call) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 50
    assert watch.has_refused
    assert watch.calls_left == 0


def test_what_needs_no_backend_is_not_counted():
    watch = Watch(Silent(), calls_left=0)
    for operation in ("open", "close", "name", "available", "declare", "tools", "load"):
        watch.spend(operation)
    assert not watch.has_refused
