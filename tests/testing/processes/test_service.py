"""A service: started once, in a process of its own, and gone at the end whatever it does."""

import time

import psutil
import pytest

from memproto.errors import InvalidSettings
from memproto.testing.processes import service
from memproto.testing.processes.service import Service, assert_runs
from memproto.testing.settings.settings import Settings
from tests.kit_runs import ROOT


def settings(name):
    place = "memproto.toml:7: service"
    return Settings(service=f"tests.settings_cases.services:{name}", places={"service": place})


@pytest.fixture
def serving(tmp_path):
    """A function that makes a service, which is stopped at the end."""
    made = []

    def make(name, scale=1.0):
        made.append(Service(settings(name), ROOT, tmp_path, scale))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def runs(pid):
    try:
        return psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_it_yields_is_what_the_provider_gets(serving):
    one = serving("sleeper")
    said = one.start()
    assert runs(said["env"]["SERVER_PID"])
    assert said["config"] == {"port": 1, "bank": "service"}
    one.stop()
    assert not runs(said["env"]["SERVER_PID"])
    assert not runs(said["pid"])


def test_what_it_leaves_behind_is_killed(serving):
    one = serving("disowner")
    said = one.start()
    one.stop()
    while runs(said["env"]["SERVER_PID"]):
        time.sleep(0.01)


def test_one_that_does_not_end_is_killed(serving, monkeypatch):
    one = serving("stays")
    said = one.start()
    monkeypatch.setattr(service, "END_S", 0.05)
    one.stop()
    assert not runs(said["pid"])


def test_one_that_ends_in_the_middle_is_a_fault_of_the_setting(serving):
    one = serving("sleeper")
    said = one.start()
    assert_runs(said, settings("sleeper"))
    one.stop()
    with pytest.raises(InvalidSettings, match=r"toml:7: service: .* in the middle of the run"):
        assert_runs(said, settings("sleeper"))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("raises", r"raised OSError: port 80 is taken .*services\.py:\d+ in raises"),
        ("raises", "it printed: cannot bind"),
        ("yields_a_port", "yielded 8080"),
        ("yields_numbers", "yielded .*8080"),
        ("no_manager", "raised AttributeError"),
        ("ends_its_process", "ended its process"),
        ("nothing_of_that_name", "has no 'nothing_of_that_name'"),
    ],
)
def test_one_that_does_not_start_is_named_with_its_line(serving, name, fault):
    with pytest.raises(InvalidSettings, match=rf"(?s)toml:7: service: .*{fault}.*fix: "):
        serving(name).start()


def test_one_that_blocks_is_given_up(serving):
    with pytest.raises(InvalidSettings, match=r"blocks yielded nothing within 0\.6 s"):
        serving("blocks", 0.01).start()
