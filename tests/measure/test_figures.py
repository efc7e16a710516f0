"""Figures: positions of evidence in an answer, intervals, percentiles, growth."""

import sys

import pytest

from memproto.measure import baselines, document, intervals, invented, scoring
from memproto.measure.corpus import Corpus, Person, Question, Session, Span, Turn
from memproto.measure.scoring import Answer

LATER = "2026-01-05T08:00:00+01:00"


def turn(user):
    return Turn(user, "Noted.", LATER, LATER)


@pytest.fixture(scope="module")
def small():
    """Two turns and a question of each kind about them."""
    turns = (turn("I live in Oldby Street."), turn("We moved to Newby Street."))
    old, new = Span(0, 0, 0, "user", 10, 15), Span(0, 0, 1, "user", 12, 17)
    questions = (
        Question("q1", "update", 0, "Where do I live?", (new,), (old,)),
        Question("q2", "several", 0, "Where have I lived?", (old, new)),
        Question("q3", "absent", 0, "Who is my dentist?"),
    )
    return Corpus("small", (Person("p1", "Ida", (Session("s1", turns),)),), questions)


def marks(corpus, text, question="q1", items=None):
    (found,) = scoring.marked(corpus, {question: Answer(text, items)})
    return found


def test_the_words_of_a_span_are_those_of_its_turn(small):
    assert [small.words(span) for span in small.questions[1].evidence] == ["Oldby", "Newby"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (0, (True, True, True, True)),
        (995, (True, True, True, True)),
        (996, (False, True, True, True)),
        (1_996, (False, False, True, True)),
        (3_996, (False, False, False, True)),
    ],
)
def test_evidence_counts_where_it_stands_as_a_whole_within_the_budget(small, before, found):
    assert marks(small, "x" * before + "Newby").found == found


def test_case_and_space_make_no_difference(small):
    assert marks(small, "we moved to NEWBY").found[0]


def test_an_answer_that_needs_several_values_needs_all_of_them(small):
    assert not marks(small, "Oldby", "q2").found[-1]
    assert marks(small, "Oldby", "q2").part == 0.5
    assert marks(small, "Newby, Oldby", "q2").found[-1]


def test_a_former_value_is_stale_only_without_the_present_one(small):
    assert marks(small, "Oldby").stale == (True,) * 4
    assert marks(small, "Oldby and Newby").stale == (False,) * 4
    far = "Oldby" + "x" * 1_500 + "Newby"
    assert marks(small, far).stale == (True, False, False, False)


def test_items_are_looked_through_by_their_rank(small):
    items = ("none", "none", "Newby", "none")
    assert marks(small, "", items=items).ranks == (False, True, True, True)
    assert marks(small, "").ranks == ()


def test_something_shown_for_an_absent_answer_is_counted(small):
    rows = [marks(small, text, "q3") for text in ("", "anything")]
    assert scoring.shown_for_absent(rows) == [False, True]


def test_values_without_their_sentences_are_noticed(small):
    assert scoring.in_own_words([marks(small, "lives at: Newby")])
    assert not scoring.in_own_words([marks(small, "We moved to Newby Street.")])
    assert not scoring.in_own_words([marks(small, "")])


# -- intervals -------------------------------------------------------------------------------------


def test_the_interval_of_a_share_is_wilsons():
    low, high = intervals.of_share(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert intervals.of_share(0, 20)[0] == 0
    assert intervals.of_share(20, 20)[1] == 1
    assert intervals.of_share(0, 0) == (0, 1)


@pytest.mark.parametrize(
    ("lost", "won", "chance"), [(0, 0, 1.0), (5, 5, 1.0), (0, 8, 2 / 256), (1, 9, 22 / 1024)]
)
def test_pairs_that_changed_one_way_are_hardly_chance(lost, won, chance):
    assert intervals.chance_of_pairs(lost, won) == pytest.approx(chance)


def test_a_percentile_is_one_of_the_values():
    values = [float(number) for number in range(1, 101)]
    assert [intervals.percentile(values, share) for share in (0.5, 0.95, 0.99)] == [50, 95, 99]
    assert intervals.percentile([3.0], 0.99) == 3.0
    with pytest.raises(ValueError, match="no value"):
        intervals.percentile([], 0.5)


def test_the_interval_of_a_median_lies_around_it_among_the_values():
    low, high = intervals.of_median([float(number) for number in range(101)])
    assert 35 <= low < 50 < high <= 65
    assert intervals.of_median([2.0]) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("values", "power"), [([1, 1, 1], 0), ([1, 10, 100], 1), ([1, 100, 10_000], 2)]
)
def test_growth_is_told_as_a_power_of_the_size(values, power):
    assert intervals.slope([100, 1_000, 10_000], values) == pytest.approx(power)


def test_one_size_has_no_slope():
    assert intervals.slope([100], [1.0]) is None
    assert intervals.slope([100, 1_000], [0.0, 1.0]) is None


# -- baselines -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shares():
    """Baseline to its recall over two corpora."""
    corpora = [invented.corpus(seed) for seed in (0, 1)]
    found = {}
    for name, baseline in baselines.BASELINES.items():
        repeats = []
        for corpus in corpora:
            recalls = [baseline(person) for person in corpus.people]
            answers = {
                item.id: Answer(recalls[item.person](item.text)) for item in corpus.questions
            }
            repeats.append(scoring.marked(corpus, answers))
        found[name] = document.row_of_baseline(name, repeats, {})["recall"]
    return found


def test_the_whole_history_brings_all_evidence_at_full_length(shares):
    assert shares["whole history"]["found"]["all"]["share"] == 1
    assert shares["whole history"]["found"]["4000"]["share"] < 0.3


def test_nothing_brings_nothing(shares):
    found = shares["nothing"]
    every = [*found["found"].values(), found["stale"], found["absent"], found["other"]]
    assert {share["hits"] for share in every} == {0}


def test_word_search_brings_much_and_not_all_so_that_a_target_can_add_to_it(shares):
    assert 0.5 < shares["word search (BM25)"]["found"]["4000"]["share"] < 0.9


def test_the_last_turns_bring_some(shares):
    assert 0 < shares["last turns"]["found"]["4000"]["share"] < 0.3


def test_no_baseline_but_the_whole_history_shows_more_than_the_longest_budget():
    person = invented.corpus(0).people[0]
    for name, baseline in baselines.BASELINES.items():
        length = len(baseline(person)("Where do I live, and who is my dentist?"))
        assert (length > scoring.LIMIT_CHARS) == (name == "whole history"), name


def test_word_search_without_its_library_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(baselines.NotInstalled, match=r"memproto\[measure\]"):
        baselines.word_search(invented.corpus(0).people[0])
