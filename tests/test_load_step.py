"""What the load step refuses, what it notes, and whose doing a failed load is."""

import importlib
import os
import platform
import socket
import subprocess
import sys

import pytest

from memproto.errors import MissingPackage, TargetDoesNotImport
from memproto.testing import sandbox
from memproto.testing.load_step import LoadStep
from tests.audit import AUDIT


@pytest.fixture
def root(tmp_path):
    sandbox.places(tmp_path)
    return tmp_path


@pytest.fixture
def step():
    return LoadStep(audit=AUDIT)


def test_a_program_is_refused_as_if_it_were_not_there(step, root):
    with pytest.raises(FileNotFoundError):
        step.take(lambda: subprocess.run(["true"], check=False), root)
    assert step.programs[0].startswith("subprocess.Popen true at ")
    assert "test_load_step.py" in step.programs[0]
    assert subprocess.run(["true"], check=False).returncode == 0


def test_a_connection_is_refused_as_if_nobody_listened(step, root):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with pytest.raises(ConnectionRefusedError):
            step.take(lambda: socket.create_connection(address), root)
        assert str(address) in step.connections[0]
        socket.create_connection(address).close()


def test_a_look_up_is_refused_unless_it_stays_on_the_machine(step, root):
    step.take(lambda: socket.getaddrinfo("localhost", 80), root)
    assert not step.connections
    with pytest.raises(OSError, match="memproto"):
        step.take(lambda: socket.getaddrinfo("backend.example", 80), root)
    assert "'backend.example'" in step.connections[0]


def test_a_bound_socket_reaches_nobody(step, root):
    with socket.socket() as mine:
        step.take(lambda: mine.bind(("127.0.0.1", 0)), root)
    assert not step.connections


def test_what_the_standard_library_asks_about_the_machine_is_let_through(step, root):
    step.take(platform.processor, root)
    assert not step.programs


def test_what_is_printed_is_noted_and_let_through(step, root, capfd, monkeypatch):
    # As in a child, and not as pytest has it: on the first descriptor, with a buffer of its own.
    monkeypatch.setattr(sys, "stdout", open(1, "w", closefd=False))  # noqa: SIM115 - as a child has it

    def load():
        sys.stdout.write("from python\n")
        sys.stdout.flush()
        os.write(1, b"from below\n")

    step.take(load, root)
    assert step.printed == "from python\nfrom below"
    assert capfd.readouterr().out == "from python\nfrom below\n"


def test_files_and_folders_are_named_as_a_reader_knows_them(step, root):
    (root / "memory" / "old").write_text("x")

    def load():
        (root / "user" / ".mine").mkdir()
        (root / "memory" / "old").unlink()
        (root / "tmp" / "scratch").write_text("x")

    step.take(load, root)
    assert step.files == ["removed $HERMES_HOME/old", "created ~/.mine"]


def test_a_new_variable_is_no_change_and_another_value_is_one(step, root, monkeypatch):
    monkeypatch.setenv("MINE_KNOWN", "1")

    def load():
        monkeypatch.setenv("MINE_KNOWN", "2")
        monkeypatch.setenv("MINE_NEW", "1")

    step.take(load, root)
    assert step.changed == ["environment variable MINE_KNOWN: '1' became '2'"]


def test_a_load_that_fails_after_a_refusal_is_blamed_on_what_was_refused(step, root):
    with pytest.raises(FileNotFoundError):
        step.take(lambda: subprocess.run(["true"], check=False), root)
    result = step.blamed(TargetDoesNotImport("x", "raises ImportError: Bad executable", "fix"))
    assert (result.id, result.outcome) == ("MP-LOAD-003", "fail")
    assert "refused, and then the target raises ImportError" in result.observed


def test_a_missing_package_is_the_users_affair_whatever_was_refused(step, root):
    with pytest.raises(FileNotFoundError):
        step.take(lambda: subprocess.run(["true"], check=False), root)
    assert step.blamed(MissingPackage("x", "needs y", "fix")) is None


def test_a_load_that_fails_by_itself_is_blamed_on_nothing_else(step):
    assert step.blamed(ValueError("x")) is None


def test_whether_the_host_was_sought_is_known(step, root):
    def load():
        try:
            import agent.memory_provider  # noqa: F401 - nothing of that name is there
        except ModuleNotFoundError:
            return sys.version
        return None

    step.take(load, root)
    assert step.sought_host


FACTORY = """
import subprocess, sys
sys.path.insert(0, "{folder}")

def _helper():
    return subprocess.run(["true"]).returncode

def make():
    _helper()
    from starting import Memory
    return Memory()
"""

PROVIDER = """
import subprocess
from tests.good.journal import Journal

class Memory(Journal):
    def __init__(self):
        super().__init__()
        {does}
"""


@pytest.mark.parametrize(
    ("does", "blamed"), [("pass", 0), ("subprocess.run(['false'], check=False)", 1)]
)
def test_a_program_of_the_users_factory_runs_and_one_of_the_provider_is_refused(
    root, tmp_path, monkeypatch, does, blamed
):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine_factory", "starting"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "mine_factory.py").write_text(FACTORY.format(folder=tmp_path), encoding="utf-8")
    (tmp_path / "starting.py").write_text(PROVIDER.format(does=does), encoding="utf-8")
    step = LoadStep(audit=AUDIT, factory="mine_factory:make", package="starting")
    make = lambda: importlib.import_module("mine_factory").make()  # noqa: E731 - it is imported late
    if blamed:
        with pytest.raises(FileNotFoundError):
            step.take(make, root)
    else:
        step.take(make, root)
    assert len(step.programs) == blamed
