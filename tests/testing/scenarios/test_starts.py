"""Sessions that begin as usual: a refusal of every session is none of a context or of a key."""

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import contexts, initialize
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests.good.journal import Journal


class OpensOnce(Journal):
    """Each home opens once in a process."""

    opened: set[str] = set()  # noqa: RUF012 - shared by its sessions

    def initialize(self, session_key, config):
        if config["home"] in self.opened:
            raise RuntimeError("the home is open")
        super().initialize(session_key, config)
        self.opened.add(config["home"])


class OpensThreeTimes(OpensOnce):
    times = 0

    def initialize(self, session_key, config):
        type(self).times += 1
        if self.times > 3:
            raise RuntimeError("no handle is left")
        Journal.initialize(self, session_key, config)


class KnowsOneHome(OpensOnce):
    """A process has one home, and a job none."""

    home = ""

    def initialize(self, session_key, config):
        type(self).home = self.home or config["home"]
        if self.home != config["home"] or config["agent_context"] == "cron":
            raise RuntimeError("no such home")
        Journal.initialize(self, session_key, config)


class RefusesWhatItDoesNotKnow(Journal):
    def initialize(self, session_key, config):
        if "x_memproto_future" in config:
            raise RuntimeError("an unknown key")
        super().initialize(session_key, config)


@pytest.fixture
def run_of(tmp_path):
    """A function that gives a run of a provider of this file."""
    with (tmp_path / "wire").open("wb") as file:

        def begin(kind):
            home = tmp_path / "root" / "home"
            home.parent.mkdir()
            run = Run(kind, NATIVE, home, Watch(Wire(file.fileno())), Context())
            for name in ("opened", "times", "home"):
                if name in vars(kind):
                    setattr(kind, name, type(vars(kind)[name])())
            return run

        yield begin


def test_a_home_that_opens_once_is_closed_to_every_context(run_of):
    with pytest.raises(Untestable, match="another session does not begin as usual either"):
        contexts.every_context_starts(run_of(OpensOnce))


def test_one_that_opens_so_often_that_a_context_comes_too_late_is_not_asked_about_it(run_of):
    with pytest.raises(Untestable, match="does not begin as usual either"):
        contexts.every_context_starts(run_of(OpensThreeTimes))


def test_a_context_that_is_refused_is_told_where_a_process_knows_one_home(run_of):
    with pytest.raises(Violation, match="'cron'"):
        contexts.every_context_starts(run_of(KnowsOneHome))


def test_an_unknown_key_is_no_reason_where_no_session_begins(run_of):
    run = run_of(OpensThreeTimes)
    for _ in range(3):
        run.close(run.open())
    with pytest.raises(Untestable, match="a session does not begin as usual either"):
        initialize.unknown_keys_are_no_obstacle(run)


def test_an_unknown_key_that_is_refused_is_told(run_of):
    with pytest.raises(Violation, match="further keys"):
        initialize.unknown_keys_are_no_obstacle(run_of(RefusesWhatItDoesNotKnow))
