"""The memory tool of the builtin provider, and its export and import."""

import json
import tempfile

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.errors import (
    ProviderError,
    Rejected,
    TooLarge,
)
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.reference_providers.builtin.settings import user_file
from tests.reference_providers.builtin.builtin_sessions import call, opened, provider, stored

__all__ = ["provider"]  # a fixture

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["action", "target", "content", "old_text", "user_id", "new_content"]),
    st.sampled_from(["add", "replace", "remove", "read", "memory", "user", "a"]) | JSON_VALUES,
)
NEW_DOCUMENT = {
    "format": "memproto.builtin/1",
    "targets": {"memory": [{"content": "x", "added_at": None}]},
}


# -- the tool


def test_the_schema_is_the_same_before_and_after_initialize(provider):
    assert BuiltinMemoryProvider().get_tool_schemas() == provider.get_tool_schemas()


def test_the_schema_is_a_plain_function_schema(provider):
    (schema,) = provider.get_tool_schemas()
    assert set(schema) == {"name", "description", "parameters"}
    jsonschema.Draft202012Validator.check_schema(schema["parameters"])
    assert set(schema["parameters"]) == {"type", "properties", "required"}


def test_the_schema_accepts_the_calls_that_the_tool_serves(provider):
    parameters = provider.get_tool_schemas()[0]["parameters"]
    for args in (
        {"action": "add", "target": "memory", "content": "a"},
        {"action": "replace", "target": "memory", "content": "b", "old_text": "a"},
        {"action": "remove", "target": "memory", "old_text": "b"},
        {"action": "read", "target": "memory"},
    ):
        jsonschema.validate(args, parameters)
        assert json.loads(provider.handle_tool_call("memory", args))["success"] is True


def test_a_duplicate_is_a_success_with_a_note(provider):
    call(provider, "add", content="x")
    answer = call(provider, "add", content="x")
    assert answer["success"] is True
    assert "Already stored" in answer["note"]
    assert answer["entry_count"] == 1


def test_an_ambiguous_snippet_is_answered_with_the_entries_it_fits(provider):
    for content in ("uses conda", "uses pip", "x" * 300 + "uses"):
        call(provider, "add", content=content)
    answer = call(provider, "remove", old_text="uses")
    assert answer["success"] is False
    assert answer["matches"] == ["uses conda", "uses pip", "x" * 240 + "… (304 characters)"]
    assert len(stored(provider)) == 3


def test_a_full_file_is_answered_with_the_usage_and_nothing_is_deleted(provider):
    call(provider, "add", content="x" * 2196)
    answer = call(provider, "add", content="yy")
    assert answer["success"] is False
    assert "99% — 2,196/2,200 chars" in answer["error"]
    assert stored(provider) == ["x" * 2196]


def test_the_replacement_may_come_as_new_content(provider):
    call(provider, "add", content="old")
    assert call(provider, "replace", old_text="old", new_content="new")["success"] is True
    assert stored(provider) == ["new"]


def test_text_that_is_no_utf_8_leaves_escaped_and_other_text_readable(provider):
    call(provider, "add", content="é")
    assert "é" in provider.handle_tool_call("memory", {"action": "read", "target": "memory"})
    call(provider, "add", content="\ud800")
    answer = provider.handle_tool_call("memory", {"action": "read", "target": "memory"})
    assert json.loads(answer.encode())["entries"] == ["é", "\ud800"]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["memory", "other", "", None]), ARGUMENTS | JSON_VALUES)
def test_whatever_the_model_sends_is_answered_with_a_json_object(tool_name, args):
    with tempfile.TemporaryDirectory() as home:
        answer = json.loads(opened(home).handle_tool_call(tool_name, args, task_id="t"))
    assert answer["success"] is True or answer["error"]


# -- export and import


def test_an_export_brings_the_memory_to_another_home_with_its_dates(tmp_path):
    first = opened(tmp_path / "one", user_id="ann")
    first.on_memory_write("add", "memory", "a\n§\n\ud800")
    first.on_memory_write("add", "user", "is Ann")
    second = opened(tmp_path / "two", user_id="ann")
    assert second.import_memory(first.export_memory()) == {"memory": 1, "user": 1}
    for name in ("MEMORY.md", user_file("ann")):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_an_import_twice_adds_nothing_the_second_time(provider):
    provider.import_memory(json.dumps(NEW_DOCUMENT))
    assert provider.import_memory(json.dumps(NEW_DOCUMENT)) == {"memory": 0}
    assert stored(provider) == ["x"]


def test_an_export_holds_one_users_profile_only(tmp_path):
    opened(tmp_path, user_id="ann").on_memory_write("add", "user", "is Ann")
    assert "is Ann" not in opened(tmp_path, user_id="bob").export_memory()


def test_an_import_that_does_not_fit_changes_no_file(tmp_path):
    document = json.dumps(
        {
            "format": "memproto.builtin/1",
            "targets": {"memory": [{"content": "fits"}], "user": [{"content": "x" * 1376}]},
        }
    )
    provider = opened(tmp_path)
    with pytest.raises(TooLarge, match="target user"):
        provider.import_memory(document)
    assert stored(provider) == stored(provider, "user") == []


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        b"\xff",
        "[" * 100_000,
        '{"format": "memproto.builtin/2", "targets": {}}',
        '{"format": "memproto.builtin/1", "targets": {"soul": []}}',
        '{"format": "memproto.builtin/1", "targets": {"memory": {}}}',
        '{"format": "memproto.builtin/1", "targets": {"memory": [3]}}',
        '{"format": "memproto.builtin/1", "targets": {"memory": [{"content": 3}]}}',
        '{"format": "memproto.builtin/1", "targets": {"memory": [{"content": ""}]}}',
        '{"format": "memproto.builtin/1", "targets": {"user": [{"content": "x", "added_at": 3}]}}',
    ],
)
def test_a_document_that_is_no_export_is_rejected(provider, document):
    with pytest.raises(Rejected):
        provider.import_memory(document)


@settings(deadline=None, max_examples=40)
@given(JSON_VALUES.map(lambda rows: {"format": "memproto.builtin/1", "targets": {"user": rows}}))
def test_any_json_in_an_import_is_taken_or_refused_by_a_named_error(document):
    with tempfile.TemporaryDirectory() as home:
        try:
            opened(home).import_memory(json.dumps(document))
        except ProviderError:
            return
        assert document["targets"]["user"] == []
