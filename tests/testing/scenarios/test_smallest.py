"""The smallest input that fails is told with a finding, where size or a text is to blame."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import data, recall, tenancy, turns
from memproto.testing import wording
from memproto.testing.clauses import Violation
from memproto.testing.context import Context
from memproto.testing.evidence import NotRecalled, Raised
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Watch
from memproto.testing.scenarios import smallest
from memproto.testing.scenarios.smallest import PLAIN, Least
from memproto.testing.wire import Wire
from tests.broken.provider.tenancy import LongIdsAreNotStored
from tests.good.journal import Journal

#: The length up to which the providers here take a text.
LIMIT = 8_000

#: Characters of a text that costs later ones; many of a fiftieth of a million are no burden.
BURDEN = 100_000


class KeepsShortTurns(Journal):
    """A turn that a column would not hold is dropped, and nobody is told."""

    def on_turn_complete(self, user_message, assistant_response):
        if len(user_message) <= LIMIT:
            super().on_turn_complete(user_message, assistant_response)


class RefusesLongTurns(Journal):
    """A turn that is too long raises something that is no report."""

    def on_turn_complete(self, user_message, assistant_response):
        if max(len(user_message), len(assistant_response)) > LIMIT:
            raise OverflowError("value too long for type character varying(8000)")
        super().on_turn_complete(user_message, assistant_response)


class Unquoted(Journal):
    """A question becomes a part of a statement."""

    def enrich_turn(self, user_message, messages):
        if '"' in user_message:
            raise ValueError("fts5: syntax error")
        return super().enrich_turn(user_message, messages)


class RaisesAlways(Journal):
    def on_memory_write(self, action, target, content, old_text=None):
        if content:
            raise RuntimeError("no such table")


class BreaksByLength(Journal):
    """A long turn costs all that comes after it."""

    def on_turn_complete(self, user_message, assistant_response):
        if not any(len(entry["text"]) > BURDEN for entry in self._load()):
            super().on_turn_complete(user_message, assistant_response)


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    with (tmp_path / "wire").open("wb") as file:
        watch, numbers = Watch(Wire(file.fileno())), itertools.count()

        def build(kind: Any = Journal, **more: Any) -> Run:
            home = tmp_path / f"homes-{next(numbers)}" / "home"
            return Run(kind, NATIVE, home, watch, Context(**more))

        yield build


def found(run: Run, check: Callable[[Run], None]) -> Any:
    with pytest.raises(Violation) as raised:
        check(run)
    return raised.value.evidence


def test_a_loss_of_long_turns_is_told_with_the_length_at_which_it_begins(make_run):
    seen = found(make_run(KeepsShortTurns), turns.every_turn_comes_back)
    assert isinstance(seen, NotRecalled)
    assert (seen.least_chars, seen.spared_chars) == (LIMIT + 1, LIMIT)
    said = wording.observed(seen)
    assert "for a turn of 100,000 characters" in said
    assert said.endswith("; 8,001 characters are enough, and 8,000 are not")


def test_an_exception_for_a_long_turn_is_told_with_the_length_at_which_it_begins(make_run):
    seen = found(make_run(RefusesLongTurns), turns.a_turn_takes_any_text)
    assert isinstance(seen, Raised)
    assert (seen.least, seen.least_chars, seen.spared_chars) == ("", LIMIT + 1, LIMIT)


def test_an_exception_for_a_character_is_told_with_it_alone(make_run):
    seen = found(make_run(Unquoted), recall.recall_takes_any_text)
    assert (seen.given, seen.least) == ("SQL", "'\"'")
    assert wording.observed(seen).endswith("texts raised; '\"' is enough")


def test_a_long_id_is_told_with_the_length_at_which_it_is_too_long(make_run):
    seen = found(make_run(LongIdsAreNotStored), tenancy.any_id_is_accepted)
    assert (seen.least_chars, seen.spared_chars) == (501, 500)


def test_a_burden_is_told_with_the_length_from_which_on_it_costs_later_texts(make_run):
    seen = found(make_run(BreaksByLength), data.a_text_that_is_too_much_costs_no_later_one)
    # The journal keeps both halves of a turn in one entry.
    assert seen.least_chars == seen.spared_chars + 1
    assert BURDEN - 200 < seen.spared_chars <= BURDEN


def test_a_hook_that_raises_for_a_plain_text_as_well_blames_no_text(make_run):
    seen = found(make_run(RaisesAlways), turns.a_write_takes_any_text)
    assert (seen.given, seen.least, seen.least_chars) == (f"the plain text {PLAIN!r}", "", 0)
    assert wording.observed(seen).endswith(f"for the plain text {PLAIN!r}")


def test_calls_that_cost_money_make_nothing_smaller(make_run):
    run = make_run()
    run.watch.calls_left = 1_000
    assert smallest.of_text(run, "a'b", lambda text: "'" in text) is None
    assert smallest.of_length(run, 1_000, 10, lambda chars: chars > 100) is None


@pytest.mark.parametrize(
    ("text", "fails", "least"),
    [
        ("before\x00after", lambda text: "\x00" in text, Least(1, shown="'\\x00'")),
        ("x", lambda text: text == "x", None),
        ("a(b)c", lambda text: "(" in text and ")" in text, Least(2, shown="'()'")),
        ("a" * 900, lambda text: text.count("a") > 700, Least(701, 700)),
        ("b" * 99 + "a" * 900, lambda text: text.count("a") > 700, Least(701)),
        ("", lambda text: not text, None),
        ("always", lambda text: True, None),
    ],
)
def test_a_text_is_made_smaller_until_nothing_can_be_left_out(make_run, text, fails, least):
    assert smallest.of_text(make_run(), text, fails) == least


@pytest.mark.parametrize("limit", [10, 11, 57, 511, 65_535, 999_998])
def test_the_least_length_is_found_to_the_very_character(make_run, limit):
    made = []

    def fails(chars):
        made.append(chars)
        return chars > limit

    found = smallest.of_length(make_run(), 1_000_000, 10, fails)
    assert found == Least(limit + 1, limit)
    assert len(made) < smallest.MOST_CALLS


def test_lengths_that_fail_now_and_then_are_not_told(make_run):
    outcomes = itertools.cycle([False, True])
    assert smallest.of_length(make_run(), 1_000, 10, lambda _: next(outcomes)) is None


@pytest.mark.parametrize("error", [HookRaised("record", ValueError("another")), Violation(None)])
def test_an_exception_of_a_hook_ends_the_search_with_what_is_known(make_run, error):
    def fails(text):
        if len(text) < 5:
            raise error
        return "x" in text

    found = smallest.of_text(make_run(), "abcdefghijx", fails)
    assert found is None or "x" in found.shown


def test_no_call_of_a_search_is_one_of_the_check(make_run):
    run, heard = make_run(), []
    run.watch.calls.follow = lambda *_: heard.append(1)  # type: ignore[method-assign]

    def fails(chars):
        with run.session() as subject:
            subject.record("x" * chars)
        return chars > 50

    assert smallest.of_length(run, 100, 10, fails) == Least(51, 50)
    assert heard == []
