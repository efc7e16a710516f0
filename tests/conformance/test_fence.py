"""Texts that a stored delimiter costs are told from those that a ranking passes over."""

import pytest

from memproto.conformance.provider import fence
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.needs import BETTER_RECALL
from tests.broken.provider.fence import AnOpenFenceHidesTheRest, StripsAcrossEntries
from tests.good.journal import Journal


class RanksMarkedTextsFirst(Journal):
    """Brings the texts with signs for a question where it has any, and all for a text's words."""

    def enrich_turn(self, user_message, messages):
        signs = [entry["text"] for entry in self._entries if "<" in entry["text"]]
        if user_message.endswith("?") and signs:
            return signs[0]
        return super().enrich_turn(user_message, messages)


def test_an_entry_that_comes_back_for_its_own_words_is_no_cost_of_a_delimiter(journal_run):
    with pytest.raises(Untestable, match=r"come back for their own words") as found:
        fence.a_delimiter_costs_no_other_entry(journal_run(RanksMarkedTextsFirst, "turns"))
    assert found.value.needs == BETTER_RECALL


@pytest.mark.once
@pytest.mark.parametrize("factory", [AnOpenFenceHidesTheRest, StripsAcrossEntries])
def test_an_entry_that_its_own_words_do_not_bring_either_was_lost(journal_run, factory):
    with pytest.raises(Violation, match="did not come back"):
        fence.a_delimiter_costs_no_other_entry(journal_run(factory, "turns"))


def test_a_good_provider_passes(journal_run):
    fence.a_delimiter_costs_no_other_entry(journal_run(Journal, "turns"))
