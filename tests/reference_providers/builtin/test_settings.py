"""The settings of the builtin provider, and whose file is whose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.errors import (
    Misconfigured,
)
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.reference_providers.builtin.settings import user_file
from tests.reference_providers.builtin.builtin_sessions import call, opened, provider, stored

__all__ = ["provider"]  # a fixture


# -- users


def test_each_user_has_a_profile_and_all_share_the_notes(tmp_path):
    ann, bob, nobody = (opened(tmp_path, user_id=user) for user in ("ann", "bob", None))
    ann.on_memory_write("add", "user", "is Ann")
    ann.on_memory_write("add", "memory", "shared")
    assert [stored(p, "user") for p in (ann, bob, nobody)] == [["is Ann"], [], []]
    assert [stored(p) for p in (ann, bob, nobody)] == [["shared"]] * 3


def test_the_model_cannot_choose_another_user(tmp_path):
    ann, bob = (opened(tmp_path, user_id=user) for user in ("ann", "bob"))
    ann.on_memory_write("add", "user", "is Ann")
    assert call(bob, "read", "user", user_id="ann", home="/")["entries"] == []


USER_IDS = st.text(st.characters()) | st.sampled_from(
    ["", "USER", "../x", "a/b", "a\\b", "a" * 999]
)


@given(USER_IDS, USER_IDS)
def test_two_user_ids_never_share_a_file(one, other):
    assert (user_file(one).casefold() == user_file(other).casefold()) == (one == other)


@given(USER_IDS)
def test_a_user_id_of_any_text_becomes_a_short_plain_name_in_one_directory(user_id):
    directory, name = user_file(user_id).split("/")
    assert directory == "users"
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert not name.startswith((".", "-"))
    assert len(name) <= 101


@given(USER_IDS)
def test_no_user_id_has_the_file_of_a_host_without_users(user_id):
    assert user_file(user_id).casefold() != user_file(None).casefold()


@pytest.mark.parametrize("user_id", ["../../etc/passwd", "\0", "é" * 5000, "\ud800", "CON", "."])
def test_hostile_user_ids_write_below_the_home(tmp_path, user_id):
    opened(tmp_path / "home", user_id=user_id).on_memory_write("add", "user", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert len(list((tmp_path / "home" / "users").iterdir())) == 1


# -- settings


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("home", None),
        ("home", ""),
        ("home", 3),
        ("home", "nul\0"),
        ("user_id", 3),
        ("memory_enabled", "yes"),
        ("user_profile_enabled", 1),
        ("memory_char_limit", "2200"),
        ("memory_char_limit", True),
        ("user_char_limit", 0),
        ("user_char_limit", None),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_a_fix(tmp_path, key, value):
    with pytest.raises(Misconfigured, match=rf"config\['{key}'\]: .*fix: "):
        opened(tmp_path, **{key: value}) if key != "home" else opened_at(value)


def opened_at(home):
    BuiltinMemoryProvider().initialize("session", {"home": home})


def test_a_home_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Misconfigured, match="is no directory"):
        opened(tmp_path / "file")


def test_a_home_that_is_missing_is_created_with_its_parents(tmp_path):
    opened(tmp_path / "a" / "b").on_memory_write("add", "memory", "x")
    assert (tmp_path / "a" / "b" / "MEMORY.md").is_file()


def test_a_relative_home_stays_where_it_was_when_the_working_directory_changes(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    provider = opened("home")
    monkeypatch.chdir("/")
    provider.on_memory_write("add", "memory", "x")
    assert (tmp_path / "home" / "MEMORY.md").is_file()


def test_keys_of_later_versions_are_ignored(tmp_path):
    assert opened(tmp_path, deadlines={}, limits={}, from_the_future=1).enrich_turn("", []) is None
