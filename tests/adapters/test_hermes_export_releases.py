"""An exported provider under the base class of each release, called as its manager calls."""

import importlib

import pytest

from memproto.adapters.hermes import to_hermes
from memproto.adapters.hermes_releases import NEWEST, RELEASES
from memproto.bindings import hermes_stand_in
from memproto.catalog import interface
from tests.native_shapes import EVERYTHING, Plain, Rich

#: Hook to its arguments by position, and the keywords of which a release may hand some over.
GIVEN = {
    "prefetch": (("hello",), {"session_id": "s1"}),
    "queue_prefetch": (("hello",), {"session_id": "s1"}),
    "sync_turn": (
        ("hello", "hi"),
        {
            "session_id": "s1",
            "messages": [{"role": "user", "content": "hello"}],
            "turn_author": {"id": "u7", "name": "Ada", "is_bot": False},
        },
    ),
    "on_turn_start": (
        (1, "hello"),
        {"model": "m", "author_id": "u7", "author_name": "Ada", "author_is_bot": False},
    ),
    "on_pre_compress": (([{"role": "user", "content": "hello"}],), {"require_checkpoint": True}),
    "on_memory_write": (("add", "memory", "A note."), {"metadata": {"tool_name": "memory"}}),
    "on_session_switch": (
        ("s2",),
        {"parent_session_id": "s1", "reset": False, "reason": "compression"},
    ),
    "on_delegation": (("task", "result"), {"child_session_id": "c"}),
    "on_session_end": (([{"role": "user", "content": "hello"}],), {}),
    "handle_tool_call": (("plain_add", {"text": "x"}), {"messages": []}),
    "get_tool_schemas": ((), {}),
    "system_prompt_block": ((), {}),
    "recall_status": ((), {}),
    "unavailable_reason": ((), {}),
    "identity_signature": ((), {}),
    "is_available": ((), {}),
    "get_config_schema": ((), {}),
    "save_config": (({"region": "x"}, "HOME"), {}),
    "backup_paths": ((), {}),
}


@pytest.fixture(params=RELEASES)
def release(request, imports_are_forgotten):
    """A release whose stand-in is what providers import."""
    hermes_stand_in.offer(request.param)
    importlib.import_module("agent.memory_provider")
    yield request.param
    hermes_stand_in.withdraw()


@pytest.fixture
def exported(release, tmp_path):
    def opened(provider):
        adapter = to_hermes(provider)
        adapter.initialize(session_id="s1", hermes_home=str(tmp_path), platform="telegram")
        return adapter

    return opened


def test_each_hook_of_a_release_is_served_as_its_manager_calls_it(release, exported, tmp_path):
    provider = Rich()
    adapter = exported(provider)
    base = importlib.import_module("agent.memory_provider").MemoryProvider
    assert isinstance(adapter, base)
    hooks = set(RELEASES[release].hooks) - {"name", "initialize", "shutdown"}
    assert hooks <= set(GIVEN)
    called = {
        name: {each for way in ways for each in way.split(", ")}
        for name, ways in interface.known()[release].calls.items()
    }
    for hook in sorted(hooks):
        positional, keywords = GIVEN[hook]
        positional = tuple(str(tmp_path) if one == "HOME" else one for one in positional)
        told = called.get(hook, set())
        given = {key: one for key, one in keywords.items() if "**" in told or f"{key}=" in told}
        getattr(adapter, hook)(*positional, **given)
    adapter.shutdown()
    noted = {call[0] for call in provider.calls}
    assert noted >= {"enrich_turn", "record", "on_memory_write", "on_session_switch", "shutdown"}
    (turn,) = [call[1] for call in provider.calls if call[0] == "record"]
    told_author = RELEASES[release].names_authors
    assert turn.get("author") == ({"id": "u7", "name": "Ada"} if told_author else None)


def test_an_instance_without_a_session_has_one_identity_and_makes_no_call(release, exported):
    if "identity_signature" not in RELEASES[release].hooks:
        assert not hasattr(to_hermes(Plain()), "identity_signature")
        return
    provider = Plain()
    answers = [to_hermes(provider).identity_signature() for _ in range(50)]
    assert answers == [{}] * 50
    assert provider.calls == []


def test_a_checkpoint_is_offered_by_the_version_that_the_newest_release_asks_for(exported, release):
    class Checkpoint(Plain):
        extensions = ("checkpoint",)

    assert to_hermes(Checkpoint()).pre_compress_checkpoint_api_version == 1
    adapter = exported(Checkpoint())
    assert adapter.pre_compress_checkpoint_api_version == 2
    module = importlib.import_module("agent.memory_provider")
    if release == NEWEST:
        version = module.PRE_COMPRESS_CHECKPOINT_API_VERSION
        assert adapter.pre_compress_checkpoint_api_version == version
    assert exported(Rich()).pre_compress_checkpoint_api_version == 1
    assert "checkpoint" not in EVERYTHING
