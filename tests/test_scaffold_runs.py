"""A new provider is CONFORMANT as it is made; a bug that is planted in it turns the kit red."""

import sys

import pytest

from memproto.scaffold import new
from tests import kit_runs, scaffolded
from tests.kit_runs import kit, outcomes, reported


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr(kit_runs, "TIMEOUT_S", 600)  # every check, on a machine that may be busy
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


def test_a_native_provider_conforms_and_its_own_tests_pass(work):
    folder = new("tide_log", work)
    own = kit(folder, "-q", "tests/test_provider.py", PYTHONPATH=str(folder / "src"))
    assert "2 passed" in own.stdout, own.stdout + own.stderr
    run = reported(folder, "--memproto=tide_log")
    assert run["reports"][0]["verdict"] == "CONFORMANT", run["run"].stdout
    assert run["exit_code"] == 0


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


def test_a_bug_that_is_planted_is_found_and_its_line_named(work):
    folder = new("tide_log", work)
    provider = folder / "src" / "tide_log" / "provider.py"
    text = provider.read_text("utf-8")
    planted = text.replace('self._store.add(self._user, "turn"', 'self._store.add(None, "turn"')
    assert planted != text
    provider.write_text(planted, "utf-8")
    done = kit(folder, "--memproto=tide_log", "--memproto-clause=MP-TURN-001")
    assert done.returncode == 1
    assert "src/tide_log/provider.py" in done.stdout
    assert "fix" in done.stdout
