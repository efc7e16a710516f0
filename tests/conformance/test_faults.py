"""The checks of backends that fail: who is concerned, what is reached, and kinds without mutant."""

import contextlib
import logging
import socket
import threading
import warnings
from pathlib import Path

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import faults
from memproto.errors import Unavailable
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.faults.bench import NothingBehind
from memproto.testing.needs import Backend, Setting
from memproto.testing.provider.extensions import TurnCount
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from tests.audit import AUDIT
from tests.good.journal import Journal
from tests.good.remote import Remote
from tests.good.remote.server import running

pytestmark = pytest.mark.once

#: Factor on the budgets; the provider's own timeouts are shorter still.
SCALE = 0.2

CHECKS = {
    name: check
    for module in (faults,)
    for name, check in vars(module).items()
    if getattr(check, "__module__", "") == module.__name__ and "_" in name and name[0] != "_"
}


class NoWire:
    def hook(self, operation, budget_s, *_):
        return contextlib.nullcontext(0.0)


@pytest.fixture(scope="module")
def audit():
    AUDIT.connects = None
    return AUDIT


@pytest.fixture
def server():
    with running() as yielded:
        yield yielded["config"]


@pytest.fixture
def run_of(tmp_path, audit):
    before = set(threading.enumerate())

    def build(factory, backend=None, **context):
        capabilities = {"stores": ["turns", "writes"], **context.pop("capabilities", {})}
        routes = {"turns": "declared", "writes": "declared", "tools": "absent"}
        told = Context(
            scale=SCALE, routes=routes, capabilities=capabilities, backend=backend, **context
        )
        run = Run(factory, NATIVE, tmp_path / "memory", Watch(NoWire(), scale=SCALE), told)
        run.audit, audit.connects = audit, None
        return run

    yield build
    left = [thread for thread in threading.enumerate() if thread not in before]
    assert not [thread.name for thread in left if thread.name == "kit-faults"]


class Hasty(Remote):
    recall_s = 0.3
    write_s = 0.2


@pytest.mark.parametrize("name", CHECKS)
def test_a_provider_that_connects_to_nothing_is_not_concerned(run_of, name):
    with pytest.raises(NotApplicable, match="opens no connection"):
        CHECKS[name](run_of(Journal))


@pytest.mark.parametrize("name", CHECKS)
def test_one_that_connects_is_untestable_without_the_setting(run_of, server, name):
    with pytest.raises(Untestable, match="connects to a backend") as found:
        CHECKS[name](run_of(Hasty, config=server))
    assert found.value.needs == (Setting("backend"),)


class Elsewhere(Hasty):
    """Reads its address where the setting does not say."""

    def initialize(self, session_key, config):
        super().initialize(session_key, {**config, "remote_url": config["other_url"]})


@pytest.mark.parametrize("name", CHECKS)
def test_a_setting_that_does_not_reach_the_provider_is_no_pass(run_of, server, name):
    told = {"other_url": server["remote_url"], **server}
    with pytest.raises(Untestable, match="the fault server saw no connection"):
        CHECKS[name](run_of(Elsewhere, ("config", "remote_url"), config=told))


class OpensOnce(Hasty):
    """Has its session of a process, and refuses another one whatever its backend does."""

    opened = 0

    def initialize(self, session_key, config):
        type(self).opened += 1
        if type(self).opened > 1:
            raise RuntimeError("this process has its session")
        super().initialize(session_key, config)
        with contextlib.suppress(Unavailable):
            self._entries()


def test_a_session_that_begins_with_no_backend_at_all_is_not_kept_from_it_by_a_fault(
    run_of, server
):
    run = run_of(OpensOnce, ("config", "remote_url"), config=server)
    with pytest.raises(Untestable, match="does not begin as usual either: RuntimeError"):
        faults.initialize_starts_without_its_backend(run)


class OneHome(Hasty):
    """Has its home for the life of the process, and needs its backend to start."""

    home = ""

    def initialize(self, session_key, config):
        type(self).home = self.home or config["home"]
        if self.home != config["home"]:
            raise RuntimeError("this process has its home")
        super().initialize(session_key, config)
        self._entries()


def test_one_that_knows_a_single_home_is_asked_again_in_that(run_of, server):
    run = run_of(OneHome, ("config", "remote_url"), config=server)
    with pytest.raises(Violation, match="starts a session while the backend answers 503"):
        faults.initialize_starts_without_its_backend(run)


class OneSessionAHome(Hasty):
    """Refuses the second session of each home, whatever its backend does."""

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        seen = Path(config["home"], "seen")
        if seen.exists():
            raise RuntimeError("this home was open before")
        seen.touch()
        with contextlib.suppress(Unavailable):
            self._entries()


def test_a_session_that_the_kit_had_to_learn_about_the_backend_counts_as_one(run_of, server):
    run = run_of(OneSessionAHome, config=server)
    with pytest.raises(Untestable, match="another session does not begin as usual either"):
        faults.initialize_starts_without_its_backend(run)


#: The requests show which texts are accepted, where nothing can come back.
_BY_REQUESTS = "what_is_accepted_while_the_backend_fails_is_stored"


@pytest.mark.parametrize(
    "name", ["a_backend_that_works_again_is_used_again", "a_late_answer_stores_nothing_twice"]
)
def test_what_is_stored_is_untestable_without_a_backend_behind_the_server(run_of, name):
    config = {"remote_url": "https://api.example.com/v1"}
    with pytest.raises(Untestable, match=r"api\.example\.com") as found:
        CHECKS[name](run_of(Hasty, ("config", "remote_url"), config=config))
    assert found.value.needs == (Backend(),)


def judged_by_requests(run_of, factory):
    config = {"remote_url": "https://api.example.com/v1"}
    CHECKS[_BY_REQUESTS](run_of(factory, ("config", "remote_url"), config=config))


class Lenient(Hasty):
    """Takes any answer of success for one."""

    def _ask(self, path, asked, within_s):
        try:
            return super()._ask(path, asked, within_s)
        except Unavailable as error:
            if "no entries" in str(error):
                return {"entries": []}
            raise


def test_what_is_refused_while_the_backend_is_away_need_not_be_sent_again(run_of):
    judged_by_requests(run_of, Lenient)


class DropsWithoutAWord(Lenient):
    def _send(self, change):
        with contextlib.suppress(Unavailable):
            super()._send(change)


def test_what_is_accepted_and_not_sent_again_is_lost_whatever_stands_behind(run_of, monkeypatch):
    # A good provider ends this wait itself; this one is waited for in vain.
    monkeypatch.setattr(faults, "_AGAIN_S", 5.0)
    with pytest.raises(Violation, match="texts were not, accepted under 429, 500, 503, a reset"):
        judged_by_requests(run_of, DropsWithoutAWord)


class AsksAsTheTurnBegins(DropsWithoutAWord):
    """Sends the user's words as a question first, which stores nothing."""

    def on_turn_start(self, turn_number, message, **kwargs):
        self.enrich_turn(message, [])


def test_a_question_about_a_text_is_not_the_text_that_is_sent_again(run_of, monkeypatch):
    monkeypatch.setattr(faults, "_AGAIN_S", 5.0)
    config = {"remote_url": "https://api.example.com/v1"}
    run = run_of(AsksAsTheTurnBegins, ("config", "remote_url"), config=config)
    run.watch.turns = TurnCount()
    with pytest.raises(Violation, match="texts were not, accepted under 429, 500, 503, a reset"):
        CHECKS[_BY_REQUESTS](run)


class SendsLater(Lenient):
    waiting = []  # noqa: RUF012 - for all sessions of the test

    def _send(self, change):
        self.waiting.append(change)
        with contextlib.suppress(Unavailable):
            while self.waiting:
                super()._send(self.waiting[0])
                del self.waiting[0]


def test_what_waits_in_a_queue_until_the_backend_works_is_sent(run_of):
    judged_by_requests(run_of, SendsLater)


class TriesAgainLater(Lenient):
    """Keeps what was refused, and goes on to send it after some more calls of one hook."""

    hook, pause = "", 0

    def _send(self, change):
        try:
            super()._send(change)
        except Unavailable:
            self.waiting.append(change)

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self._called("initialize")

    def enrich_turn(self, user_message, messages):
        self._called("enrich_turn")
        return super().enrich_turn(user_message, messages)

    def _called(self, hook):
        kind = type(self)
        if hook == self.hook and self.waiting:
            kind.pause -= 1
        if kind.pause <= 0:
            while self.waiting:
                Lenient._send(self, self.waiting.pop())


@pytest.mark.parametrize("hook", ["enrich_turn", "initialize"])
def test_what_is_sent_after_a_pause_or_at_a_later_start_is_not_lost(run_of, monkeypatch, hook):
    monkeypatch.setattr(faults, "_AGAIN_S", 5.0)
    factory = type("Later", (TriesAgainLater,), {"hook": hook, "pause": 3, "waiting": []})
    judged_by_requests(run_of, factory)
    assert factory.pause <= 0
    assert not factory.waiting


class SaysThatTheAnswerIsNone(DropsWithoutAWord):
    def _ask(self, path, asked, within_s):
        logging.getLogger("wants").warning("no number in the answer")
        return super()._ask(path, asked, within_s)


@pytest.mark.parametrize("factory", [Hasty, SaysThatTheAnswerIsNone])
def test_one_that_does_not_take_the_answer_for_a_success_is_not_judged_by_it(run_of, factory):
    with pytest.raises(NothingBehind) as found:
        judged_by_requests(run_of, factory)
    assert found.value.needs == (Backend(),)


class ByTlsAlone(Remote):
    def initialize(self, session_key, config):
        if config["remote_url"].startswith("http:"):
            raise ValueError("the address is none of https")
        super().initialize(session_key, config)


def test_one_that_refuses_the_address_of_the_kit_is_not_said_to_fail_with_its_backend(run_of):
    run = run_of(ByTlsAlone, ("config", "remote_url"))
    with pytest.raises(Untestable, match="saw no connection"):
        faults.initialize_starts_without_its_backend(run)


def test_a_variable_of_the_environment_serves_as_well(run_of, monkeypatch):
    class ByVariable(Hasty):
        def initialize(self, session_key, config):
            import os

            super().initialize(session_key, {**config, "remote_url": os.environ["REMOTE_URL"]})

    monkeypatch.delenv("REMOTE_URL", raising=False)
    faults.an_error_is_no_memory(run_of(ByVariable, ("env", "REMOTE_URL")))


# -- reports ---------------------------------------------------------------------------------------


class Dropping(Hasty):
    def _send(self, change):
        with contextlib.suppress(Unavailable):
            super()._send(change)


class SaysItInTheLog(Dropping):
    """Says it in the log, by a logger that hands nothing up."""

    def _send(self, change):
        try:
            Hasty._send(self, change)
        except Unavailable:
            logging.getLogger("tests.apart").warning("the server is away")


class SaysItInTheStatus(Dropping):
    """Says it by the extension `status`."""

    lost = 0

    def _send(self, change):
        try:
            Hasty._send(self, change)
        except Unavailable:
            self.lost += 1

    def recall_status(self):
        return {"state": "degraded" if self.lost else "ok", "lost_writes": self.lost}

    def unavailable_reason(self):
        return ""


@pytest.mark.parametrize("factory", [Hasty, SaysItInTheLog, SaysItInTheStatus])
def test_a_report_is_an_error_a_warning_or_a_status(run_of, monkeypatch, factory):
    monkeypatch.setattr(logging.getLogger("tests.apart"), "propagate", False)
    told = {"extensions": ["status"] if factory is SaysItInTheStatus else []}
    run = run_of(factory, ("config", "remote_url"), capabilities=told)
    faults.a_failing_backend_is_reported(run)


def test_silence_is_none(run_of):
    with pytest.raises(Violation, match="nothing was said"):
        faults.a_failing_backend_is_reported(run_of(Dropping, ("config", "remote_url")))


class Batching(Hasty):
    """Sends nothing before there is enough of it."""

    def _send(self, change):
        pass


def test_a_provider_that_sent_nothing_has_nothing_to_report(run_of):
    run = run_of(Batching, ("config", "remote_url"))
    with pytest.raises(NotApplicable, match="nothing that was written was sent"):
        faults.a_failing_backend_is_reported(run)


# -- connections -----------------------------------------------------------------------------------


def test_connections_and_lookups_of_hosts_are_counted(audit):
    before = audit.connections
    with socket.socket() as one, contextlib.suppress(OSError):
        one.connect(("127.0.0.1", 9))
    with contextlib.suppress(OSError):
        socket.getaddrinfo("localhost", 443)
    assert audit.connections == before + 2


def test_sockets_of_this_process_and_files_are_not_counted(audit, tmp_path):
    before = audit.connections
    with warnings.catch_warnings(), socket.create_server(("127.0.0.1", 0)):
        warnings.simplefilter("error")
    with socket.socket(socket.AF_UNIX) as one, contextlib.suppress(OSError):
        one.connect(str(tmp_path / "none"))
    assert audit.connections == before
