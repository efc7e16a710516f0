"""A run's files go with it, however it ends; those that a killed one left go with the next."""

import fcntl
import os
import signal
import subprocess
import sys

import psutil
import pytest

from memproto import spec
from memproto.testing import patience
from memproto.testing.judging.judge import Judge
from memproto.testing.processes import roots, vitals
from memproto.testing.settings.order import Order
from tests.kit_runs import ROOT, kit, write

pytestmark = pytest.mark.once

#: Loads in any time, and opens a session that says so and waits for ever.
WAITS = """
import pathlib, threading
from tests.good.journal import Journal
class Mine(Journal):
    def initialize(self, session_key, config):
        pathlib.Path({mark!r}).touch()
        threading.Event().wait()
"""

#: Runs that end before a target is met.
USAGE = {
    "an unknown requirement": ("--memproto=builtin", "--memproto-clause=MP-NONE-001"),
    "settings that are none": ("--memproto=mine:Mine",),
    "a target that is not found": ("--memproto=builtin", "--memproto=nosuchpackage"),
}


@pytest.mark.parametrize("words", USAGE.values(), ids=USAGE)
def test_a_run_that_was_not_asked_for_well_leaves_nothing(tmp_path, words):
    write(tmp_path, memproto__toml="unheard = 1\n" if "mine:Mine" in words[0] else "")
    (places := tmp_path / "places").mkdir()
    assert kit(tmp_path, *words, TMPDIR=str(places)).returncode == 4
    assert list(places.iterdir()) == []


@pytest.fixture
def begun(tmp_path):
    """A run in a group of its own that stands in a hook, and where its directory is."""
    mark, places = tmp_path / "opened", tmp_path / "places"
    places.mkdir()
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    write(tmp_path, mine__py=WAITS.format(mark=str(mark)))
    command = [sys.executable, "-m", "pytest", "--memproto=mine"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment = {**kept, "TMPDIR": str(places)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert patience.happens(mark.exists, 60)
        yield process, places
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_run_that_is_ended_by_a_signal_to_all_of_it_leaves_nothing(begun, name, times):
    process, places = begun
    assert list(places.glob("memproto-*"))
    for _ in range(times):
        os.killpg(process.pid, signal.Signals[name])
    assert process.wait(60) == pytest.ExitCode.INTERRUPTED
    assert list(places.iterdir()) == []


def test_what_a_killed_run_left_goes_with_the_next_one(begun, monkeypatch):
    process, places = begun
    (left,) = places.glob("memproto-*")
    monkeypatch.setattr("tempfile.tempdir", str(places))
    roots.remove(roots.new_root())
    assert left.is_dir(), "the run lives"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert patience.happens(lambda: _is_free(left), 20)
    roots.remove(roots.new_root())
    assert list(places.iterdir()) == []


def _is_free(root):
    """True if nobody holds the directory: the inner run is gone a moment after the outer one."""
    try:
        with roots._taken_over(root):
            return True
    except BlockingIOError:
        return False


def test_no_run_that_begins_can_be_taken_for_a_dead_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    flock, unlocked = fcntl.flock, []

    def look(*args):
        unlocked.append(list(tmp_path.glob("memproto-*/owner.lock")))
        flock(*args)

    monkeypatch.setattr(fcntl, "flock", look)
    roots.remove(roots.new_root())
    assert unlocked[0] == []


def test_directories_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "memproto-notes").mkdir()
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "owner.lock").touch()
    (tmp_path / "memproto-link").symlink_to(elsewhere)
    (tmp_path / "memproto-file").touch()
    roots.remove(roots.new_root())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"memproto-notes", "memproto-link", "memproto-file", "elsewhere"}
    assert (elsewhere / "owner.lock").exists()


# -- processes -------------------------------------------------------------------------------------

DISOWNS = """
import subprocess, sys
from tests.good.journal import Journal
CODE = "import subprocess; subprocess.Popen(['sleep', '600'])"
class Mine(Journal):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        subprocess.run([sys.executable, "-c", CODE], start_new_session=True, check=True)
"""


def test_what_a_process_disowned_ends_before_the_next_one_begins(tmp_path):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    write(tmp_path, mine__py=DISOWNS)
    judge = Judge(Order("mine:Mine", directory=tmp_path), tmp_path)

    def disowned():
        here = [one for one in psutil.process_iter() if vitals.belongs(one, tmp_path)]
        return [one for one in here if one.name() == "sleep"]

    try:
        judge.run(spec.requirement("MP-SHUT-001"))
        assert disowned()
        judge._children.start()
        assert patience.happens(lambda: not disowned(), 20)
        watched = judge._children.take()
        judge._children.start()
        assert watched.alive, "it is looked at by somebody else"
        watched.kill()
    finally:
        judge.close()
