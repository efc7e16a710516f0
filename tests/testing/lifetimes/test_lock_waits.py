"""The file whose lock a process waits for is named."""

import fcntl
import subprocess
import sys

import pytest

from memproto.testing import patience
from memproto.testing.lifetimes.lock_waits import waited_for

WAITS = "import fcntl, sys; fcntl.{}(open(sys.argv[1], 'r+'), fcntl.LOCK_EX)"
OPENS = "import sys; held = open(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def files(tmp_path):
    """A file beside a database, both locked by this process."""
    paths = [tmp_path / "memory.db.init.lock", tmp_path / "memory.db"]
    for path in paths:
        path.touch()
    held = [path.open("r+") for path in paths]
    for file in held:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
    yield [str(path) for path in paths]
    for file in held:
        file.close()


@pytest.mark.parametrize("way", ["flock", "lockf"])
def test_a_call_that_waits_names_its_file(files, way):
    with subprocess.Popen([sys.executable, "-c", WAITS.format(way), files[0]]) as other:
        expected = "it waited for the lock on memory.db.init.lock"
        deadline = patience.Deadline(30.0, 1.0)
        try:
            assert patience.happens_by(lambda: waited_for(other.pid, files) == expected, deadline)
        finally:
            other.kill()


def test_one_that_asks_again_and_again_is_known_by_what_it_has_open(files):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", OPENS, files[1]], **pipes) as other:
        assert other.stdout.readline() == b"open\n"
        assert waited_for(other.pid, files) == "of the locked files it had memory.db open"
        assert waited_for(other.pid, files[:1]) == ""
        other.stdin.close()
