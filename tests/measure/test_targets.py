"""Targets of which it is known what a measurement must find, in the processes of a verdict."""

import pytest

from memproto.measure import invented, scoring
from memproto.measure.corpus import ANSWERABLE

pytestmark = pytest.mark.once

SHAPES = "tests.measured_shapes"


@pytest.fixture(scope="module")
def corpus():
    return invented.corpus(0, people=2)


def shares(found):
    return {name: share["share"] for name, share in found.row["recall"]["found"].items()}


def test_a_provider_that_recalls_everything_reaches_all_evidence(measured, corpus):
    found = measured(f"{SHAPES}:Whole", [corpus])
    assert shares(found)["all"] == 1
    assert shares(found)["4000"] < 0.4
    assert found.row["told"] == {"turns": corpus.turn_count, "refused": 0}
    assert found.row["route"] == "turns"
    assert found.row["lower_bound"] is None


def test_a_provider_that_loses_every_third_turn_loses_its_share_and_no_more(measured, corpus):
    found = measured(f"{SHAPES}:Thirds", [corpus]).row["recall"]["found"]["all"]
    kept = set()
    for at, person in enumerate(corpus.people):
        places = [
            (at, number, turn)
            for number, session in enumerate(person.sessions)
            for turn in range(len(session.turns))
        ]
        kept |= {place for count, place in enumerate(places, 1) if count % 3}
    asked = [item for item in corpus.questions if item.kind in ANSWERABLE]
    expected = "".join(
        str(int(all((span.person, span.session, span.turn) in kept for span in item.evidence)))
        for item in asked
    )
    assert found["answers"] == [expected]
    assert 0.4 < found["share"] < 0.8


def test_a_provider_that_repeats_the_question_gains_nothing(measured, corpus):
    found = measured(f"{SHAPES}:Echo", [corpus])
    assert set(shares(found).values()) == {0}
    assert found.row["recall"]["absent"]["share"] == 1


def test_shuffled_questions_change_nothing(measured, corpus):
    plain, shuffled = (measured("sqlite", [one]) for one in (corpus, corpus.shuffled(9)))
    assert shares(plain) == shares(shuffled)
    hits = [
        {row.question: row.found for row in scoring.marked(corpus, found.answers)}
        for found in (plain, shuffled)
    ]
    assert hits[0] == hits[1]


def test_the_same_seed_gives_the_same_figures(measured):
    rows = [measured("sqlite", [invented.corpus(4, people=2)]).row for _ in range(2)]
    assert rows[0] == rows[1]
    assert rows[0]["recall"]["items"]["5"]["share"] > 0.3


def test_the_turns_of_others_are_not_shown_by_one_that_keeps_users_apart(measured, corpus):
    honest, leaky = (measured(target, [corpus]) for target in ("sqlite", f"{SHAPES}:Leaky"))
    assert honest.row["recall"]["other"]["share"] == 0
    assert leaky.row["recall"]["other"]["share"] == 1


def test_one_that_does_not_keep_users_apart_is_not_asked_about_others(measured, corpus):
    row = measured(f"{SHAPES}:Whole", [corpus]).row
    assert row["recall"]["other"] is None
    assert "users are kept apart" in row["left_out"]["other"]
    assert row["recall"]["items"] == {}
    assert row["left_out"]["items"] == "it does not serve items"


def test_a_store_of_writes_is_told_by_writes_and_says_what_it_did_not_take(measured, corpus):
    row = measured("builtin", [corpus], sizes=(50, 100)).row
    assert row["route"] == "writes"
    assert 0 < row["told"]["refused"] < row["told"]["turns"]
    assert row["notes"][0].startswith("the first turn that it did not take: mirror: WriteRefused")
    (size,) = row["speed"]["sizes"]
    assert 0 < size["turns"] < 50
    assert "were not taken" in row["left_out"]["50 turns and more"]
    assert "record" in row["left_out"]


@pytest.mark.parametrize("name", ["Reworded", "tests.good.derived:Derived"])
def test_one_that_tells_in_other_words_is_marked_as_a_lower_bound(measured, corpus, name):
    target = name if ":" in name else f"{SHAPES}:{name}"
    assert measured(target, [corpus]).row["lower_bound"]


def test_a_process_that_ends_takes_one_session_with_it(measured, corpus):
    row = measured(f"{SHAPES}:Dying", [corpus]).row
    # One session of each of two stores.
    assert row["told"] == {"turns": corpus.turn_count, "refused": 2 * invented.TURNS}
    ending = "the process ended during on_turn_complete (exit code 3)"
    assert row["notes"] == [
        f"sessions were lost while turns were told: a process was lost: {ending}"
    ]
    assert 0.6 < row["recall"]["found"]["all"]["share"] < 1


def test_courses_that_nobody_played_count_for_nothing(measured, corpus):
    row = measured(f"{SHAPES}:Forging", [corpus], sizes=(20,)).row
    assert row["recall"]["found"]["all"]["share"] == 1
    assert row["told"] == {"turns": corpus.turn_count, "refused": 0}
    (size,) = row["speed"]["sizes"]
    assert size["operations"]["start"]["p99_s"] < 9


def test_a_provider_that_ends_every_process_is_left_out_with_the_reason(measured, corpus):
    row = measured(f"{SHAPES}:Mortal", [corpus], sizes=(10,)).row
    assert row["recall"] is None
    assert "exit code 3" in row["left_out"]["recall"]
    assert row["speed"]["sizes"] == []
    assert "exit code 3" in row["left_out"]["10 turns"]


def test_one_that_stores_by_its_tools_alone_is_left_out_with_the_reason(measured, corpus):
    row = measured(f"{SHAPES}:ToolsOnly", [corpus], sizes=(10,)).row
    assert row["left_out"] == {
        "all": "no turn and no write of a host comes back: it stores by tools alone"
    }


def test_a_target_in_which_no_session_begins_is_left_out_with_the_reason(measured, corpus):
    row = measured("tests.broken.provider.initialize:StartNeedsTheBackend", [corpus]).row
    assert row["left_out"]["all"]


def test_a_budget_that_is_over_leaves_out_what_was_not_reached(measured):
    row = measured("sqlite", sizes=(20, 1_000_000), budget_s=6.0).row
    assert [size["turns"] for size in row["speed"]["sizes"]] == [20]
    (reason,) = row["left_out"].values()
    assert reason.startswith("the time for it was over, after about ")
    assert row["left_out"].keys() == {"1,000,000 turns"}


def test_ten_thousand_turns_of_sqlite_take_less_than_five_minutes(measured):
    row = measured("sqlite", sizes=(10_000,), budget_s=300.0).row
    assert row["left_out"] == {}
    (size,) = row["speed"]["sizes"]
    assert size["turns"] == 10_000
    assert size["operations"]["recall"]["calls"] == 100


def test_each_operation_is_timed_at_each_size_and_the_store_is_weighed(measured):
    speed = measured("sqlite", sizes=(20, 60)).row["speed"]
    assert [size["turns"] for size in speed["sizes"]] == [20, 60]
    for size in speed["sizes"]:
        assert list(size["operations"]) == ["recall", "record", "write", "start", "shutdown"]
        assert size["operations"]["recall"]["calls"] == 100
        for times in size["operations"].values():
            assert 0 < times["p50_low_s"] <= times["p50_s"] <= times["p50_high_s"]
            assert times["p50_s"] <= times["p95_s"] <= times["p99_s"]
    small, large = speed["sizes"]
    assert 0 < small["disk_bytes"] < large["disk_bytes"]
    assert small["memory_bytes"] > 0
    assert speed["slopes"]["disk"] > 0


def test_a_server_that_keeps_several_stores_shows_none_of_them_the_others(measured, corpus):
    # One server for the run, and a store for each repeat and for growth: ids keep them apart.
    target, service = f"{SHAPES}:Pooled", "tests.good.remote.server:running"
    once = measured(target, [corpus], service=service).row["recall"]
    thrice = measured(target, [corpus] * 3, service=service, sizes=(20,)).row
    assert thrice["recall"]["chars_p50"] == once["chars_p50"] > 4_000
    assert [*once["found"]["4000"]["answers"]] * 3 == thrice["recall"]["found"]["4000"]["answers"]
    assert thrice["recall"]["other"]["hits"] == 0
    # It asks its server once for each turn and each question, and for nothing else.
    (size,) = thrice["speed"]["sizes"]
    assert (size["calls_per_turn"], size["calls_per_recall"]) == (1, 1)


def test_one_that_asks_no_server_makes_no_calls(measured):
    (size,) = measured(f"{SHAPES}:Whole", sizes=(20,)).row["speed"]["sizes"]
    assert (size["calls_per_turn"], size["calls_per_recall"]) == (0, 0)
