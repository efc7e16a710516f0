"""A server that stands in for a backend which is not there: whom it reaches, and what it tells."""

import contextlib
import http.client
import queue
import socket
import ssl
import threading
from urllib.parse import urlsplit

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import faults
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.faults import modes
from memproto.testing.faults.server import FaultServer
from memproto.testing.faults.standin import StandIn
from memproto.testing.needs import Setting
from memproto.testing.provider import subject
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from tests.audit import AUDIT
from tests.good.journal import Journal

pytestmark = pytest.mark.once

#: Factor on the budgets: 0.5 s for recall, 1.5 s for a write and for the end; and the one for a
#: provider that is to be in time on a busy machine as well.
SCALE, WIDE = 0.1, 1.0

TIMELY = {
    "recall": faults.recall_is_in_time_while_the_backend_is_stuck,
    "write": faults.writes_are_in_time_while_the_backend_is_stuck,
    "shutdown": faults.shutdown_is_in_time_while_the_backend_is_silent,
    "start": faults.initialize_starts_without_its_backend,
}

AWAY = "https://memory.example.com/v1"


@pytest.fixture(scope="module")
def audit():
    return AUDIT


@pytest.fixture
def run_of(tmp_path, audit, monkeypatch):
    # A call that takes twice its time does so on a busy machine as well.
    monkeypatch.setattr(subject.noise, "excuse", lambda *_: "")

    def build(factory, scale=SCALE):
        told = Context(
            scale=scale,
            routes={"turns": "declared", "writes": "declared", "tools": "absent"},
            capabilities={"stores": ["turns", "writes"]},
        )
        run = Run(factory, NATIVE, tmp_path / "memory", Watch(NoWire(), scale=scale), told)
        run.audit, audit.connects = audit, None
        return run

    return build


class NoWire:
    def hook(self, operation, budget_s, *_):
        return contextlib.nullcontext(0.0)


class Distant(Journal):
    """Asks a service about everything, each time on a new connection, and goes on without it."""

    url = AWAY
    # Shorter than the pause between two bytes of a slow answer.
    recall_s, write_s, close_s = 0.1, 0.1, 0.0

    def ask(self, within_s):
        if not within_s:
            return
        place = urlsplit(self.url)
        known = {"https": http.client.HTTPSConnection, "http": http.client.HTTPConnection}
        connection = known[place.scheme](place.netloc, timeout=within_s)
        lost = contextlib.suppress(OSError, http.client.HTTPException)
        with contextlib.closing(connection), lost:
            connection.request("GET", "/")
            connection.getresponse().read()

    def enrich_turn(self, user_message, messages):
        self.ask(self.recall_s)
        return super().enrich_turn(user_message, messages)

    def on_memory_write(self, *args, **kwargs):
        self.ask(self.write_s)
        return super().on_memory_write(*args, **kwargs)

    def shutdown(self):
        self.ask(self.close_s)
        super().shutdown()


class Near(Distant):
    """Its service is one of this machine, and does not run."""

    url = "http://localhost:9"


class Loud(Distant):
    """Raises out of initialize where its service is away."""

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        place = urlsplit(self.url)
        with socket.create_connection((place.hostname, 443), timeout=0.2) as connection:
            connection.recv(1)


@pytest.mark.parametrize("name", TIMELY)
@pytest.mark.parametrize("factory", [Distant, Near])
def test_a_provider_with_timeouts_passes_without_the_setting(run_of, factory, name):
    TIMELY[name](run_of(factory, WIDE))


@pytest.mark.parametrize("url", [AWAY, "http://memory.example.com", "http://127.0.0.1:9"])
def test_a_recall_that_waits_for_a_silent_service_is_late_without_the_setting(run_of, url):
    factory = type("Patient", (Distant,), {"url": url, "recall_s": 1.0})
    with pytest.raises(Violation, match="while the backend accepts connections"):
        TIMELY["recall"](run_of(factory))


def test_so_is_a_write(run_of):
    factory = type("Patient", (Near,), {"write_s": 2.0})
    with pytest.raises(Violation, match="on_memory_write returns or raises within"):
        TIMELY["write"](run_of(factory))


def test_so_is_the_end(run_of):
    factory = type("Patient", (Distant,), {"close_s": 8.0})
    # Recall is to be in time on a busy machine.
    with pytest.raises(Violation, match="shutdown returns or raises within"):
        TIMELY["shutdown"](run_of(factory, 4 * SCALE))


def test_a_start_that_raises_is_seen_without_the_setting(run_of):
    with pytest.raises(Violation, match="initialize starts a session while the backend"):
        TIMELY["start"](run_of(Loud))


def test_a_status_is_not_asked_of_a_service_that_may_speak_tls(run_of):
    with pytest.raises(Untestable, match=r"connects to a backend$") as found:
        faults.an_error_is_no_memory(run_of(Distant))
    assert found.value.needs == (Setting("backend"),)


def test_a_service_that_answers_on_this_machine_is_left_alone(run_of):
    answering = FaultServer(modes.status(200, {}))
    factory = type("Served", (Distant,), {"url": f"http://127.0.0.1:{answering.port}"})
    with contextlib.closing(answering), pytest.raises(Untestable) as found:
        TIMELY["recall"](run_of(factory))
    assert found.value.needs == (Setting("backend"),)
    assert answering.requests


class SendsInTheBackground(Distant):
    """Its worker connects when all hooks of the turn have returned."""

    url = "http://memory.example.com"
    recall_s = write_s = 0.0

    def __init__(self):
        super().__init__()
        self._sent = []

    def on_turn_complete(self, user_message, assistant_response):
        super().on_turn_complete(user_message, assistant_response)
        sender = threading.Timer(0.05, self.ask, [0.1])
        sender.daemon = True
        self._sent.append(sender)
        sender.start()

    def shutdown(self):
        for sender in self._sent:
            sender.cancel()
            # One that is past its wait would reach the server of the next test.
            sender.join(5.0)
        super().shutdown()


def test_a_worker_that_connects_later_is_waited_for(run_of):
    with pytest.raises(Untestable, match="connects to a backend"):
        faults.an_error_is_no_memory(run_of(SendsInTheBackground))


@pytest.fixture
def reached():
    """The ports of those that reach the server, as they come, while it holds every address."""
    ports = queue.SimpleQueue()
    server = FaultServer(lambda link: ports.put(link.socket.getpeername()[1]))
    place = StandIn({"key": "value"})
    with contextlib.closing(server), place.holding(place.address(server.port)) as config:
        assert config == {"key": "value"}
        yield ports


def test_a_name_that_nobody_knows_leads_to_the_server(reached):
    with socket.create_connection(("memory.example.com", 443), timeout=5) as named:
        own = {named.getsockname()[1]}
        with socket.socket() as numbered:
            assert numbered.connect_ex(("10.1.2.3", 80)) == 0
            own.add(numbered.getsockname()[1])
            # The addresses of the whole process are held: a thread of another test may come too.
            while own:
                own.discard(reached.get(timeout=5))


def test_files_and_datagrams_go_where_they_went(reached):
    left, right = socket.socketpair()
    with left, right, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("127.0.0.1", 9))
        assert one.getpeername() == ("127.0.0.1", 9)


def test_what_was_replaced_is_put_back():
    def now():
        return [vars(socket.socket).get(name) for name in ("connect", "connect_ex")]

    before, looking_up = now(), socket.getaddrinfo
    with StandIn({}).holding("127.0.0.1:9"):
        assert now() != before
        assert socket.getaddrinfo is not looking_up
    assert now() == before
    assert socket.getaddrinfo is looking_up


def test_a_client_that_speaks_tls_is_cut_off_at_once_or_kept_waiting():
    for mode, error in ((modes.status(503), OSError), (modes.drip, TimeoutError)):
        with contextlib.closing(FaultServer(mode)) as server:
            plain = socket.create_connection(("127.0.0.1", server.port), timeout=1)
            with plain, pytest.raises(error) as caught:
                ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")
            assert isinstance(caught.value, TimeoutError) == (mode is modes.drip)
    assert not [thread for thread in threading.enumerate() if thread.name == "kit-faults"]
