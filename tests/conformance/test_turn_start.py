"""Turns that a provider that is told of turns hears of, before the kit records them."""

from typing import Any

import pytest

from memproto.bindings import NATIVE
from memproto.testing.instruments.threads import together
from memproto.testing.provider.extensions import TurnCount
from memproto.testing.provider.subject import Subject, Watch
from memproto.testing.wire import Wire
from tests.kit_runs import outcomes, reported


class Told:
    """Notes what it is told of turns."""

    def __init__(self, *, raises: bool = False) -> None:
        self.notes: list[Any] = []
        self._raises = raises

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        pass

    def on_turn_start(self, turn_number: int, message: str) -> None:
        self.notes.append((turn_number, message))
        if self._raises:
            raise ValueError(turn_number)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self.notes.append(user_message)


@pytest.fixture
def watch(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        yield Watch(Wire(file.fileno()), turns=TurnCount())


def opened(told: Told, watch: Watch, key: str = "s") -> Subject:
    subject = Subject(told, NATIVE, watch)
    subject.open(key, {})
    return subject


def test_a_turn_begins_before_it_is_recorded_and_has_a_number_of_its_own(watch):
    told = Told()
    subject = opened(told, watch)
    subject.record("one")
    subject.record("two")
    assert told.notes == [(1, "one"), "one", (2, "two"), "two"]


def test_a_session_that_is_opened_again_counts_on_and_another_one_counts_for_itself(watch):
    told = Told()
    for key in ("s", "s", "other"):
        opened(told, watch, key).record(key)
    assert told.notes[::2] == [(1, "s"), (2, "s"), (1, "other")]


def test_a_turn_that_the_check_began_is_not_begun_again(watch):
    told = Told()
    subject = opened(told, watch)
    subject.turn_start(7, "seven")
    subject.record("seven")
    subject.record("eight")
    assert told.notes == [(7, "seven"), "seven", (8, "eight"), "eight"]


def test_a_turn_that_is_recorded_on_another_thread_begins_too_or_began_before(watch):
    told = Told()
    subject = opened(told, watch)
    for before in (False, True):
        if before:
            subject.begin("beside")
            told.notes.append("began")
        assert together(lambda: subject.record("beside")) == [None]
    assert told.notes == [(1, "beside"), "beside", (2, "beside"), "began", "beside"]


def test_a_turn_is_recorded_where_its_beginning_raised(watch):
    told = Told(raises=True)
    opened(told, watch).record("one")
    assert told.notes == [(1, "one"), "one"]


def test_a_provider_whose_hook_hung_before_is_not_told_again(watch):
    told = Told()
    watch.deaths["turn_start"] = 1
    opened(told, watch).record("one")
    assert told.notes == ["one"]


def test_a_provider_that_does_not_serve_the_extension_is_told_nothing(watch):
    told = Told()
    watch.turns = None
    opened(told, watch).record("one")
    assert told.notes == ["one"]


def test_turns_that_are_told_apart_by_their_number_come_back_within_one_count(tmp_path):
    kept = ("MP-TURN-001", "MP-TURN-003", "MP-THR-001", "MP-THR-005")
    clauses = [f"--memproto-clause={name}" for name in (*kept, "MP-TURN-004")]
    target = "--memproto=tests.broken.provider.turns:TheNumberOfATurnIsItsKey"
    found = outcomes(reported(tmp_path, target, *clauses, "--memproto-profile=quick")["reports"][0])
    assert {name: found[name] for name in kept} == dict.fromkeys(kept, "pass")
    assert found["MP-TURN-004"] == "fail"
