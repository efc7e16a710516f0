"""A server that a provider runs itself is a part of it; one of somebody else's is a backend."""

import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.report import needs
from memproto.testing.faults import peers
from memproto.testing.judging.judge import judge
from memproto.testing.outcomes import Outcome
from memproto.testing.settings.order import Order
from memproto.testing.settings.settings import Settings
from tests.kit_runs import ROOT

RULES = spec.select(["MP-FAULT"], "provider")


def judged(name, **settings):
    """The outcome of each rule on backends that fail, and the reasons."""
    order = Order(f"tests.good.served:{name}", settings=Settings(**settings), directory=ROOT)
    results = {item.id: item for item in judge(order, RULES)}
    asked = [results[rule.id] for rule in RULES]
    return {item.outcome for item in asked}, " | ".join(map(needs.reason, asked))


@pytest.mark.parametrize(
    "name",
    [
        "InThread",
        "AtFirstCall",
        "OnSix",
        "Shared",
        "InProcess",
        "OnFixedPort",
        "Disowned",
    ],
)
def test_a_server_that_the_provider_runs_is_a_part_of_it_and_no_backend(name):
    outcomes, said = judged(name)
    assert outcomes == {Outcome.NOT_APPLICABLE}, said
    assert "nothing but what it runs itself" in said


@pytest.mark.once
@pytest.mark.parametrize("name", ["OnFile", "OverPipes"])
def test_one_that_is_reached_by_no_network_is_none_either(name):
    outcomes, said = judged(name)
    assert outcomes == {Outcome.NOT_APPLICABLE}, said
    assert "opens no connection" in said


@pytest.mark.once
@pytest.mark.parametrize(
    "name", ["Relayed", "RelayedOnFile", "RelayedInThread", "Beside", "Elsewhere"]
)
def test_what_somebody_else_runs_is_a_backend_whatever_stands_before_it(name):
    outcomes, said = judged(name, service="tests.good.served:running")
    assert outcomes == {Outcome.UNTESTABLE}, said
    assert "needs: the setting `backend`" in said
    assert "127.0.0.1:" in said


@pytest.mark.once
def test_a_stand_in_that_a_factory_of_the_settings_starts_is_a_backend():
    outcomes, said = judged(
        "InThread", factory="tests.testing.faults.test_peers:beside_its_backend"
    )
    assert outcomes == {Outcome.UNTESTABLE}, said


def beside_its_backend():
    from tests.good.served import Elsewhere, running

    with_server = running()
    upstream = with_server.__enter__()["config"]["upstream"]

    class Made(Elsewhere):
        _kept = with_server

        def initialize(self, session_key, config):
            super().initialize(session_key, {**config, "upstream": upstream})

    return Made()


#: Connects to a server as soon as it is told to, for no longer than that takes.
BRIEF = """
import socket, sys
print("ready", flush=True)
sys.stdin.readline()
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
"""


class Heard:
    reaching = None


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's tables of Linux")
@pytest.mark.parametrize("is_confined", [True, False])
def test_a_connection_that_no_look_has_seen_is_known_where_nobody_else_can_have_made_it(
    tmp_path, monkeypatch, is_confined
):
    monkeypatch.setattr(peers.Look, "_keep_looking", lambda look: look._over.wait())
    run = SimpleNamespace(root=tmp_path / "root", loading={}, build=None, is_confined=is_confined)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        look = peers.Look(run, Heard())
        with look.watching():
            words = [sys.executable, "-c", BRIEF, str(port)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with subprocess.Popen(words, **pipes) as helper:
                assert helper.stdout.readline() == "ready\n"
                look._look(searches=True)
                helper.stdin.write("go\n")
                helper.stdin.flush()
                server.accept()[0].close()
                assert helper.wait(30) == 0
    # This process is not confined in truth: others of the machine are seen as well.
    said = f"127.0.0.1:{port} by a process, which it started"
    assert (said in look.found().backends) is is_confined
