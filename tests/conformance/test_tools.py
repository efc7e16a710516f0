"""Calls that the kit makes up from a provider's own tool schemas."""

import contextlib
import json
import types

import jsonschema
import pytest

from memproto.bindings import HERMES, NATIVE
from memproto.conformance.provider.extensions import tools as tool_checks
from memproto.conformance.provider.extensions import tools as tools_schemas
from memproto.testing import wording
from memproto.testing.facts import Facts
from memproto.testing.scenarios import texts, tool_calls, tool_memory
from tests.good.tooled import Tooled

EVERYTHING = {
    "name": "lamp_add",
    "description": "Keeps a lamp.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1},
            "colour": {"type": "string", "enum": ["red", "green"]},
            "path": {"type": "string"},
            "count": {"type": "integer", "minimum": 2, "maximum": 9},
            "share": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"pier": {"type": "integer"}}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "lit": {"type": "boolean"},
        },
        "required": ["text", "colour"],
    },
}


def tools(*schemas, binding=HERMES, names=()):
    run = types.SimpleNamespace(binding=binding, declared=lambda key, default: list(names))
    return tool_calls.offered(run, list(schemas))


def test_every_allowed_call_fits_the_schema_that_it_was_made_from():
    [tool] = tools(EVERYTHING)
    draws = list(tool_calls.allowed(tool, 1, 200, 20))
    assert len(draws) > 60
    for told, arguments in draws:
        jsonschema.validate(arguments, EVERYTHING["parameters"])
        assert told


def test_an_odd_text_stands_in_what_is_required_with_nothing_else_beside_it():
    free = {"type": "string"}
    schema = named("lamp_search", query=free, since=free)
    schema["parameters"]["required"] = ["query"]
    calls = [call for _, call in tool_calls.allowed(tools(schema)[0], 1, 200, 20)]
    for text in (text for text in texts.NAMED.values() if len(text) <= 5_000):
        assert {"query": text} in calls
        assert {"query": text, "since": text} in calls


def test_the_same_seed_draws_the_same_calls():
    [tool] = tools(EVERYTHING)
    assert list(tool_calls.allowed(tool, 3, 90, 9)) == list(tool_calls.allowed(tool, 3, 90, 9))


def test_what_names_a_place_never_gets_an_odd_text():
    [tool] = tools(EVERYTHING)
    paths = {call["path"] for _, call in tool_calls.allowed(tool, 1, 200, 20) if "path" in call}
    assert paths == {"note"}


def test_an_unfit_call_does_not_fit_the_schema_or_has_an_argument_too_many():
    [tool] = tools(EVERYTHING)
    closed = {**EVERYTHING["parameters"], "additionalProperties": False}
    for told, arguments in tool_calls.unfit(tool):
        # The schema of a note allows null, and says so; a model may write a place without a pier.
        if not told.startswith(("note=None", "place={")):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(arguments, closed)


def test_a_native_host_offers_what_tool_names_holds():
    assert tools(EVERYTHING, binding=NATIVE) == []
    assert [tool.name for tool in tools(EVERYTHING, binding=NATIVE, names=["lamp_add"])]


@pytest.mark.parametrize(
    ("answer", "told"),
    [({}, "no str"), (None, "no str"), ("", "no JSON"), ("Done.", "no JSON"), ('{"a": 1}', "")],
)
def test_an_answer_is_a_text_that_holds_json(answer, told):
    assert told in tool_calls.fault(answer)
    assert bool(told) == bool(tool_calls.fault(answer))


@pytest.mark.parametrize(
    "answer",
    [{"success": True}, {"status": "deleted"}, {"forgotten": 1}, "The note was removed."],
)
def test_an_answer_says_that_something_was_forgotten(answer):
    assert tool_memory.says_forgotten(json.dumps(answer))


@pytest.mark.parametrize(
    "answer",
    [{"status": "not_found"}, {"error": "no id"}, {"forgotten": 0}, "Nothing was removed.", []],
)
def test_an_answer_does_not_say_that_something_was_forgotten(answer):
    assert not tool_memory.says_forgotten(json.dumps(answer))


def named(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": "A tool.", "parameters": parameters}


def test_forgetting_takes_the_id_that_storing_gave():
    fact = Facts(1).new()
    told = [json.dumps({"success": True, "session_id": "s", "id": "n-17"})]
    call = tool_memory.forgetting(tools(*Tooled().get_tool_schemas()), "tooled_add", fact, told)
    assert call == ("tooled_forget", {"id": "n-17"}, "id")


def test_forgetting_takes_the_id_that_finding_showed():
    fact = Facts(1).new()
    shown = {"notes": [{"id": 3, "text": "Other."}, {"id": 4, "text": fact.text}], "id": "query"}
    told = ["{}", json.dumps(shown)]
    offered = tools(named("x_delete", memory_id={"type": "integer"}))
    call = tool_memory.forgetting(offered, "x_add", fact, told)
    assert call == ("x_delete", {"memory_id": 4}, "id")


@pytest.mark.parametrize(
    ("name", "arguments", "filled"),
    [
        ("x_update", ("id", "text"), {"id": "n-17", "text": "New."}),
        ("x_edit", ("old_text", "content"), {"old_text": "OLD", "content": "New."}),
        (
            "memory_replace",
            ("memory_id", "new_content"),
            {"memory_id": "n-17", "new_content": "New."},
        ),
        ("x_update", ("id", "text", "reason"), None),
        ("x_update", ("id",), None),
        ("x_update_title", ("id", "text"), None),
        ("x_add", ("id", "text"), None),
    ],
)
def test_a_tool_that_changes_a_text_is_called_with_the_new_one(name, arguments, filled):
    fact = Facts(1).new()
    offered = tools(named(name, **{key: {"type": "string"} for key in arguments}))
    told = [json.dumps({"success": True, "id": "n-17"})]
    call = tool_memory.changing(offered, "x_add", fact, "New.", told)
    if filled and "old_text" in filled:
        filled = {**filled, "old_text": fact.text}
    assert call == (filled and (name, filled))


def test_a_tool_of_choices_changes_by_one_of_them():
    fact = Facts(1).new()
    action = {"type": "string", "enum": ["add", "replace"]}
    text = {"type": "string"}
    offered = tools(named("memory", action=action, old_text=text, content=text))
    call = tool_memory.changing(offered, "memory", fact, "New.", ["{}"])
    told = {"action": "replace", "old_text": fact.text, "content": "New."}
    assert call == ("memory", told)
    assert tool_memory.may_change(offered)


@pytest.mark.parametrize(
    ("answer", "is_done"),
    [
        ({"success": True, "id": "a"}, True),
        ({"status": "updated"}, True),
        ("Note updated.", True),
        ({"success": False}, False),
        ({"status": "not updated"}, False),
        ({"queued": True}, False),
    ],
)
def test_an_answer_says_that_something_was_changed(answer, is_done):
    assert tool_memory.says_changed(json.dumps(answer)) == is_done


def test_a_tool_that_forgets_in_another_place_is_left_out():
    fact = Facts(1).new()
    offered = tools(named("x_shared_forget", id={"type": "string"}))
    assert tool_memory.forgetting(offered, "x_add", fact, [json.dumps({"id": "a"})]) is None


@pytest.mark.parametrize(
    ("name", "says", "is_known"),
    [
        ("unjot", "Forgets the note with this id.", True),
        ("takeBack", "Remove one of the notes.", True),
        ("unjot", "Forgets the lamp with this id.", False),
        ("unjot", "Shows the note that was forgotten.", False),
        ("archive_it", "Removes the note from the list of today.", False),
        ("list_old", "Removes nothing: lists each note by its id.", False),
    ],
)
def test_a_tool_that_forgets_is_known_by_the_first_word_of_what_is_said_of_it(name, says, is_known):
    jot = {**named("jot", text={"type": "string"}), "description": "Keeps a note for later."}
    offered = tools(jot, {**named(name, id={"type": "string"}), "description": says})
    call = tool_memory.forgetting(offered, "jot", Facts(1).new(), [json.dumps({"id": "a"})])
    assert call == ((name, {"id": "a"}, "id") if is_known else None)


def test_forgetting_by_text_says_which_text():
    fact = Facts(1).new()
    action = {"type": "string", "enum": ["add", "remove"]}
    schema = named("memory", action=action, old_text={"type": "string"})
    call = tool_memory.forgetting(tools(schema), "memory", fact, ["{}"])
    assert call == ("memory", {"action": "remove", "old_text": fact.text}, "text")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"anyOf": []}, "`anyOf` stands at the top"),
        ({"required": ["name"]}, "names 'name', no property"),
        ({"properties": None}, "no `properties`"),
        ({"properties": {"a b": {}}}, "'a b' is not of ASCII"),
        ({"properties": {"text": {"type": "array"}}}, "the list text has no `items`"),
        ({"properties": {"text": {"type": "str"}}}, "text has the type 'str', which JSON Schema"),
        ({"properties": {"text": {"type": ["string", []]}}}, "text has the type [], which JSON"),
        ({"properties": {"text": {"anyOf": [{"type": "STRING"}]}}}, "text has the type 'STRING'"),
        ({"properties": {"tags": {"type": "array", "items": {"type": "str"}}}}, "tags[] has the"),
        ({"properties": {"text": "string"}}, "which is no schema"),
        ({"properties": {"text": {"default": {1}}}}, "cannot be sent as JSON"),
    ],
)
def test_a_schema_outside_the_portable_subset_is_told(change, told):
    schema = named("lamp_add", text={"type": "string"})
    schema["parameters"] = {**schema["parameters"], "required": [], **change}
    assert told in " ".join(tools_schemas._unportable(schema))


def test_a_schema_inside_the_portable_subset_has_no_fault():
    kinds = ["string", "number", "integer", "boolean", "object", "array", "null"]
    free = named("lamp_add", text={"type": kinds, "items": {}}, note={"enum": ["a"]})
    assert list(tools_schemas._unportable(free)) == []
    assert list(tools_schemas._unportable(EVERYTHING)) == []
    assert list(tools_schemas._narrow(EVERYTHING)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "9_lamps"}, "does not begin with"),
        ({"toolset": "memory"}, "the keys toolset"),
    ],
)
def test_what_some_services_refuse_is_told(change, told):
    schema = {**named("lamp_add", text={"type": "string"}), **change}
    assert told in " ".join(tools_schemas._narrow(schema))


def judged_by(call_tool):
    """A run of a provider with one tool, whose `start` and `end` may be left out."""
    schema = {
        "name": "lamp_search",
        "description": "Finds lamps.",
        "parameters": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("query", "start", "end")},
            "required": ["query"],
        },
    }
    subject = types.SimpleNamespace(tools=lambda: [schema], call_tool=call_tool)
    return types.SimpleNamespace(
        binding=HERMES,
        declared=lambda key, default: ["tools"],
        lacks=lambda operation: False,
        session=lambda: contextlib.nullcontext(subject),
        violated=lambda found: pytest.fail(wording.expected(found)),
    )


def test_of_two_arguments_that_go_together_none_is_always_needed():
    def answer(name, args):
        both = ("start" in args) == ("end" in args)
        return json.dumps({"lamps": []} if both else {"error": "start and end go together"})

    tool_checks.what_every_call_needs_is_required(judged_by(answer))


def test_an_argument_without_which_all_is_refused_is_told():
    def answer(name, args):
        return json.dumps({"lamps": []} if "start" in args else {"error": "start is missing"})

    with pytest.raises(pytest.fail.Exception, match="'start' in the `required` of lamp_search"):
        tool_checks.what_every_call_needs_is_required(judged_by(answer))


def test_a_schema_with_odd_names_and_no_shape_inside_stops_no_check():
    parameters = {"type": "object", "properties": {7: True}, "required": [["text"]]}
    odd = {"name": "lamp_add", "description": "Keeps a lamp.", "parameters": parameters}
    assert len(list(tools_schemas._unportable(odd))) == 2
    assert list(tools_schemas._whose(odd)) == []
    assert [tool.required for tool in tools(odd)] == [()]
