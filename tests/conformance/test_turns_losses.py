"""A text is lost that recall brings neither for a question nor for its own words."""

import pytest

from memproto.conformance.provider import turns
from memproto.testing.clauses import Violation
from memproto.testing.provider import losses
from memproto.testing.scenarios.tenants import Reader, of
from tests.good.hashed import Hashed
from tests.good.journal import Journal

pytestmark = pytest.mark.once

CROWD = 12


class BringsTheLatest(Journal):
    """Questions bring the text that was stored last; only its own words bring another one."""

    def enrich_turn(self, user_message, messages):
        if user_message.endswith("?"):
            return self._entries[-1]["text"] if self._entries else None
        return super().enrich_turn(user_message, messages)


class FindsWholeTextsOnly(Journal):
    def enrich_turn(self, user_message, messages):
        texts = [line for e in self._entries for line in e["text"].split("\n")]
        return next((text for text in texts if user_message == text), None)


class RepeatsTheQuestion(Journal):
    """Brings the text that was stored last, below what it was asked."""

    def enrich_turn(self, user_message, messages):
        found = [entry["text"] for entry in self._entries[-1:]]
        return "\n".join([f"On {user_message}:", *found]) if found else None


class KeepsTheLast(BringsTheLatest):
    def _save(self):
        self._entries = self._entries[-1:]
        super()._save()


def crowd(run):
    """Facts of one session, among which a weak ranking does not find its way."""
    facts = run.facts.several(CROWD)
    with run.session() as subject:
        for fact in facts:
            run.plant(subject, fact, "turns")
    return facts


@pytest.mark.parametrize("factory", [Journal, Hashed, BringsTheLatest])
def test_what_is_stored_is_not_lost_whatever_a_ranking_prefers(journal_run, factory):
    run = journal_run(factory)
    assert losses.lost(run, crowd(run)) == []


def test_the_ranking_of_this_test_passes_over_some_that_are_stored(journal_run):
    run = journal_run(BringsTheLatest)
    assert sum(run.reopened_brings_back(fact) for fact in crowd(run)) == 1


@pytest.mark.parametrize("factory", [RepeatsTheQuestion, KeepsTheLast])
def test_what_is_lost_is_found_lost_also_where_the_question_is_repeated(journal_run, factory):
    run = journal_run(factory)
    facts = crowd(run)
    assert losses.lost(run, facts) == facts[:-1]


def test_recall_that_finds_whole_texts_only_brings_nothing_back(journal_run):
    run = journal_run(FindsWholeTextsOnly)
    facts = crowd(run)
    assert losses.lost(run, facts) == facts


def test_an_open_instance_tells_the_same_as_a_new_one(journal_run):
    run = journal_run(BringsTheLatest)
    first, *_ = crowd(run)
    with run.session() as subject:
        assert not run.brings_back(subject, first)
        assert losses.is_shown(run, subject, first)
        assert not losses.is_shown(run, subject, run.facts.new())


def test_a_tenant_lacks_what_its_own_words_do_not_bring(journal_run):
    run = journal_run(BringsTheLatest)
    owner = of(run, "user", "ida")
    first, *_ = crowd(run)
    assert Reader(run).lacks(owner, [first]) == []
    never = run.facts.new()
    assert Reader(run).lacks(owner, [never]) == [never]


@pytest.mark.parametrize(
    "check",
    [turns.every_turn_comes_back, turns.the_last_turn_is_stored, turns.an_added_text_comes_back],
)
def test_a_weak_ranking_breaks_no_rule_on_storing(journal_run, check):
    check(journal_run(Hashed))
    check(journal_run(BringsTheLatest))
    with pytest.raises(Violation, match="did not come back"):
        check(journal_run(FindsWholeTextsOnly))
