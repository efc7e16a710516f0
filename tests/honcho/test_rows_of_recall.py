"""Measured rows about recall: modes, cadence, questions to the server's model, budgets, waits."""

import itertools
import threading
import time

import pytest

from memproto.reference_providers.honcho import dialectic, settings, texts
from tests.reference_providers.honcho.honcho_rows import row
from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."
BASE = {"baseUrl": "http://127.0.0.1:9", "peerName": "ada", "aiPeer": "hermes"}


def chosen(**more):
    return settings.Settings.of({**BASE, **more})


def told(provider, fact=FACT):
    """Have a fact stored, and everything fetched that follows from it."""
    provider.on_turn_complete(fact, "Noted.")
    idle(provider)


@row("measured: recallMode")
@row("seeds: unchanged: recall modes")
@pytest.mark.parametrize(
    ("mode", "recalls", "count"),
    [
        ("hybrid", True, 5),
        ("auto", True, 5),
        ("unheard of", True, 5),
        ("context", True, 0),
        ("tools", False, 5),
    ],
)
def test_the_mode_decides_whether_memory_comes_with_the_message_by_tools_or_both(
    opened, mode, recalls, count
):
    first = opened()
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    provider = opened("run-2", recallMode=mode)
    recalled = provider.enrich_turn("Where is Kestrel?", [])
    assert ("Ostrava" in recalled) if recalls else recalled is None
    assert len(provider.capabilities()["tool_names"]) == count


@row("measured: tools mode init")
@pytest.mark.parametrize("eager", [False, True])
def test_with_tools_alone_nothing_is_fetched_before_the_first_call_unless_it_is_asked_for(
    standin, view, opened, eager
):
    provider = opened(recallMode="tools", initOnSessionStart=eager)
    assert provider.enrich_turn("Where is Kestrel?", []) is None
    idle(provider)
    assert bool(standin.arrived("session_context")) == eager
    told(provider)
    provider.handle_tool_call("honcho_context", {})
    assert len(standin.arrived("session_context")) == 1 + eager
    # The integration stored nothing before the first call; what is accepted is not lost here.
    assert view.texts("boats") == [FACT, "Noted."]


@row("measured: observer routing")
@pytest.mark.parametrize(
    ("others", "asked", "target"), [(True, "hermes", "ada"), (False, "ada", None)]
)
def test_the_assistant_is_asked_about_the_user_where_it_observes_and_else_the_user(
    standin, opened, others, asked, target
):
    provider = opened(observation={"ai": {"observeOthers": others}})
    told(provider)
    assert standin.wait(lambda: standin.arrived("chat"))
    call = standin.arrived("chat")[0]
    assert (call.path.split("/")[-2], call.body.get("target")) == (asked, target)


@row("measured: observer routing")
def test_about_itself_the_assistant_is_asked(standin, opened):
    provider = opened()
    provider.handle_tool_call("honcho_reasoning", {"query": "Who are you?", "peer": "ai"})
    call = standin.arrived("chat")[-1]
    assert (call.path.split("/")[-2], call.body.get("target")) == ("hermes", None)


@row("measured: context cadence / injectionFrequency")
@pytest.mark.parametrize(("cadence", "fetched"), [(1, 4), (2, 2), (4, 1)])
def test_the_base_is_fetched_every_so_many_turns(standin, opened, cadence, fetched):
    provider = opened(contextCadence=cadence)
    provider.enrich_turn("ok", [])
    idle(provider)
    before = len(standin.arrived("session_context"))
    for number in range(4):
        told(provider, f"Fact number {number} is about Kestrel.")
    assert len(standin.arrived("session_context")) - before == fetched


@row("measured: context cadence / injectionFrequency")
@pytest.mark.parametrize(("often", "later"), [("every-turn", True), ("first-turn", False)])
def test_memory_comes_with_every_turn_or_with_the_first_alone(opened, often, later):
    first = opened()
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    provider = opened("run-2", injectionFrequency=often)
    assert "Ostrava" in provider.enrich_turn("Where is Kestrel?", [])
    told(provider, "Kestrel has a new sail.")
    assert bool(provider.enrich_turn("Tell me of Kestrel.", [])) == later


@row("measured: dialectic")
def test_an_empty_answer_doubles_the_turns_to_the_next_question_up_to_eightfold():
    cadence, asked = dialectic.Cadence(1), []
    for turn in range(40):
        if cadence.is_due():
            asked.append(turn)
            cadence.asked()
            cadence.answered("")
    assert [later - one for one, later in itertools.pairwise(asked)] == [2, 4, 8, 8, 8, 8]
    cadence.answered("something")
    assert cadence.streak == 0


@row("measured: dialectic")
def test_the_server_is_asked_in_its_own_cadence(standin, opened):
    provider = opened(dialecticCadence=3)
    for number in range(6):
        told(provider, f"Fact number {number} is about Kestrel.")
    assert len(standin.arrived("chat")) == 2


@row("measured: dialectic")
@pytest.mark.parametrize(("turns", "is_given"), [(2, True), (3, False)])
def test_an_answer_that_is_older_than_two_cadences_is_dropped(standin, opened, turns, is_given):
    may_answer = threading.Event()

    def slow(exchange):
        may_answer.wait(10.0)
        exchange.send(exchange.serve())

    standin.fail("chat", slow)
    provider = opened()
    provider.on_turn_complete(FACT, "Noted.")
    for _ in range(turns - 1):
        provider.enrich_turn("ok", [])
    may_answer.set()
    idle(provider)
    recalled = provider.enrich_turn("Where is Kestrel?", [])
    assert ("## Answer of the memory" in recalled) == is_given


@row("measured: context cadence / injectionFrequency")
@row("measured: dialectic")
def test_a_host_that_asks_to_prepare_after_a_turn_does_not_change_the_cadence(standin, opened):
    provider = opened(contextCadence=2)
    provider.enrich_turn("ok", [])
    idle(provider)
    before = len(standin.arrived("session_context"))
    for number in range(4):
        fact = f"Fact number {number} is about Kestrel."
        provider.on_turn_complete(fact, "Noted.")
        provider.queue_prefetch(fact)
        idle(provider)
    assert len(standin.arrived("session_context")) - before == 2
    assert len(standin.arrived("chat")) == 4


def passes(answers, **more):
    """Ask with a depth, given the answers; gives the levels that were asked at, and the result."""
    levels, left = [], list(answers)

    def chat(question, level):
        levels.append(level)
        return left.pop(0)

    held = chosen(**more)
    return levels, dialectic.ask(held, "Where is Kestrel?", chat, is_first=True)


@row("measured: dialectic depth")
@pytest.mark.parametrize(
    ("depth", "levels"), [(1, ["low"]), (2, ["minimal", "low"]), (3, ["minimal", "low", "low"])]
)
def test_the_depth_is_the_number_of_passes_each_with_its_level(depth, levels):
    assert passes(["a", "b", "c"], dialecticDepth=depth) == (levels, "abc"[depth - 1])


@row("measured: dialectic depth")
def test_levels_of_the_passes_may_be_set_and_more_than_three_are_three():
    given = {"dialecticDepth": 9, "dialecticDepthLevels": ["high", "max", "minimal"]}
    assert passes(["a", "b", "c"], **given)[0] == ["high", "max", "minimal"]


@row("measured: dialectic depth")
@pytest.mark.parametrize(("answer", "count"), [("x" * 300, 1), ("- " + "x" * 100, 1), ("x", 2)])
def test_an_answer_that_says_enough_ends_the_passes(answer, count):
    assert len(passes([answer, "b"], dialecticDepth=2)[0]) == count


@row("measured: reasoning level")
@pytest.mark.parametrize(
    ("chars", "level", "more", "expected"),
    [
        (10, "low", {}, "low"),
        (120, "low", {}, "medium"),
        (400, "low", {}, "high"),
        (400, "medium", {}, "high"),
        (400, "max", {}, "max"),
        (400, "low", {"dialecticDynamic": False}, "low"),
        (400, "low", {"reasoningLevelCap": "medium"}, "medium"),
    ],
)
def test_a_longer_message_is_worth_a_higher_level_up_to_a_cap(chars, level, more, expected):
    held = chosen(dialecticReasoningLevel=level, **more)
    assert dialectic.level(held, "x" * chars, 0) == expected


@row("measured: reasoning level")
@pytest.mark.parametrize("level", ["minimal", "low", "medium", "high", "max"])
def test_the_level_that_is_set_reaches_the_server(standin, opened, level):
    told(opened(dialecticReasoningLevel=level, reasoningLevelCap=level))
    assert standin.wait(lambda: standin.arrived("chat"))
    assert standin.arrived("chat")[0].body["reasoning_level"] == level


@row("measured: budgets")
def test_recall_keeps_within_the_tokens_that_are_set(opened):
    first = opened()
    for number in range(20):
        first.on_turn_complete(f"Fact {number}: the boat Kestrel is in harbour {number}.", "Noted.")
    first.shutdown()
    base = [opened("run-2", contextTokens=tokens)._live.recall for tokens in (None, 50)]
    whole, cut = ([*_base(recall)] for recall in base)
    assert sum(map(len, cut)) <= 200 < sum(map(len, whole))


def _base(recall):
    recall._reader.wait(recall._base_number, time.monotonic() + 5.0)
    return recall._cache.base


@row("measured: budgets")
def test_an_answer_is_cut_at_a_word_and_a_question_at_its_limit():
    assert dialectic.cut("one two three", 9) == "one two"
    asked = []
    held = chosen(dialecticMaxInputChars=50)
    dialectic.ask(held, "x" * 20_000, lambda q, _: asked.append(q) or "", is_first=True)
    assert [len(question) for question in asked] == [50]
    assert chosen(dialecticMaxInputChars=99_999).query_chars == 10_000
    assert (chosen().dialectic_chars, chosen().message_chars) == (600, 25_000)


@row("measured: budgets")
@pytest.mark.parametrize("most", [25_000, 1_000])
def test_a_long_message_is_split_and_each_further_part_says_so(view, opened, most):
    provider = opened(messageMaxChars=most)
    said = "Kestrel " * 8_000
    provider.on_turn_complete(said, "Noted.")
    provider.shutdown()
    *parts, answer = view.texts("boats")
    assert answer == "Noted."
    assert all(part.startswith("[continued] ") for part in parts[1:])
    assert all(len(part) <= most for part in parts)
    assert "".join(texts.read(part) for part in parts) == said


@row("measured: first-turn waits")
def test_the_first_turn_waits_a_little_and_later_ones_never(standin, opened):
    standin.fail("*", "hang")
    provider = opened()
    took = []
    for _ in range(2):
        began = time.monotonic()
        provider.enrich_turn("Where is Kestrel?", [])
        took.append(time.monotonic() - began)
    standin.heal()
    assert took[0] < 5.0
    assert took[1] < 1.0


@row("measured: first-turn waits")
@pytest.mark.parametrize("message", ["yes", "OK!", "thanks.", "go ahead", "/help", " "])
def test_a_message_that_asks_for_nothing_is_not_looked_up(message):
    assert texts.is_trivial(message)
    assert not texts.is_trivial(f"{message} and where is Kestrel?") or message.startswith("/")


@row("measured: base block headings")
def test_each_part_of_the_base_has_its_heading(standin, view, opened):
    first = opened(observation={"ai": {"observeMe": True}})
    for number in range(12):
        first.on_turn_complete(f"Fact {number} is about Kestrel.", f"Answer {number}.")
    first.shutdown()
    view.ask("PUT", "/peers/hermes/card?target=ada", {"peer_card": ["Sails a lot"]})
    view.ask("PUT", "/peers/hermes/card", {"peer_card": ["Answers shortly"]})
    recalled = opened("run-2").enrich_turn("Tell me of Kestrel.", [])
    for heading in (
        "Session Summary",
        "User Representation",
        "User Peer Card",
        "AI Self-Representation",
        "AI Identity Card",
    ):
        assert f"## {heading}\n" in recalled


@pytest.mark.parametrize(
    ("message", "fetched"),
    [
        ("What was that of which you were?", 7),
        ("Do Kestrel, Ferda, Ostrava and Aldermoor meet?", 11),
    ],
)
def test_a_turn_makes_the_requests_that_the_page_names(standin, opened, message, fetched):
    """The section "What it costs" in docs/honcho.md."""
    provider = opened()
    provider.enrich_turn(message, [])
    idle(provider)
    before = len(standin.requests)
    provider.on_turn_complete(message, "Yes.")
    idle(provider)
    asked = [request.route for request in standin.requests[before:]]
    assert [asked.count(route) for route in ("add_messages", "chat")] == [1, 1]
    assert len(asked) == 2 + fetched
