"""The invented corpus: the same for a seed, with answers that stand in one turn and no question."""

import collections

import pytest

from memproto.measure import invented
from memproto.measure.corpus import ANSWERABLE, KINDS

SEEDS = (0, 1, 7, 1_000)


@pytest.fixture(params=SEEDS, scope="module")
def corpus(request):
    return invented.corpus(request.param)


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another():
    digests = [invented.corpus(seed).digest for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]


def test_the_corpus_of_a_seed_is_the_one_that_was_published():
    # Kept figures are of this corpus; who changes the generator measures them anew.
    assert invented.corpus(0).digest[:16] == "4fca8b56c3d52eef"


def test_each_person_is_asked_questions_of_every_kind(corpus):
    asked = {(item.person, item.kind) for item in corpus.questions}
    assert asked == {(at, kind) for at in range(len(corpus.people)) for kind in KINDS}
    assert len({item.id for item in corpus.questions}) == len(corpus.questions)


def test_a_value_stands_in_one_turn_of_the_whole_corpus(corpus):
    texts = [
        f"{turn.user}\n{turn.assistant}".casefold()
        for person in corpus.people
        for turn in person.turns
    ]
    spans = {span for item in corpus.questions for span in (*item.evidence, *item.superseded)}
    counts = collections.Counter(
        sum(corpus.words(span).casefold() in text for text in texts) for span in spans
    )
    assert set(counts) == {1}


def test_no_question_holds_a_value_that_a_question_asks_for(corpus):
    words = {corpus.words(span).casefold() for item in corpus.questions for span in item.evidence}
    asked = "\n".join(item.text for item in corpus.questions).casefold()
    assert not [word for word in words if word in asked]


def test_evidence_is_there_where_an_answer_is_and_of_somebody_else_for_other(corpus):
    for item in corpus.questions:
        people = {span.person for span in item.evidence}
        if item.kind in ANSWERABLE:
            assert people == {item.person}
        elif item.kind == "absent":
            assert people == set()
        else:
            assert people
            assert item.person not in people


def test_a_superseded_value_was_told_before_the_present_one(corpus):
    updates = [item for item in corpus.questions if item.kind == "update"]
    assert updates
    for item in updates:
        (old,), (new,) = item.superseded, item.evidence
        assert (old.session, old.turn) < (new.session, new.turn)


def test_turns_lie_in_the_order_of_time_over_months(corpus):
    for person in corpus.people:
        moments = [turn.began for turn in person.turns]
        assert moments == sorted(moments)
        assert moments[0][:7] == "2026-01"
        assert moments[-1][:7] >= "2026-06"


def test_shuffled_questions_are_the_same_questions(corpus):
    shuffled = corpus.shuffled(5)
    assert shuffled.questions != corpus.questions
    assert sorted(item.id for item in shuffled.questions) == sorted(
        item.id for item in corpus.questions
    )


def test_a_store_that_grows_is_told_as_many_turns_as_are_asked_for():
    turns = list(invented.conversation(0, 500))
    assert len(turns) == 500
    assert len({turn.user for turn in turns}) > 450
