"""A look at a file takes no lock from a connection that this process has open."""

import os
import sqlite3
import subprocess
import sys

import pytest

from memproto.testing.facts import Facts
from memproto.testing.lifetimes import store_files
from memproto.testing.processes import contents

#: Exit code 0 if another process may write to the database.
WRITES = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("INSERT INTO entries VALUES ('other')")
except sqlite3.OperationalError:
    sys.exit(1)
"""


@pytest.fixture
def database(tmp_path):
    """A database with a fact, which a transaction of this process holds."""
    fact = Facts(1).new()
    path = tmp_path / "memory.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE entries (text)")
    connection.execute("INSERT INTO entries VALUES (?)", (fact.text,))
    connection.execute("BEGIN EXCLUSIVE")
    yield path, fact
    connection.close()


def may_write(path):
    return subprocess.run([sys.executable, "-c", WRITES, path], check=False).returncode == 0


def test_a_look_for_facts_leaves_the_lock(database):
    path, fact = database
    assert store_files.found_in(path, [fact]) == [fact]
    assert store_files.holds(path, [fact])
    assert not may_write(path)


def test_a_copy_leaves_it_as_well(database, tmp_path):
    path, _ = database
    contents.copy(str(path), str(tmp_path / "copy.db"))
    assert (tmp_path / "copy.db").stat().st_mode == path.stat().st_mode
    assert not may_write(path)
    # An ordinary look takes it, which is what this is about.
    assert (tmp_path / "copy.db").read_bytes() == path.read_bytes()
    assert may_write(path)


def test_a_file_that_nobody_holds_is_read_here(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_read_by_another", None)
    path = tmp_path / "a"
    path.write_bytes(b"0123")
    assert (contents.read(path), contents.read(path, 2)) == (b"0123", b"01")


def test_one_that_is_open_is_read_to_its_bound_whatever_its_name(tmp_path):
    path = os.fsencode(tmp_path) + b"/-\xff n"
    with open(path, "wb") as file:  # noqa: PTH123 - no text
        file.write(b"x" * 200_000 + b"y")
        file.flush()
        assert contents.is_open(path)
        assert len(contents.read(path)) == 200_001
        assert contents.read(path, 3) == b"xxx"


def test_a_file_that_is_not_there_is_no_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        contents.read(tmp_path / "none")
