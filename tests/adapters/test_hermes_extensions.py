"""`to_hermes`: extensions under a Hermes host, and what a native host promises of threads."""

import dataclasses
import threading

import pytest

from memproto.adapters.hermes import to_hermes
from memproto.adapters.hermes_lane import MOST_BESIDE
from tests.kit_runs import ROOT
from tests.native_shapes import Plain, Rich, hermes
from tests.virtual import eventually

__all__ = ["hermes"]  # a fixture


def hooks_of(provider):
    return [call[0] for call in provider.calls]


# -- extensions ------------------------------------------------------------------------------------


def test_an_extension_that_is_not_declared_is_not_called(hermes):
    class Silent(Rich):
        extensions = ()

    provider = Silent()
    adapter = hermes(provider)
    adapter.on_turn_start(1, "Hi.")
    adapter.queue_prefetch("Hi.")
    adapter.on_session_switch("s2")
    adapter.on_delegation("t", "r")
    assert (adapter.system_prompt_block(), adapter.get_tool_schemas()) == ("", [])
    assert provider.calls == []


def test_each_extension_hook_is_called_with_the_native_arguments(hermes, tmp_path):
    provider = Rich()
    adapter = hermes(provider)
    adapter.on_turn_start(3, "Hi.", model="m")
    adapter.queue_prefetch("Hi.")
    adapter.on_delegation("task", "result", child_session_id="c1")
    adapter.on_session_end([{"role": "user", "content": None}])
    adapter.on_session_switch("s2", parent_session_id="s1", reset=True, reason="new")
    assert provider.calls == [
        ("on_turn_start", 3, "Hi."),
        ("queue_prefetch", "Hi.", "s1"),
        ("on_delegation", "task", "result", "c1"),
        ("on_session_end", [{"role": "user", "content": ""}]),
        (
            "on_session_switch",
            "s2",
            {"parent_session_id": "s1", "reset": True, "rewound": False, "reason": "new"},
        ),
    ]


def test_answers_are_saved_where_the_provider_starts_and_its_own_set_up_follows(tmp_path):
    provider = Rich()
    adapter = to_hermes(provider)
    adapter.save_config({"region": "eu"}, str(tmp_path))
    home = str(tmp_path / "memproto" / "plain")
    assert hooks_of(provider) == ["save_config", "post_setup"]
    assert {call[-1] if call[0] == "save_config" else call[1] for call in provider.calls} == {home}
    assert not hasattr(adapter, "post_setup")  # Hermes would ask no questions beside it


def test_a_tool_whose_name_the_host_reserves_goes_by_another_one(hermes):
    provider = Rich()
    adapter = to_hermes(provider)
    assert [s["name"] for s in adapter.get_tool_schemas()] == ["plain_add", "plain_memory", "later"]
    adapter = hermes(provider)
    names = [schema["name"] for schema in adapter.get_tool_schemas()]
    assert names == ["plain_add", "plain_memory"]  # those that it declares
    adapter.handle_tool_call("plain_memory", {"a": 1})
    assert provider.calls == [("handle_tool_call", "memory", {"a": 1})]


def test_calls_of_a_tool_that_hangs_are_bounded_in_number(hermes):
    release = threading.Event()

    class Hangs(Rich):
        def handle_tool_call(self, tool_name, args, **kwargs):
            release.wait(60)
            return "{}"

    adapter = hermes(Hangs())
    adapter.get_tool_schemas()
    budgets = adapter._hosted.budgets
    adapter._hosted.budgets = dataclasses.replace(budgets, tool_s=0.001)
    for _ in range(MOST_BESIDE):
        assert "did not return" in adapter.handle_tool_call("plain_add", {})
    before = set(threading.enumerate())
    assert "still running" in adapter.handle_tool_call("plain_add", {})
    assert set(threading.enumerate()) <= before
    adapter._hosted.budgets = budgets
    release.set()
    eventually(lambda: adapter.handle_tool_call("plain_add", {}) == "{}")


def test_a_provider_that_cannot_tell_its_tools_before_a_session_offers_none(tmp_path):
    class Late(Rich):
        def get_tool_schemas(self):
            return [{"name": "plain_add"}] if self.session_key else []

    adapter = to_hermes(Late())
    assert adapter.get_tool_schemas() == []
    adapter.initialize("s1", hermes_home=str(tmp_path))
    assert adapter.get_tool_schemas() == []  # the host could not route it


def test_the_status_is_told_in_the_shape_of_newer_hosts_for_a_recall_only(hermes):
    provider = Rich()
    adapter = hermes(provider)
    assert adapter.recall_status() is None
    provider.recalled = "Two."
    adapter.prefetch("q")
    status = adapter.recall_status()
    assert (status.provider_label, status.count) == ("plain", 2)
    provider.items = 0
    assert adapter.recall_status() is None
    assert adapter.unavailable_reason() == "no key"


# -- what a native host promises -------------------------------------------------------------------


def test_the_budgets_are_those_that_the_guide_names(hermes):
    guide = (ROOT / "docs" / "hermes.md").read_text("utf-8")
    budgets = hermes(Plain())._hosted.budgets
    for seconds in (budgets.enrich_s, budgets.compress_s, budgets.shutdown_s):
        assert f"at most {seconds:g} s" in guide


@pytest.fixture
def hanging(hermes, monkeypatch):
    """A provider whose writes wait for an event, and a host that waits for none of them."""
    monkeypatch.setattr("memproto.adapters.hermes_hosted.PATIENCE_S", 0.01)

    class Waits(Rich):
        extensions = ("sessions",)

        def __init__(self):
            super().__init__()
            self.may_go, self.is_in = threading.Event(), threading.Event()

        def on_turn_complete(self, user_message, assistant_response):
            self.is_in.set()
            self.may_go.wait()
            super().on_turn_complete(user_message, assistant_response)

    provider = Waits()
    yield hermes(provider), provider
    provider.may_go.set()


def test_a_write_that_hangs_holds_up_the_host_no_longer_and_others_wait_behind_it(hanging):
    adapter, provider = hanging
    adapter.sync_turn("one", "1")
    adapter.on_memory_write("add", "memory", "two")
    assert provider.is_in.wait(10)
    assert provider.calls == []
    provider.may_go.set()
    adapter.shutdown()
    assert hooks_of(provider) == ["on_turn_complete", "on_memory_write", "shutdown"]


def test_a_recall_waits_for_the_session_that_it_is_asked_in(hanging):
    adapter, provider = hanging
    adapter.sync_turn("one", "1")
    adapter.on_session_switch("s2")
    found = []
    asking = threading.Thread(target=lambda: found.append(adapter.prefetch("q")))
    asking.start()
    asking.join(0.1)
    assert asking.is_alive(), "it is not asked beside the turn that hangs"
    provider.may_go.set()
    asking.join(20)
    assert found == [""]
    assert hooks_of(provider) == ["on_turn_complete", "on_session_switch", "enrich_turn"]


def test_a_switch_that_hangs_costs_one_recall_its_budget_and_not_each(hanging):
    adapter, provider = hanging
    adapter.sync_turn("one", "1")
    adapter.on_session_switch("s2")
    budgets = type(adapter._hosted.budgets)
    adapter._hosted.budgets = budgets(enrich_s=0.05)
    assert adapter.prefetch("q") == ""
    adapter._hosted.budgets = budgets(enrich_s=60)
    asking = threading.Thread(target=adapter.prefetch, args=("q",))
    asking.start()
    asking.join(20)
    assert not asking.is_alive()
    provider.may_go.set()
    adapter.shutdown()
    assert "enrich_turn" not in hooks_of(provider)


def test_a_recall_that_is_late_is_nothing_and_is_not_called_again_before_it_returns(hermes):
    may_go, is_in = threading.Event(), threading.Event()

    class Hangs(Plain):
        def enrich_turn(self, user_message, messages):
            super().enrich_turn(user_message, messages)
            is_in.set()
            may_go.wait()
            return "late"

    provider = Hangs()
    adapter = hermes(provider)
    adapter._hosted.budgets = type(adapter._hosted.budgets)(enrich_s=0.05)
    assert adapter.prefetch("one") == ""
    assert is_in.wait(10)
    assert adapter.prefetch("two") == ""
    may_go.set()
    assert len(provider.calls) == 1
    adapter.shutdown()
