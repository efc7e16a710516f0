import json
import threading

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.deadlines import Deadlines
from memproto.errors import Unavailable
from memproto.registry import Policy
from tests.extended import Extended, opened, told
from tests.virtual import VirtualClock, eventually


def schema(name, **changes):
    parameters = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "tags": {"type": "array", "items": {}}},
        "required": ["text"],
    }
    return {"name": name, "description": "Keeps a note.", "parameters": parameters} | changes


def offering(name, *schemas, names=None, **hooks):
    """A provider of tools; `names` are those that it declares, by default all it has."""
    names = [one["name"] for one in schemas] if names is None else names
    hooks = {
        "get_tool_schemas": lambda: list(schemas),
        "handle_tool_call": lambda tool, *_: json.dumps({"by": name, "tool": tool}),
    } | hooks
    return Extended(name, "tools", declares={"tool_names": names}, **hooks)


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


# -- calls ----------------------------------------------------------------------------------------


def test_a_call_reaches_its_provider_with_copies_and_the_hosts_keywords():
    seen, mine = [], {"tags": ["a"]}

    def handle(tool, args, *keywords):
        seen.append((tool, dict(args), *keywords))
        args["tags"].append("b")
        return json.dumps({"id": 1})

    with opened(offering("a", schema("one"), handle_tool_call=handle)) as (registry, events):
        assert registry.handle_tool_call("one", mine, session_id="s") == '{"id": 1}'
    assert mine == {"tags": ["a"]}
    assert seen == [("one", {"tags": ["a", "b"]}, {"session_id": "s"})]
    assert told(events, "handle_tool_call") == [("a", "ok", "")]


@pytest.mark.parametrize("args", [None, "{}", ["text"], 7])
def test_arguments_that_are_no_object_are_refused(args):
    provider = offering("a", schema("one"))
    with opened(provider) as (registry, _):
        assert "no object" in error_of(registry.handle_tool_call("one", args))
    assert provider.named("handle_tool_call") == []


@pytest.mark.parametrize("name", ["two", "", None, 7, ["one"]])
def test_an_unknown_tool_is_answered_with_an_error(name):
    with opened(offering("a", schema("one"))) as (registry, _):
        assert "no such tool" in error_of(registry.handle_tool_call(name, {}))


def test_before_and_after_a_session_calls_are_answered_with_an_error():
    with opened(offering("a", schema("one"))) as (registry, _):
        pass
    assert "ending" in error_of(registry.handle_tool_call("one", {}))
    with opened() as (registry, _):
        assert "no such tool" in error_of(registry.handle_tool_call("one", {}))


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_tool_that_raises_is_answered_without_what_its_error_says(error, caplog):
    def broken(*_):
        raise error("secret")

    with opened(offering("a", schema("one"), handle_tool_call=broken)) as (registry, events):
        result = registry.handle_tool_call("one", {"text": "mine"})
        assert error.__name__ in error_of(result)
    assert "secret" not in result + repr(events) + caplog.text
    assert told(events, "handle_tool_call") == [("a", "raised", error.__name__)]


def test_a_named_error_of_a_tool_is_told_to_the_model_and_not_to_the_log(caplog):
    def away(*_):
        raise Unavailable("the server is away, 30 s")

    with opened(offering("a", schema("one"), handle_tool_call=away)) as (registry, events):
        assert "the server is away, 30 s" in error_of(registry.handle_tool_call("one", {}))
    assert "server" not in repr(events) + caplog.text


@pytest.mark.parametrize("answer", [None, {"id": 1}, b"{}", 7, "no JSON", "", "NaN", "{} {}"])
def test_a_result_that_is_no_json_text_is_answered_with_an_error(answer):
    provider = offering("a", schema("one"), handle_tool_call=lambda *_: answer)
    with opened(provider) as (registry, events):
        assert "is not known" in error_of(registry.handle_tool_call("one", {}))
    assert [outcome for _, outcome, _ in told(events, "handle_tool_call")] == ["wrong_type"]


def test_a_result_with_half_a_surrogate_pair_can_be_sent():
    provider = offering("a", schema("one"), handle_tool_call=lambda *_: '{"text": "\ud83d"}')
    with opened(provider) as (registry, _):
        result = registry.handle_tool_call("one", {})
    assert json.loads(result.encode()) == {"text": "\ud83d"}


def test_a_hang_is_answered_after_sixty_seconds_and_not_called_again_until_it_returns():
    clock, release = VirtualClock(), threading.Event()

    def hang(tool, args, *_):
        if args:
            clock.advance(60.0)
            release.wait(10)
        return '{"ok": true}'

    stuck = offering("a", schema("one"), handle_tool_call=hang, enrich_turn=lambda *_: "fine")
    with opened(stuck, offering("b", schema("two")), clock=clock) as (registry, events):
        began = clock.now()
        assert "within 60 s" in error_of(registry.handle_tool_call("one", {"text": "x"}))
        assert clock.now() - began == 60.0
        assert "has not returned" in error_of(registry.handle_tool_call("one", {}))
        assert json.loads(registry.handle_tool_call("two", {}))["by"] == "b"
        assert registry.enrich_turn("hello", []) == [("a", "fine")]
        release.set()
        eventually(lambda: ("a", "late_answer", "") in told(events, "handle_tool_call"))
        assert registry.handle_tool_call("one", {}) == '{"ok": true}'
    assert len(stuck.named("handle_tool_call")) == 2


def test_two_calls_of_one_provider_run_side_by_side():
    meeting = threading.Barrier(2)
    provider = offering("a", schema("one"), handle_tool_call=lambda *_: str(meeting.wait(10)))
    with opened(provider, deadlines=Deadlines(tool_s=30.0)) as (registry, _):
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(registry.handle_tool_call("one", {})))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert sorted(found) == ["0", "1"]


def test_a_tool_call_leaves_no_thread_behind():
    with opened(offering("a", schema("one"))) as (registry, _):
        before = threading.active_count()
        for _ in range(20):
            registry.handle_tool_call("one", {})
        assert threading.active_count() == before


# -- suppression ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "memory", "user", "review"),
    [
        (None, False, False, False),
        (False, False, False, False),
        (True, True, True, True),
        ({"memory": True}, True, False, True),
        ({"memory": False}, False, False, False),
    ],
)
def test_local_writes_are_suppressed_per_target(declared, memory, user, review):
    declares = {} if declared is None else {"suppresses_local_writes": declared}
    with opened(Extended("a"), Extended("b", declares=declares)) as (registry, _):
        assert registry.suppresses_local_writes("memory") is memory
        assert registry.suppresses_local_writes("user") is user
        assert registry.suppresses_memory_review() is review
    assert registry.suppresses_local_writes("memory") is False
