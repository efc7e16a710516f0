"""`from_hermes`: what a provider's hooks show, as extensions, tools and protocols."""

import pytest

from memproto.adapters.hermes import from_hermes, is_hermes, owns
from memproto.errors import NotAProvider
from memproto.extensions import BackupProvider, Prewarming, ToolProvider
from memproto.provider import MemoryProvider
from tests.hermes_shapes import Bare, Full


def test_inherited_hooks_are_there_and_only_own_ones_are_shown_as_extensions():
    adapter = from_hermes(Full())
    assert adapter.capabilities() == {
        "tool_names": [],
        "extensions": ["sessions", "backup", "compress_notes"],
        "spec_version": "1.0",
    }
    assert adapter.system_prompt_block() == ""
    assert adapter.backup_paths() == ["/elsewhere"]


def test_a_hook_that_is_set_on_the_instance_is_its_own():
    provider = Full()
    provider.queue_prefetch = lambda query, *, session_id="": None
    assert "prewarm" in from_hermes(provider).capabilities()["extensions"]


def test_a_duck_typed_provider_shows_what_it_has_whole():
    class Half(Bare):
        def system_prompt_block(self):
            return "block"

        def on_session_end(self, messages):
            """Without on_session_switch, which the host calls too."""

    assert from_hermes(Half()).capabilities()["extensions"] == ["prompt"]


def test_a_class_that_is_itself_called_like_the_base_class_owns_its_hooks():
    Own = type("MemoryProvider", (Bare,), {"backup_paths": lambda self: []})  # noqa: N806 - a class
    assert from_hermes(Own()).capabilities()["extensions"] == ["backup"]


def test_a_provider_without_a_base_class_does_not_own_what_it_lacks():
    assert not owns(Bare(), "identity_signature")


def test_wrapped_schemas_come_out_bare_and_odd_ones_as_they_are():
    bare = {"name": "a", "description": "", "parameters": {}}
    odd = [{"type": "function", "function": "b"}, "c", {"name": 3}, {"type": "function"}]
    provider = Full()
    provider.schemas = [bare, {"type": "function", "function": {**bare, "name": "b"}}, *odd]
    adapter = from_hermes(provider)
    assert adapter.get_tool_schemas() == [bare, {**bare, "name": "b"}, *odd]
    assert adapter.capabilities()["tool_names"] == ["a", "b"]
    assert "tools" in adapter.capabilities()["extensions"]


@pytest.mark.parametrize("schemas", [None, "text", {"name": "a"}])
def test_a_tool_list_of_a_wrong_type_is_let_through_and_names_no_tool(schemas):
    provider = Full()
    provider.get_tool_schemas = lambda: schemas
    adapter = from_hermes(provider)
    assert adapter.get_tool_schemas() is schemas
    assert adapter.capabilities()["tool_names"] == []


def test_the_adapter_fits_the_protocols_that_the_provider_serves():
    adapter = from_hermes(Full())
    assert isinstance(adapter, MemoryProvider)
    assert isinstance(adapter, ToolProvider)
    assert isinstance(adapter, BackupProvider)
    assert not isinstance(from_hermes(Bare()), Prewarming)


def test_the_result_of_an_adapter_is_native():
    assert not is_hermes(from_hermes(Full()))


@pytest.mark.parametrize(
    ("obj", "fact"),
    [(Bare, "Bare is a class"), (object(), "object lacks initialize and is_available")],
)
def test_what_cannot_be_adapted_is_refused_with_the_fact(obj, fact):
    with pytest.raises(NotAProvider, match=fact):
        from_hermes(obj)
