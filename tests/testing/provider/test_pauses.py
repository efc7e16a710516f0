"""A write that a rate limit refuses is made again after the pause that it asks for."""

import contextlib

import pytest

from memproto.bindings import NATIVE
from memproto.errors import Unavailable, WriteRefused
from memproto.testing.provider.subject import HookRaised, Subject, Watch
from tests.good.journal import Journal


class Refusing(Journal):
    """Refuses its first so many writes with an error."""

    def __init__(self, times, error):
        super().__init__()
        self.left, self.error, self.calls = times, error, 0

    def on_turn_complete(self, user_message, assistant_response):
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error


def subject_of(provider):
    wire = type("Wire", (), {"hook": lambda *_: contextlib.nullcontext(0.0)})()
    return Subject(provider, NATIVE, Watch(wire))


def limit(seconds):
    return Unavailable("too many writes", retry_after_s=seconds)


def test_a_write_beyond_a_rate_limit_is_made_again():
    provider = Refusing(2, limit(0.001))
    subject_of(provider).record("The tug is called Orida.")
    assert provider.calls == 3


@pytest.mark.parametrize(
    "error",
    [
        *(limit(seconds) for seconds in (None, 0, -1, 30, float("nan"), float("inf"), "soon")),
        WriteRefused("the store is full"),
    ],
)
def test_another_refusal_is_told_at_once(error):
    provider = Refusing(1, error)
    with pytest.raises(HookRaised):
        subject_of(provider).record("The tug is called Orida.")
    assert provider.calls == 1


def test_a_backend_that_is_away_is_not_asked_again():
    error = limit(0.001)
    error.__cause__ = ConnectionRefusedError()
    provider = Refusing(1, error)
    with pytest.raises(HookRaised):
        subject_of(provider).record("The tug is called Orida.")
    assert provider.calls == 1


def test_pauses_in_vain_are_made_once_in_a_check():
    provider = Refusing(100, limit(0.001))
    subject = subject_of(provider)
    with pytest.raises(HookRaised):
        subject.record("The tug is called Orida.")
    assert provider.calls == 6
    with pytest.raises(HookRaised):
        subject.record("The tug is called Orida.")
    assert provider.calls == 7


def test_no_write_is_made_again_where_the_check_makes_the_backend_fail():
    provider = Refusing(1, limit(0.001))
    subject = subject_of(provider)
    subject._watch.repeats = False
    with pytest.raises(HookRaised):
        subject.record("The tug is called Orida.")
    assert provider.calls == 1
