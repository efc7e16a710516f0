"""The load step: its refusals, its notes, and the party to whom a failed load is due."""

import functools
import importlib
import os
import platform
import socket
import subprocess
import sys
import threading

import pytest

from memproto import spec
from memproto.errors import MissingPackage, TargetDoesNotImport
from memproto.testing import clauses
from memproto.testing.context import Context
from memproto.testing.instruments.imports import Traces
from memproto.testing.instruments.load_step import LoadStep
from memproto.testing.judging import attribution
from memproto.testing.judging.events import LoadRefused
from memproto.testing.processes import sandbox
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from tests.audit import AUDIT
from tests.good.journal import Journal


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
    refused = step.refused_before(
        TargetDoesNotImport("x", "raises ImportError: Bad executable", "fix")
    )
    (result,) = attribution.attribute(LoadRefused(check="", seen=refused))
    assert (result.id, result.outcome) == ("MP-LOAD-003", "fail")
    assert "refused, and then the target raises ImportError" in result.observed


def test_a_missing_package_is_the_users_affair_whatever_was_refused(step, root):
    with pytest.raises(FileNotFoundError):
        step.take(lambda: subprocess.run(["true"], check=False), root)
    assert step.refused_before(MissingPackage("x", "needs y", "fix")) is None


def test_a_load_that_fails_by_itself_is_blamed_on_nothing_else(step):
    assert step.refused_before(ValueError("x")) is None


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


LOUD_FACTORY = """
import os, threading
from pathlib import Path

STOP = threading.Event()

def make():
    print("the factory prints")
    os.environ["LANG"] = "C"
    Path.home().joinpath("made-by-the-factory").write_text("x")
    from leaving import Memory
    print("the factory goes on")
    {more}
    return Memory()
"""

LEAVING = """
import os, threading
from pathlib import Path
from tests.good.journal import Journal

STOP = threading.Event()

class Memory(Journal):
    pass

{does}
"""

DOES = """
print("the package prints")
os.environ["TZ"] = "UTC"
Path.home().joinpath("made-by-the-package").write_text("x")
threading.Thread(target=STOP.wait, name="of-the-package").start()
"""


@pytest.fixture
def by_factory(root, tmp_path, monkeypatch):
    before = set(threading.enumerate())
    yield functools.partial(loaded_by_factory, tmp_path, monkeypatch, root)
    for name in ("loud_factory", "leaving"):
        sys.modules[name].STOP.set()
    # The system gives the number of an ended thread to the next one, which is then no new one.
    for thread in set(threading.enumerate()) - before:
        thread.join()


def loaded_by_factory(tmp_path, monkeypatch, root, *, does="", more=""):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOME", str(sandbox.places(root)["user"]))
    monkeypatch.setenv("LANG", "en")
    monkeypatch.setenv("TZ", "CET")
    for name in ("loud_factory", "leaving"):
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
    (tmp_path / "loud_factory.py").write_text(LOUD_FACTORY.format(more=more), encoding="utf-8")
    (tmp_path / "leaving.py").write_text(LEAVING.format(does=does), encoding="utf-8")
    step = LoadStep(audit=AUDIT, factory="loud_factory:make", package="leaving")
    make = lambda: importlib.import_module("loud_factory").make()  # noqa: E731 - imported late
    # As in a kit child, whose output no test runner holds.
    with open(1, "w", closefd=False, encoding="utf-8") as output, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        step.take(make, root)
    return step


def test_what_a_package_does_when_a_factory_imports_it_is_the_packages(by_factory):
    step = by_factory(does=DOES)
    assert step.imported.printed == "the package prints"
    assert step.imported.files == ["created ~/made-by-the-package"]
    assert step.imported.changed == ["environment variable TZ: 'CET' became 'UTC'"]
    assert len(step.imported.threads) == 1
    assert "the factory prints" in step.printed
    assert not any(hasattr(finder, "watched") for finder in sys.meta_path)
    assert "exec_module" not in vars(sys.modules["leaving"].__loader__)


def test_what_a_factory_does_is_not_the_packages(by_factory):
    step = by_factory()
    assert step.imported == Traces()
    assert "the factory goes on" in step.printed
    assert step.files == ["created ~/made-by-the-factory"]


@pytest.mark.parametrize(
    ("does", "outcome"),
    [(DOES, {"fail", "warn"}), ("", {"not_applicable"})],
)
def test_under_a_factory_the_rules_judge_the_import_alone(root, by_factory, does, outcome):
    more = "threading.Thread(target=STOP.wait).start()"
    step = by_factory(does=does, more=more)
    watch = Watch(type("Wire", (), {"send": lambda *_: None})())
    run = Run(Journal, "native", root / "memory", watch, Context())
    run.load_step = step
    checks = clauses.checks("provider")
    for number in (4, 5, 6, 7):
        name = f"MP-LOAD-00{number}"
        (result, *_) = attribution.judge(
            spec.requirement(name), lambda n=name: checks[n].function(run), run
        )
        assert str(result.outcome) in outcome, (name, result)
