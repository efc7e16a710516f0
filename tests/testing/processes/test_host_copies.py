"""Hosts are copies of a template, and nothing tells them from interpreters of their own."""

import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from memproto.testing.processes import copy as copied
from memproto.testing.processes import host_copies
from tests.kit_runs import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a template on Linux only")


#: Copies of one test.
EVERY = []


class Started:
    """One host, and how it says how far it came."""

    def __init__(self, script, place):
        read, marks = os.pipe()
        self.errors = place / f"{script}-{marks}.txt"
        stacks = os.open(place / f"stacks-{marks}.txt", os.O_CREAT | os.O_RDWR, 0o600)
        asked = {"script": script, "session_keys": ["s1"], "turn": None}
        asked |= {"marks": marks, "stacks": stacks}
        names = ("marks", "stacks")
        self.host = host_copies.start(
            "tests.testing.processes.host_probe", asked, self.errors, names
        )
        self.process = self.host.process
        os.close(marks)
        os.close(stacks)
        self._said = os.fdopen(read, encoding="utf-8")
        EVERY.append(self)

    def said(self):
        """Everything that it says until its end."""
        return self._said.read().splitlines()

    def line(self):
        return self._said.readline()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.host.stdin.close()
        self._said.close()

    def tells(self):
        """Its words about itself, once it has heard a word."""
        self.host.stdin.write(b"go\n")
        self.host.stdin.close()
        (line,) = self.said()
        self.process.wait(20)
        return json.loads(line)


def differing(one, other):
    """Values that are not the same in two of them."""
    flat = [{**seen, **seen["environment"], "environment": 0} for seen in (one, other)]
    keys = {key for seen in flat for key in seen}
    pairs = {key: tuple(seen.get(key) for seen in flat) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


@pytest.fixture(autouse=True)
def a_place(monkeypatch):
    """Scripts of the tests can be found, and no template is left."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(host_copies, "_templates", {})
    yield
    while EVERY:
        EVERY.pop().close()
    for one in host_copies._templates.values():
        one.end()


@pytest.fixture(params=["a copy", "an interpreter of its own"])
def start(request, tmp_path, monkeypatch):
    """A function that starts a host of one kind."""
    if request.param != "a copy":
        monkeypatch.setattr(host_copies, "_serving", lambda _: None)

    def start(script):
        one = Started(script, tmp_path)
        assert isinstance(one.process, copied.Copy) == (request.param == "a copy")
        return one

    return start


def test_a_copy_sees_what_a_fresh_interpreter_sees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = Started("report", tmp_path)
    second = Started("report", tmp_path)
    copies = [first.tells(), second.tells()]
    monkeypatch.setattr(host_copies, "_serving", lambda _: None)
    fresh = Started("report", tmp_path)
    assert not isinstance(fresh.process, copied.Copy)
    expected = fresh.tells()
    assert [differing(copy, expected) for copy in copies] == [{}, {}]
    assert copies[0]["heard"] == "go\n"
    assert copies[0]["directory"] == str(tmp_path)


def test_the_end_of_the_interpreter_is_run_whole(start):
    one = start("ends")
    assert one.said() == ["returned", "thread", "atexit"]
    assert one.process.wait(20) == 0
    assert one.errors.read_bytes() == b""


@pytest.mark.parametrize(("script", "code"), [("fails", 1), ("exits", 7), ("dies", -9)])
def test_the_exit_code_is_told(start, script, code):
    assert start(script).process.wait(20) == code


def test_a_copy_that_is_gone_before_anybody_looked_is_not_started_again(tmp_path, monkeypatch):
    def gone(pid):
        raise psutil.NoSuchProcess(pid)

    monkeypatch.setattr(copied.psutil, "Process", gone)
    one = Started("exits", tmp_path)
    assert isinstance(one.process, copied.Copy)
    assert one.process.wait(20) == 7
    one.process.kill()
    assert not one.process.was_seen


def test_an_error_that_nobody_caught_is_in_what_it_wrote(start):
    one = start("fails")
    one.process.wait(20)
    text = one.errors.read_text("utf-8")
    assert text.startswith("Traceback (most recent call last)")
    assert text.endswith("RuntimeError: the host has failed\n")


def test_one_that_does_not_end_is_killed(start):
    one = start("waits")
    assert one.line() == "waiting\n"
    assert one.process.poll() is None
    one.process.kill()
    assert one.process.wait(20) == -9


def test_copies_draw_different_random_numbers(tmp_path):
    drawn = [Started("draws", tmp_path).said() for _ in range(3)]
    assert len({*map(str, drawn)}) == 3


def test_an_environment_that_differs_in_more_than_its_places_gets_an_interpreter_of_its_own(
    tmp_path, monkeypatch
):
    assert isinstance(Started("exits", tmp_path).process, copied.Copy)
    monkeypatch.setenv("HOME", str(tmp_path))
    one = Started("report", tmp_path)
    assert isinstance(one.process, copied.Copy)
    assert one.tells()["environment"]["HOME"] == str(tmp_path)
    monkeypatch.setenv("MEMPROTO_OTHER", "1")
    other = Started("exits", tmp_path)
    assert not isinstance(other.process, copied.Copy)
    assert other.process.wait(20) == 7


def test_a_template_that_was_killed_is_replaced(tmp_path):
    first = Started("waits", tmp_path)
    parent = psutil.Process(first.process.pid).parent()
    (known,) = host_copies._templates.values()
    assert parent.pid == known._process.pid
    known._process.kill()
    known._process.wait()
    again = Started("exits", tmp_path)
    assert isinstance(again.process, copied.Copy)
    assert again.process.wait(20) == 7


def test_a_module_that_cannot_serve_is_run_for_each_host(tmp_path, monkeypatch):
    def refuse(words, environment):
        raise OSError("no more processes")

    monkeypatch.setattr(host_copies, "_HostTemplate", refuse)
    one = Started("exits", tmp_path)
    assert not isinstance(one.process, copied.Copy)
    assert one.process.wait(20) == 7
    assert Path(one.errors).read_bytes() == b""
