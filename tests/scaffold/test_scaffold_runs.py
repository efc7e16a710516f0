"""A new plugin of Hermes in the kit, as it is made; test_ten_minutes.py has a native provider."""

import sys

import pytest

from memproto.scaffold import new
from tests.kit_runs import kit, outcomes, reported
from tests.scaffold import scaffolded

pytestmark = pytest.mark.once


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


def test_a_plugin_of_hermes_remembers_and_is_judged_without_tools(work):
    folder = new("tide_log", work, hermes=True)
    scaffolded.a_host_is_importable(work)
    paths = scaffolded.importable(work, folder / "src")
    own = kit(folder, "-q", "tests/test_provider.py", PYTHONPATH=paths)
    assert "2 passed" in own.stdout, own.stdout + own.stderr
    ids = ("MP-LOAD-008", "MP-TURN-001", "MP-WRITE-001", "MP-ISO-006", "MP-PLUG-001", "MP-PLUG-002")
    words = [f"--memproto-clause={name}" for name in ids]
    run = reported(folder, "--memproto=tide_log", *words, PYTHONPATH=paths)
    found = outcomes(run["reports"][0])
    assert {name: found[name] for name in ids} == dict.fromkeys(ids, "pass"), run["run"].stdout
