"""The shipped driver of Hermes Agent, as far as it goes without hermes-agent; tests/wild has it."""

import sys
import types

import pytest

from memproto.errors import Unavailable
from memproto.testing.host import hermes
from memproto.testing.host.hermes_bridge import Bridge
from tests.kit_runs import kit
from tests.native_shapes import Plain, Rich


def test_where_hermes_is_not_installed_the_run_says_which_package_is_missing(tmp_path):
    done = kit(tmp_path, "--memproto-host=hermes")
    assert done.returncode == 4
    assert "needs the module 'hermes-agent', which is not installed here" in done.stderr


def opened(provider):
    bridge = Bridge(provider)
    bridge.initialize(session_id="s1", hermes_home="/h", home="/h", user_id="7")
    return bridge


def test_the_bridge_adds_nothing_to_what_the_host_does():
    provider = Plain()
    bridge = opened(provider)
    assert provider.config == {"home": "/h", "user_id": "7"}
    assert bridge.prefetch("q", session_id="s1") == ""
    bridge.sync_turn(["a part"], "a", session_id="s1")
    bridge.on_memory_write("remove", "user", "", metadata={"old_text": "old"})
    assert provider.calls[1:] == [
        ("on_turn_complete", ["a part"], "a"),
        ("on_memory_write", "remove", "user", None, "old"),
    ]
    provider.fails = Unavailable("away")
    with pytest.raises(Unavailable):
        bridge.prefetch("q")


def test_the_bridge_hands_on_the_hooks_of_declared_extensions_only():
    told, silent = Rich(), Rich()
    silent.extensions = ()
    for provider in (told, silent):
        bridge = opened(provider)
        bridge.on_turn_start(1, "Hi.")
        bridge.on_session_switch("s2", reset=True)
        bridge.on_pre_compress([])
    assert [call[0] for call in silent.calls] == ["on_compress"]
    assert [call[0] for call in told.calls] == ["on_turn_start", "on_session_switch", "on_compress"]


def test_before_its_start_a_provider_tells_the_bridge_its_tools():
    assert Bridge(Rich()).get_tool_schemas()[0]["name"] == "plain_add"
    assert Bridge(Plain()).get_tool_schemas() == []


class NotingManager:
    """A manager of a release that mirrors writes, with notes for each compression."""

    def notify_memory_tool_write(self):
        """Is there: releases are told apart by it."""

    def __init__(self, external_prefetch_timeout=8.0):
        pass

    def on_pre_compress(self, messages):
        return "The boat is the Ondine. " * 3


@pytest.mark.parametrize(
    ("engine", "asked"),
    [
        ({"sanitize_memory_context": lambda notes: notes[:23]}, "The boat is the Ondine."),
        ({}, "The boat is the Ondine. " * 3),
    ],
    ids=["a release that cuts", "a release that does not"],
)
def test_notes_reach_the_summary_as_the_agent_cuts_them(monkeypatch, engine, asked):
    modules = {"memory_manager": {"MemoryManager": NotingManager}, "context_engine": engine}
    for name, members in modules.items():
        module = types.ModuleType(f"agent.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "agent", types.ModuleType("agent"))
    monkeypatch.setattr(hermes, "version", lambda: "0.19.0")
    assert hermes.Driver().compress([], 1).asked == asked
