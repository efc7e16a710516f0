import json
import threading

import pytest

from memproto.deadlines import Deadlines
from memproto.errors import Unavailable
from tests.extended import Extended, offering, opened, schema, told
from tests.virtual import VirtualClock, eventually


def error_of(result):
    document = json.loads(result)
    assert document["success"] is False
    return document["error"]


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
        before = set(threading.enumerate())
        for _ in range(20):
            registry.handle_tool_call("one", {})
        assert set(threading.enumerate()) <= before


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
