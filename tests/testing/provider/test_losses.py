"""A finding is asserted only if it is found again."""

import pytest

from memproto.testing.clauses import Untestable
from memproto.testing.facts import Facts
from memproto.testing.needs import BETTER_RECALL
from memproto.testing.provider.losses import seen_again, times_shown


def test_nothing_is_looked_for_once():
    answers = iter([""])
    assert seen_again(lambda: next(answers)) == ""


def test_what_is_found_every_time_is_told_as_it_was_first():
    answers = iter(["the boat", "the tug", "the bank"])
    assert seen_again(lambda: next(answers)) == "the boat"


@pytest.mark.parametrize("answers", [["the boat", ""], ["the boat", "the tug", ""]])
def test_what_is_not_found_every_time_is_left_open_with_what_would_help(answers):
    rest = iter(answers)
    with pytest.raises(Untestable, match=r"repeated: the boat") as found:
        seen_again(lambda: next(rest))
    assert found.value.needs == BETTER_RECALL
    assert list(rest) == []


def test_a_fact_like_another_is_told_in_the_same_words_with_other_names():
    facts = Facts(0)
    for fact in facts.several(5):
        alike = facts.like(fact)
        assert alike.name != fact.name
        assert alike.query.split()[:3] == fact.query.split()[:3]
        assert not set(alike.text.split()[-2:]) & set(fact.text.split()[-2:])


@pytest.mark.parametrize(
    ("recall", "times"),
    [
        ("I keep the boat in Oslo.", 1),
        ("> I keep the\n> boat in Oslo.\n\n> I keep the boat in Oslo.", 2),
        ("- I keep the boat\n  in Oslo.", 1),
        ("  | I keep | the boat in Oslo.", 0),
    ],
)
def test_a_text_is_counted_however_recall_breaks_and_quotes_its_lines(recall, times):
    assert times_shown(recall, "I keep the boat in Oslo.") == times
