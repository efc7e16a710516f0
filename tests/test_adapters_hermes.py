"""`from_hermes`: the signature shapes of published providers, and the truth about their hooks."""

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.adapters.hermes import HOST_CALLS, from_hermes, is_hermes
from memproto.errors import NotAProvider, TooLarge, Unavailable
from memproto.extensions import BackupProvider, Prewarming, ToolProvider
from memproto.provider import MemoryProvider

HOME = {"home": "/h/own", "protocol": {"version": "1.0"}, "deadlines": {}, "limits": {}}
SESSION = {**HOME, "platform": "telegram"}
MESSAGES = [{"role": "user", "content": "hi"}]


class HermesBase:
    """The shape of the Hermes base class: inherited hooks that do nothing."""

    def handle_tool_call(self, tool_name, args, **kwargs):
        raise NotImplementedError(tool_name)

    def prefetch(self, query, *, session_id=""):
        return ""

    def system_prompt_block(self):
        return ""

    def queue_prefetch(self, query, *, session_id=""):
        """Does nothing."""

    def on_session_end(self, messages):
        """Does nothing."""

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, **kwargs):
        """Does nothing."""

    def on_pre_compress(self, messages):
        return ""

    def backup_paths(self):
        return []


HermesBase.__name__ = "MemoryProvider"


class Bare:
    """Duck-typed, with as little as a Hermes provider can have; notes what it is called with."""

    name = "bare"

    def __init__(self):
        self.calls = []

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self.calls.append(("initialize", session_id, kwargs))

    def prefetch(self, query, *, session_id=""):
        return ""


def opened(provider, config=SESSION):
    adapter = from_hermes(provider)
    adapter.initialize("s-1", config)
    return adapter


def test_later_hooks_belong_to_the_session_that_was_switched_to():
    class Switches(Bare):
        def on_session_switch(self, new_session_id, **kwargs):
            raise RuntimeError

        def prefetch(self, query, *, session_id=""):
            return session_id

    adapter = opened(Switches())
    with pytest.raises(RuntimeError):
        adapter.on_session_switch("s-2")
    assert adapter.enrich_turn("q", []) == "s-2"


# -- initialize -----------------------------------------------------------------------------------


def test_the_config_becomes_the_keywords_that_a_hermes_host_passes():
    provider = Bare()
    opened(provider, {**SESSION, "workspace": "w", "user_id": "a", "x_new": 1, "user_name": None})
    [(_, session_id, keywords)] = provider.calls
    assert session_id == "s-1"
    assert keywords == {
        "hermes_home": "/h/own",
        "platform": "telegram",
        "agent_context": "primary",
        "agent_workspace": "w",
        "user_id": "a",
        "x_new": 1,
    }


def test_the_home_of_the_profile_comes_before_the_providers_own():
    provider = Bare()
    opened(provider, {**HOME, "host_home": "/h", "agent_context": "cron", "session_id": "other"})
    [(_, session_id, keywords)] = provider.calls
    assert session_id == "s-1"
    assert (keywords["hermes_home"], keywords["agent_context"]) == ("/h", "cron")


@given(
    st.dictionaries(st.text(), st.integers()),
    st.text(),
)
def test_any_config_key_is_passed_or_dropped_and_never_raises(extra, session_key):
    provider = Bare()
    from_hermes(provider).initialize(session_key, {**SESSION, **extra, **HOME})
    [(_, session_id, keywords)] = provider.calls
    assert session_id == session_key
    assert not keywords.keys() & {"home", "protocol", "deadlines", "limits", "session_id"}


# -- answers and errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recalled", "seen"),
    [("", None), (None, None), ("  ", "  "), ("a\0\udc80", "a\0\udc80"), (7, 7), ([], [])],
)
def test_recall_turns_empty_into_none_and_lets_any_other_answer_through(recalled, seen):
    provider = Bare()
    provider.prefetch = lambda query, *, session_id="": recalled
    assert from_hermes(provider).enrich_turn("q", []) == seen


def test_an_error_comes_through_as_the_same_object_with_its_traceback():
    error = LookupError("backend")

    class Fails(Bare):
        def prefetch(self, query, *, session_id=""):
            raise error

    with pytest.raises(LookupError) as caught:
        from_hermes(Fails()).enrich_turn("q", [])
    assert caught.value is error
    assert caught.traceback[-1].name == "prefetch"


def test_an_attribute_error_inside_a_hook_is_not_taken_for_a_missing_hook():
    class Fails(Bare):
        def sync_turn(self, user_content, assistant_content, **kwargs):
            return self.absent

    with pytest.raises(AttributeError, match="absent"):
        from_hermes(Fails()).on_turn_complete("u", "a")


def test_hooks_that_are_missing_do_nothing_and_are_listed():
    adapter = opened(Bare())
    adapter.on_turn_complete("u", "a")
    adapter.on_memory_write("add", "user", "x")
    adapter.on_compress(MESSAGES, 1)
    adapter.shutdown()
    present = {"name", "is_available", "initialize", "prefetch"}
    assert adapter.missing_hooks == tuple(h for h in HOST_CALLS if h not in present)


def test_a_hook_that_initialize_sets_is_called():
    class Late(Bare):
        def initialize(self, session_id, **kwargs):
            self.sync_turn = lambda user, assistant: self.calls.append((user, assistant))

    adapter = from_hermes(Late())
    assert "sync_turn" in adapter.missing_hooks
    adapter.initialize("s", SESSION)
    adapter.on_turn_complete("u", "a")
    assert adapter.wrapped.calls == [("u", "a")]
    assert "sync_turn" not in adapter.missing_hooks


def test_name_and_availability_are_the_providers_own():
    provider = Bare()
    provider.name = "Own Name"
    provider.is_available = lambda: "yes"
    adapter = from_hermes(provider)
    assert adapter.wrapped is provider
    assert (adapter.name, adapter.is_available()) == ("Own Name", "yes")


def test_shutdown_reaches_the_provider_every_time():
    class Counts(Bare):
        def shutdown(self, **_):
            self.calls.append("shutdown")

    adapter = from_hermes(Counts())
    adapter.shutdown()
    adapter.shutdown()
    assert adapter.wrapped.calls == ["shutdown", "shutdown"]


def test_the_adapter_keeps_no_cycle_that_holds_the_provider():
    provider = Full()
    gone = weakref.ref(provider)
    adapter = from_hermes(provider)
    gc.disable()
    try:
        del provider, adapter
        assert gone() is None
    finally:
        gc.enable()


# -- compression ----------------------------------------------------------------------------------


class Notes(Bare):
    def on_pre_compress(self, messages, *, require_checkpoint=False):
        self.calls.append((messages, require_checkpoint))
        return f"notes {len(self.calls)}"


@pytest.mark.parametrize("notes_first", [True, False])
def test_one_compression_reaches_the_provider_once_in_either_order(notes_first):
    adapter = from_hermes(Notes())
    hooks = [lambda: adapter.on_compress(MESSAGES, 1), lambda: adapter.compress_notes(MESSAGES)]
    answers = [hook() for hook in (reversed(hooks) if notes_first else hooks)]
    assert sorted(map(str, answers)) == ["None", "notes 1"]
    assert adapter.wrapped.calls == [(MESSAGES, False)]


def test_the_same_hook_twice_and_other_messages_reach_the_provider_each_time():
    adapter = from_hermes(Notes())
    adapter.on_compress(MESSAGES, 1)
    adapter.on_compress(MESSAGES, 2)
    assert adapter.compress_notes([*MESSAGES, *MESSAGES]) == "notes 3"
    adapter.on_compress(MESSAGES, 3)
    answers = [adapter.compress_notes(MESSAGES) for _ in range(2)]
    assert answers == ["notes 4", "notes 5"]


class Archive(Notes):
    pre_compress_checkpoint_api_version = 2


def test_of_a_checkpoint_storing_is_demanded():
    adapter = from_hermes(Archive())
    adapter.on_compress(MESSAGES, 1)
    assert adapter.wrapped.calls == [(MESSAGES, True)]
    assert adapter.capabilities()["extensions"] == ["checkpoint", "compress_notes"]


def test_whatever_a_checkpoint_raises_is_a_report_that_it_failed():
    class Fails(Archive):
        def on_pre_compress(self, messages, *, require_checkpoint=False):
            raise OSError("disk")

    with pytest.raises(Unavailable, match="OSError") as caught:
        from_hermes(Fails()).on_compress(MESSAGES, 1)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_named_error_of_a_checkpoint_comes_as_it_is():
    class Full(Archive):
        def on_pre_compress(self, messages, **kwargs):
            raise TooLarge("full")

    with pytest.raises(TooLarge, match="full"):
        from_hermes(Full()).on_compress(MESSAGES, 1)


def test_the_messages_are_handed_over_as_they_are_and_a_failure_is_not_kept():
    class Fails(Bare):
        def on_pre_compress(self, messages):
            self.calls.append(messages)
            messages.clear()
            raise ValueError

    adapter, messages = from_hermes(Fails()), list(MESSAGES)
    with pytest.raises(ValueError):
        adapter.on_compress(messages, 1)
    with pytest.raises(ValueError):
        adapter.compress_notes(messages)
    assert all(given is messages for given in adapter.wrapped.calls)


# -- what the hooks show --------------------------------------------------------------------------


class Full(HermesBase):
    """Inherits the base class and has three hooks of its own beside the required ones."""

    name = "full"
    schemas = ()

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        """Nothing to set up."""

    def get_tool_schemas(self):
        return list(self.schemas)

    def on_session_end(self, messages):
        """Its own, and does nothing."""

    def backup_paths(self):
        return ["/elsewhere"]

    def on_pre_compress(self, messages):
        return "notes"


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
