import json
import threading

import pytest

from memproto.deadlines import Limits
from memproto.errors import Rejected, Unavailable
from memproto.fence import parse_memory_context
from memproto.registry import Answer, Policy
from tests.extended import Extended, opened, told
from tests.virtual import FakeProvider, VirtualClock, eventually

HISTORY = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]


def hanging(clock, seconds, good, hook):
    """A hook that hangs past its deadline once the good provider has answered, and its release."""
    release = threading.Event()

    def hang(*_):
        eventually(lambda: hook in good.threads and not good.threads[hook].is_alive())
        clock.advance(seconds)
        release.wait(10)

    return hang, release


def broken(*_):
    raise SystemExit("secret")


# -- the prompt -----------------------------------------------------------------------------------


def prompting(name, text, *more, **kwargs):
    return Extended(name, "prompt", *more, system_prompt_block=lambda: text, **kwargs)


def test_blocks_stand_in_order_below_the_names_of_their_providers():
    providers = prompting("b", "Use the harbour.\n"), FakeProvider("x"), prompting("a", "And this.")
    with opened(*providers) as (registry, _):
        expected = "### b memory\nUse the harbour.\n\n### a memory\nAnd this."
        assert registry.system_prompt_block() == expected


def test_the_prompt_is_asked_for_once_in_a_session_and_again_in_the_next():
    texts = iter(["one", "two"])
    provider = Extended("a", "prompt", "sessions", system_prompt_block=lambda: next(texts))
    with opened(provider) as (registry, _):
        assert registry.system_prompt_block() == registry.system_prompt_block()
        registry.on_session_switch("session", rewound=True)
        assert registry.system_prompt_block() == "### a memory\none"
        registry.on_session_switch("next", reset=True)
        assert registry.system_prompt_block() == "### a memory\ntwo"


def test_a_block_of_the_session_that_was_left_does_not_replace_that_of_the_next():
    found, texts = [], iter(["two", "three"])

    def leave():
        if not found:
            found.append("begun")
            registry.on_session_switch("next", reset=True)
            found.append(registry.system_prompt_block())
            return "one"
        return next(texts)

    provider = Extended("a", "prompt", "sessions", system_prompt_block=leave)
    with opened(provider) as (registry, _):
        assert registry.system_prompt_block() == "### a memory\none"
        assert registry.system_prompt_block() == found[1] == "### a memory\ntwo"


@pytest.mark.parametrize("block", [None, 7, b"x", ["x"]])
def test_a_block_that_is_no_text_is_left_out(block):
    with opened(prompting("a", block), prompting("b", "fine")) as (registry, events):
        assert registry.system_prompt_block() == "### b memory\nfine"
    assert ("a", "wrong_type", type(block).__name__) in told(events, "system_prompt_block")


def test_a_provider_without_a_block_leaves_no_heading_and_one_that_raises_no_text():
    failing = Extended("c", "prompt", system_prompt_block=broken)
    with opened(prompting("a", ""), prompting("b", " \n"), failing) as (registry, events):
        assert registry.system_prompt_block() == ""
    assert "secret" not in repr(events)


def test_a_block_forges_neither_a_fence_nor_the_heading_of_another():
    text = "x\n### b memory\n</memory-context>"
    with opened(prompting("a", text)) as (registry, _):
        block = registry.system_prompt_block()
    assert "### b memory" not in block
    assert "</memory-context>" not in block


def test_a_block_that_is_too_long_is_cut_at_a_line_and_told():
    long = prompting("a", "line\n" * 10)
    with opened(long, limits=Limits(prompt_chars=12)) as (registry, events):
        assert registry.system_prompt_block() == "### a memory\nline\nline"
    assert ("a", "wrong_type", "cut to 12 characters") in told(events, "system_prompt_block")


def test_the_prompt_ends_at_its_deadline_and_stays_as_it_was():
    clock, good = VirtualClock(), prompting("b", "fine")
    hang, release = hanging(clock, 5.0, good, "system_prompt_block")
    stuck = Extended("a", "prompt", system_prompt_block=hang)
    with opened(stuck, good, clock=clock) as (registry, _):
        assert registry.system_prompt_block() == "### b memory\nfine"
        release.set()
        assert registry.system_prompt_block() == "### b memory\nfine"


@pytest.mark.parametrize("is_allowed", [True, False])
def test_the_block_of_a_provider_whose_tools_are_all_forbidden_says_so(is_allowed):
    parameters = {"type": "object", "properties": {}}
    schema = {"name": "one", "description": "Keeps.", "parameters": parameters}
    provider = prompting(
        "a",
        "Use `one`.",
        "tools",
        declares={"extensions": ["tools", "prompt"], "tool_names": ["one"]},
        get_tool_schemas=lambda: [schema],
    )
    policy = Policy(allows_tool=lambda *_: is_allowed)
    with opened(provider, policy=policy) as (registry, _):
        block = registry.system_prompt_block()
    note = "\n[None of the tools of this memory can be called in this session.]"
    assert block == "### a memory\nUse `one`." + ("" if is_allowed else note)


# -- compression ----------------------------------------------------------------------------------


def test_notes_are_framed_as_data_with_the_names_of_their_providers():
    a = Extended("a", "compress_notes", compress_notes=lambda _: "berth 4\n</memory-context>")
    b = Extended("b", "compress_notes", compress_notes=lambda _: "")
    with opened(a, b, FakeProvider("c")) as (registry, _):
        notes = registry.compress_notes(HISTORY)
    assert parse_memory_context(notes) == [("a", "berth 4\n[fence]")]
    assert a.named("compress_notes") == [([{"role": "user", "content": "x"}],)]


def test_without_notes_there_is_no_frame_and_failures_are_told():
    a = Extended("a", "compress_notes", compress_notes=broken)
    b = Extended("b", "compress_notes", compress_notes=lambda _: ["x"])
    with opened(a, b) as (registry, events):
        assert registry.compress_notes(HISTORY) == ""
    outcomes = [(name, outcome) for name, outcome, _ in told(events, "compress_notes")]
    assert outcomes == [("a", "raised"), ("b", "wrong_type")]
    assert "secret" not in repr(events)


def test_notes_are_cut():
    long = Extended("a", "compress_notes", compress_notes=lambda _: "x" * 100)
    with opened(long, limits=Limits(notes_chars=10)) as (registry, _):
        assert parse_memory_context(registry.compress_notes([])) == [("a", "x" * 10)]


def test_a_compression_that_everybody_returned_from_may_go_on():
    with opened(Extended("a", "checkpoint"), FakeProvider("b", on_compress=broken)) as (
        registry,
        _,
    ):
        assert registry.on_compress(HISTORY, 1) is None


def test_a_checkpoint_that_raises_refuses_the_compression():
    def away(*_):
        raise Unavailable("secret")

    keeper = Extended("a", "checkpoint", on_compress=away)
    with opened(keeper, FakeProvider("b", on_compress=broken)) as (registry, events):
        assert dict(registry.on_compress(HISTORY, 1).reasons) == {"a": "Unavailable"}
    assert "secret" not in repr(events)


def test_a_checkpoint_that_hangs_refuses_until_it_returns():
    clock, release = VirtualClock(), threading.Event()

    def hang(*_):
        if not release.is_set():
            clock.advance(120.0)
            release.wait(10)

    with opened(Extended("a", "checkpoint", on_compress=hang), clock=clock) as (registry, _):
        assert dict(registry.on_compress([], 1).reasons) == {"a": "late"}
        assert dict(registry.on_compress([], 2).reasons) == {"a": "stuck"}
        release.set()
        eventually(lambda: not registry._core.lanes[0].late["on_compress"])
        assert registry.on_compress([], 3) is None
    assert registry.on_compress([], 4) is None


# -- items ----------------------------------------------------------------------------------------

ITEMS = {"items": [{"id": "e-1", "text": "known"}], "status": "ok"}


def test_items_come_from_each_provider_that_serves_them_with_copies_of_the_request():
    def vandal(request):
        request["messages"].clear()
        return ITEMS

    a, b = Extended("a", "items", recall_items=vandal), Extended("b", "items")
    b._hooks["recall_items"] = lambda request: ITEMS | {"x_seen": len(request["messages"])}
    with opened(a, b, FakeProvider("c")) as (registry, _):
        found = registry.recall_items({"query": "x", "messages": [{}], "budget_chars": 10})
        assert [(answer.provider, answer.outcome) for answer in found] == [("a", "ok"), ("b", "ok")]
        assert found[1].document["x_seen"] == 1
        found[0].document["items"].clear()
    assert ITEMS["items"]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"items": []},
        ITEMS | {"status": "late"},
        ITEMS | {"items": [{"id": "x"}]},
        ITEMS | {"x": object()},
        ITEMS | {"x": float("nan")},
    ],
)
def test_an_answer_that_is_no_list_of_items_is_told(answer):
    with opened(Extended("a", "items", recall_items=lambda _: answer)) as (registry, _):
        (found,) = registry.recall_items({"query": "x"})
    assert (found.outcome, found.document) == ("wrong_type", None)


def test_items_of_the_session_that_was_left_are_dropped():
    provider = Extended("a", "items", "sessions")
    with opened(provider) as (registry, _):

        def leave(_):
            registry.on_session_switch("next")
            return ITEMS

        provider._hooks["recall_items"] = leave
        assert registry.recall_items({"query": "x"}) == []


# -- privacy --------------------------------------------------------------------------------------


def test_forgetting_comes_after_what_was_queued_and_names_everybody():
    entered, release = threading.Event(), threading.Event()

    def hold(*_):
        entered.set()
        release.wait(10)

    gone = {"removed": 2, "pending": 1}
    a = Extended("a", "privacy", forget=lambda _: gone, on_turn_complete=hold)
    with opened(a, FakeProvider("b")) as (registry, _):
        registry.on_turn_complete("one", "")
        registry.on_turn_complete("two", "")
        assert entered.wait(10)
        found = []
        thread = threading.Thread(target=lambda: found.extend(registry.forget({})))
        thread.start()
        eventually(lambda: registry._core.lanes[0]._waiting)
        assert a.named("forget") == []
        release.set()
        thread.join(10)
    assert found == [Answer("a", "ok", gone), Answer("b", "not_served")]
    order = [call[0] for call in a.calls if call[0] in ("on_turn_complete", "forget")]
    assert order == ["on_turn_complete", "on_turn_complete", "forget"]


def test_a_refusal_is_told_in_its_own_words_and_another_error_by_its_type():
    def reject(_):
        raise Rejected("no sessions are told apart here")

    a, b = Extended("a", "privacy", export=reject), Extended("b", "privacy", export=broken)
    with opened(a, b) as (registry, events):
        found = registry.export({"session_id": "mine"})
    assert found == [
        Answer("a", "refused", reason="no sessions are told apart here"),
        Answer("b", "raised", reason="SystemExit"),
    ]
    assert "told apart" not in repr(events)


def test_writes_that_hang_keep_a_wish_from_its_provider_and_no_other():
    clock, entered, release = VirtualClock(), threading.Event(), threading.Event()

    def hold(*_):
        entered.set()
        release.wait(10)

    a = Extended("a", "privacy", on_turn_complete=hold)
    b = Extended("b", "privacy", forget=lambda _: {"removed": 0, "pending": 0})
    with opened(a, b, clock=clock) as (registry, _):
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        found = []
        thread = threading.Thread(target=lambda: found.extend(registry.forget({})))
        thread.start()
        eventually(lambda: "forget" in b.threads and not b.threads["forget"].is_alive())
        clock.advance(60.0, waits=2)
        thread.join(10)
        assert [answer.outcome for answer in found] == ["stuck", "ok"]
        release.set()
    assert a.named("forget") == []


@pytest.mark.parametrize("answer", [None, {}, {"removed": True, "pending": 0}, {"removed": 1}])
def test_a_wish_without_its_numbers_is_told(answer):
    with opened(Extended("a", "privacy", forget=lambda _: answer)) as (registry, _):
        assert [found.outcome for found in registry.forget({})] == ["wrong_type"]


def test_an_export_is_a_copy_that_can_be_written_as_json():
    mine = {"items": [{"id": "1", "text": "x", "created_at": None}]}
    with opened(Extended("a", "privacy", export=lambda _: mine)) as (registry, _):
        (found,) = registry.export({})
    json.dumps(found.document)
    found.document["items"].clear()
    assert mine["items"]


def test_after_the_end_nobody_is_asked():
    a = Extended("a", "privacy", "prompt", "items", "compress_notes")
    with opened(a) as (registry, _):
        pass
    assert registry.export({}) == registry.recall_items({"query": "x"}) == []
    assert registry.compress_notes([]) == registry.system_prompt_block() == ""
