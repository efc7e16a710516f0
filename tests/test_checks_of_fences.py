"""What a stored delimiter costs is told from what a ranking passes over."""

import pytest

from memproto.conformance.provider import fence
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.run import Run
from memproto.testing.subject import Watch
from memproto.testing.wire import Wire
from tests.broken.fence import AnOpenFenceHidesTheRest, StripsAcrossEntries
from tests.good.journal import Journal


class RanksMarkedTextsFirst(Journal):
    """Brings the texts with signs for a question where it has any, and all for a text's words."""

    def enrich_turn(self, user_message, messages):
        signs = [entry["text"] for entry in self._entries if "<" in entry["text"]]
        if user_message.endswith("?") and signs:
            return signs[0]
        return super().enrich_turn(user_message, messages)


@pytest.fixture
def run_of(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        told = Context(
            routes={"turns": "declared", "writes": "absent", "tools": "absent"},
            capabilities=Journal().capabilities(),
        )
        watch = Watch(Wire(file.fileno()))
        yield lambda factory: Run(factory, "native", tmp_path / "home", watch, told)


def test_an_entry_that_comes_back_for_its_own_words_is_no_cost_of_a_delimiter(run_of):
    with pytest.raises(Untestable, match=r"come back for their own words.*needs: a `config`"):
        fence.a_delimiter_costs_no_other_entry(run_of(RanksMarkedTextsFirst))


@pytest.mark.parametrize("factory", [AnOpenFenceHidesTheRest, StripsAcrossEntries])
def test_an_entry_that_its_own_words_do_not_bring_either_was_lost(run_of, factory):
    with pytest.raises(Violation, match="did not come back"):
        fence.a_delimiter_costs_no_other_entry(run_of(factory))


def test_a_good_provider_passes(run_of):
    fence.a_delimiter_costs_no_other_entry(run_of(Journal))
