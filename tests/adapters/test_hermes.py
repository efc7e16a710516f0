"""`from_hermes`: what a host's session, answers and compression become for a Hermes provider."""

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.adapters.hermes import HOST_CALLS, from_hermes
from memproto.adapters.hermes_releases import RELEASES
from memproto.errors import TooLarge, Unavailable
from tests.hermes_shapes import Bare, Full

HOME = {"home": "/h/own", "protocol": {"version": "1.0"}, "deadlines": {}, "limits": {}}
SESSION = {**HOME, "platform": "telegram"}
MESSAGES = [{"role": "user", "content": "hi"}]


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


# -- authors --------------------------------------------------------------------------------------


class Shared(Bare):
    """A provider of 0.21 that is told who writes."""

    def __init__(self):
        super().__init__()
        self.told = []

    def on_turn_start(self, turn_number, message, **kwargs):
        self.told.append(kwargs)

    def sync_turn(self, user_content, assistant_content, *, session_id="", turn_author=0):
        self.told.append(turn_author)


BOT = {"id": "b9", "name": "Rook", "is_bot": True}


def told_by(release, author, config):
    provider = Shared()
    adapter = from_hermes(provider, release=RELEASES[release])
    adapter.initialize("s-1", config)
    adapter.on_turn_start(1, "u", author=author)
    adapter.on_turn_complete("u", "a", author=author)
    return provider.told


@pytest.mark.parametrize(
    ("author", "config", "known"),
    [
        (BOT, SESSION, BOT),
        (BOT, {**SESSION, "user_id": "u7"}, BOT),
        (None, {**SESSION, "user_id": "u7"}, {"id": "u7", "name": None, "is_bot": False}),
    ],
)
def test_from_0_21_on_each_turn_is_told_with_its_author(author, config, known):
    start, recorded = told_by("0.21", author, config)
    assert start == {f"author_{key}": value for key, value in known.items()}
    assert recorded == known


def test_without_an_author_a_turn_begins_by_nobody_and_is_recorded_so():
    start, recorded = told_by("0.21", None, SESSION)
    assert start == {"author_id": None, "author_name": None, "author_is_bot": False}
    assert recorded is None


@pytest.mark.parametrize("release", ["0.13", "0.19"])
def test_earlier_releases_tell_no_author(release):
    start, recorded = told_by(release, BOT, {**SESSION, "user_id": "u7"})
    assert (start, recorded) == ({}, None)


def test_a_provider_takes_authors_if_it_names_a_parameter_and_the_host_tells_them():
    class Beginning(Bare):
        def on_turn_start(self, turn_number, message, author_is_bot=False, **kwargs):
            """Names it."""

    for provider, release, expected in (
        (Shared(), "0.21", True),
        (Shared(), "0.19", False),
        (Beginning(), "0.21", True),
        (Bare(), "0.21", False),
    ):
        adapter = from_hermes(provider, release=RELEASES[release])
        assert adapter.takes_authors is expected


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


def test_hooks_of_the_base_class_of_the_host_are_told_from_its_own():
    class MemoryProvider(Bare):
        def on_memory_write(self, action, target, content, metadata=None):
            pass

        def on_session_end(self, messages):
            pass

    class Own(MemoryProvider):
        def on_session_end(self, messages):
            self.calls.append(messages)

    adapter = from_hermes(Own())
    assert "on_memory_write" in adapter.inherited_hooks
    assert not {"on_session_end", "prefetch", "name"} & {*adapter.inherited_hooks}
    assert from_hermes(Bare()).inherited_hooks == ()


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
