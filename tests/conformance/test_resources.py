"""Objects that the checks of resources take for a cache, and those that they take for a leak."""

import atexit
import functools

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import resources
from memproto.testing.clauses import Violation
from memproto.testing.context import Context
from memproto.testing.instruments.threads import ExitCalls
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests import places
from tests.good.journal import Journal

pytestmark = pytest.mark.once


def _folded(question):
    return question.casefold()


class Asks(Journal):
    """Each question goes through `fold`, which all its sessions share."""

    fold = staticmethod(_folded)

    def enrich_turn(self, user_message, messages):
        return super().enrich_turn(self.fold(user_message), messages)


@pytest.fixture
def run_of(tmp_path):
    """A function that gives a run of a provider that folds by what it is given."""
    with (tmp_path / "wire").open("wb") as file:

        def begin(fold=_folded, base=Asks):
            kind = type("Folds", (base,), {"fold": staticmethod(fold)})
            home = tmp_path / "root" / "home"
            home.parent.mkdir()
            return Run(kind, NATIVE, home, Watch(Wire(file.fileno())), Context())

        yield begin


class Unregisters(Journal):
    """Its function at exit goes with the session."""

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        atexit.register(self.shutdown)

    def shutdown(self):
        atexit.unregister(self.shutdown)
        super().shutdown()


class KeepsOneEach(Unregisters):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        atexit.register(len, session_key)


class HasALargeClientForEach(Journal):
    """Each session leaves something large, and nothing of the conversation."""

    clients: list[bytearray] = []  # noqa: RUF012 - shared on purpose

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self.clients.append(bytearray(500_000))


class LoadsPiecesForAWhile(HasALargeClientForEach):
    """As a thread does that imports a large package while the first sessions are lived."""

    clients: list[bytearray] = []  # noqa: RUF012 - shared on purpose

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        del self.clients[9:]


class KeepsWhatIsSaid(Journal):
    said: list[str] = []  # noqa: RUF012 - shared on purpose

    def enrich_turn(self, user_message, messages):
        self.said += [f"{message['content']}." for message in messages[-1:]]
        return super().enrich_turn(user_message, messages)


@pytest.mark.parametrize(
    "kind", places.half_nightly([LoadsPiecesForAWhile, HasALargeClientForEach])
)
def test_memory_that_grows_as_much_among_few_words_is_no_conversation(run_of, kind):
    resources.sessions_leave_no_conversation_in_memory(run_of(base=_asking(kind)))


def test_a_conversation_that_is_kept_is_found_each_time(run_of):
    with pytest.raises(Violation, match="400,000 characters"):
        resources.sessions_leave_no_conversation_in_memory(run_of(base=_asking(KeepsWhatIsSaid)))


def _asking(kind):
    return type("AsksToo", (kind, Asks), {})


def test_a_function_at_exit_that_goes_with_its_session_is_not_left(run_of):
    resources.sessions_leave_no_handlers(run_of(base=Unregisters))


def test_one_of_two_functions_at_exit_is_left(run_of):
    try:
        with pytest.raises(Violation, match="a function of atexit"):
            resources.sessions_leave_no_handlers(run_of(base=KeepsOneEach))
    finally:
        atexit.unregister(len)


def test_a_function_whose_place_the_interpreter_gives_back_is_taken_off_once(monkeypatch):
    held = []
    monkeypatch.setattr(atexit, "register", held.append)
    monkeypatch.setattr(atexit, "unregister", held.remove)
    monkeypatch.setattr(atexit, "_ncallbacks", lambda: len(held))
    calls = ExitCalls()
    with calls.watched():
        for function in (len, repr):
            atexit.register(function)
        atexit.unregister(len)
        assert calls.count() == 1


def test_a_bounded_cache_of_questions_is_no_leak(run_of):
    cached = functools.lru_cache(maxsize=1_000)(_folded)
    resources.sessions_leave_no_conversation_in_memory(run_of(cached))
    assert cached.cache_info().misses > cached.cache_info().maxsize


def test_a_cache_without_a_bound_is_a_leak(run_of):
    cached = functools.cache(_folded)
    with pytest.raises(Violation, match="bytes or more, most of it allocated at"):
        resources.sessions_leave_no_conversation_in_memory(run_of(cached))


def test_the_very_question_is_named_as_such(run_of):
    kept = []

    def keeps(question):
        kept.append(question)
        return question

    with pytest.raises(Violation, match="the very text that the hook was handed"):
        resources.sessions_leave_no_conversation_in_memory(run_of(keeps))
