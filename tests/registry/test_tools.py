import json
import threading

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.registry import Policy
from tests.extended import Extended, offering, opened, schema, told
from tests.virtual import VirtualClock, eventually


def names_of(registry):
    return [one["name"] for one in registry.get_tool_schemas()]


def error_of(result):
    document = json.loads(result)
    assert document["success"] is False
    return document["error"]


# -- what is offered ------------------------------------------------------------------------------


def test_tools_of_all_providers_are_offered_in_order_and_read_once():
    a, b = offering("a", schema("one"), schema("two")), offering("b", schema("three"))
    with opened(a, b) as (registry, events):
        assert names_of(registry) == names_of(registry) == ["one", "two", "three"]
        assert len(a.named("get_tool_schemas")) == 1
        assert registry.tool_provider("three") == "b"
        assert registry.tool_provider("four") is None
    assert told(events, "get_tool_schemas") == [("a", "ok", ""), ("b", "ok", "")]


def test_what_a_host_or_a_provider_changes_in_a_schema_changes_nothing():
    mine = schema("one")
    with opened(offering("a", mine)) as (registry, _):
        mine["parameters"]["properties"].clear()
        registry.get_tool_schemas()[0]["parameters"].clear()
        assert registry.get_tool_schemas() == [schema("one")]


def test_a_provider_that_does_not_declare_tools_is_not_asked():
    silent = Extended("a", "tools")
    silent.declares = {"tool_names": ["one"]}
    with opened(silent) as (registry, _):
        assert registry.get_tool_schemas() == []
    assert silent.named("get_tool_schemas") == []


def test_an_extension_that_is_declared_without_its_hooks_is_told():
    hollow = Extended("a", declares={"extensions": ["tools", "x_own"]})
    with opened(hollow) as (registry, events):
        assert registry.get_tool_schemas() == []
    assert ("a", "wrong_type", "tools without its hooks") in told(events, "capabilities")


def test_of_two_tools_of_one_name_the_first_registered_is_offered():
    a, b = offering("a", schema("one")), offering("b", schema("one"), schema("two"))
    with opened(a, b) as (registry, events):
        assert names_of(registry) == ["one", "two"]
        assert json.loads(registry.handle_tool_call("one", {}))["by"] == "a"
    assert ("b", "dropped", "one is a tool of a") in told(events, "get_tool_schemas")


def test_a_name_of_the_hosts_own_is_left_out():
    policy = Policy(reserved_tools=frozenset({"terminal"}))
    with opened(offering("a", schema("terminal"), schema("one")), policy=policy) as (
        registry,
        events,
    ):
        assert names_of(registry) == ["one"]
        assert "no such tool" in error_of(registry.handle_tool_call("terminal", {}))
    assert ("a", "dropped", "terminal is a tool of the host") in told(events, "get_tool_schemas")


def test_a_tool_that_is_not_declared_is_left_out_and_a_declared_one_without_schema_told():
    provider = offering("a", schema("one"), schema("two"), names=["two", "three"])
    with opened(provider) as (registry, events):
        assert names_of(registry) == ["two"]
    details = [detail for _, outcome, detail in told(events, "get_tool_schemas") if outcome != "ok"]
    assert details == ["one is not in tool_names", "three in tool_names has no schema"]


def odd(**parameters):
    return schema("odd", parameters=schema("x")["parameters"] | parameters)


@pytest.mark.parametrize(
    "broken",
    [
        None,
        "odd",
        ["odd"],
        {},
        {"type": "function", "function": schema("odd")},
        schema("odd name"),
        schema(7),
        schema("odd", description=" "),
        schema("odd", description=None),
        schema("odd", parameters=None),
        schema("odd", parameters={"type": "string"}),
        schema("odd", parameters={"type": "object"}),
        schema("odd", x=object()),
        schema("odd", x=float("nan")),
        schema("odd", description="half a pair \ud800"),
        odd(required=["other"]),
        odd(required="text"),
        odd(required=[["text"]]),
        odd(anyOf=[{}]),
        odd(properties={"a b": {}}),
        odd(properties={"text": "string"}),
        odd(properties={"text": {"type": "array"}}),
        odd(properties={"text": {"type": ["array", "null"]}}),
        odd(properties={"text": {"type": "object", "properties": {}, "required": ["x"]}}),
        odd(properties={"text": {"anyOf": [{"type": "array"}]}}),
        odd(properties={7: {}}),
    ],
)
def test_a_schema_that_does_not_fit_is_left_out_and_poisons_nothing(broken):
    a = offering("a", schema("one"), broken, schema("two"), names=["one", "odd", "two"])
    with opened(a, offering("b", schema("three"))) as (registry, events):
        assert names_of(registry) == ["one", "two", "three"]
        json.dumps(registry.get_tool_schemas(), allow_nan=False).encode()
    assert "schema 2 has" in repr(told(events, "get_tool_schemas"))


def test_a_schema_that_holds_itself_is_left_out():
    endless = schema("one")
    endless["parameters"]["properties"]["text"] = endless["parameters"]
    with opened(offering("a", endless, schema("two"))) as (registry, _):
        assert names_of(registry) == ["two"]


@pytest.mark.parametrize(
    ("answer", "outcome"), [(lambda: {}["x"], "raised"), (dict, "wrong_type"), (str, "wrong_type")]
)
def test_a_provider_without_a_list_of_schemas_loses_its_tools_alone(answer, outcome):
    a = offering("a", schema("one"), get_tool_schemas=answer)
    with opened(a, offering("b", schema("two"))) as (registry, events):
        assert names_of(registry) == ["two"]
        assert registry.providers == ("a", "b")
    assert [o for p, o, _ in told(events, "get_tool_schemas") if p == "a"] == [outcome]


def test_reading_schemas_ends_after_five_seconds_for_all_together():
    clock, release = VirtualClock(), threading.Event()

    def hang():
        eventually(lambda: "get_tool_schemas" in good.threads)
        eventually(lambda: not good.threads["get_tool_schemas"].is_alive())
        clock.advance(5.0)
        release.wait(10)
        return [schema("one")]

    stuck, good = offering("a", schema("one"), get_tool_schemas=hang), offering("b", schema("two"))
    began = clock.now()
    with opened(stuck, good, clock=clock) as (registry, events):
        assert clock.now() - began == 5.0
        assert names_of(registry) == ["two"]
        release.set()
    assert ("a", "late", "") in told(events, "get_tool_schemas")


def test_wrapped_schemas_of_a_hermes_provider_are_offered_bare():
    class Hermes:
        name = "hermes"

        def is_available(self):
            return True

        def initialize(self, session_id, **kwargs):
            pass

        def get_tool_schemas(self):
            return [{"type": "function", "function": schema("one")}, schema("two")]

        def handle_tool_call(self, tool_name, args):
            return json.dumps([tool_name, args])

    with opened(from_hermes(Hermes())) as (registry, _):
        assert registry.get_tool_schemas() == [schema("one"), schema("two")]
        assert json.loads(registry.handle_tool_call("one", {"text": "x"}, session_id="s")) == [
            "one",
            {"text": "x"},
        ]


# -- what the operator allows ---------------------------------------------------------------------


def test_a_forbidden_tool_is_neither_offered_nor_callable():
    forbidden = {"two"}
    policy = Policy(
        allows_tool=lambda provider, tool: (provider, tool in forbidden) == ("a", False)
    )
    a, b = offering("a", schema("one"), schema("two")), offering("b", schema("three"))
    with opened(a, b, policy=policy) as (registry, _):
        assert names_of(registry) == ["one"]
        assert "no such tool" in error_of(registry.handle_tool_call("two", {}))
        assert "no such tool" in error_of(registry.handle_tool_call("three", {}))
        forbidden.add("one")
        assert "no such tool" in error_of(registry.handle_tool_call("one", {}))
    assert a.named("handle_tool_call") == b.named("handle_tool_call") == []


def test_a_policy_that_raises_allows_nothing():
    def broken(provider, tool):
        raise ValueError

    with opened(offering("a", schema("one")), policy=Policy(allows_tool=broken)) as (registry, _):
        assert registry.get_tool_schemas() == []
        assert "no such tool" in error_of(registry.handle_tool_call("one", {}))
