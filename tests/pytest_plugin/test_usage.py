"""A run that cannot start says what, where and how to mend it: exit code 4, and no traceback."""

import pytest

from tests.kit_runs import kit, write

pytestmark = pytest.mark.once

TWO = """
from tests.good.journal import Journal
class One(Journal): name = "one"
class Two(Journal): name = "two"
"""

CASES = {
    "nothing of that name": (["--memproto=nosuchpackage"], {}, ["'nosuchpackage'", "install"]),
    "no such attribute": (
        ["--memproto=mine:Provider"],
        {"mine__py": "class Memory: pass"},
        ["no attribute 'Provider'", "Memory"],
    ),
    "an import that raises": (
        ["--memproto=mine"],
        {"mine__py": "x = 1\nraise OSError('no licence')"},
        ["OSError: no licence", "mine.py:2"],
    ),
    "a syntax error": (["--memproto=mine"], {"mine__py": "def f(:"}, ["SyntaxError", "mine.py:1"]),
    "a missing package": (
        ["--memproto=mine"],
        {"mine__py": "import acme_vector_store"},
        ["'acme_vector_store'", "not installed"],
    ),
    "no provider": (["--memproto=mine"], {"mine__py": "x = 1"}, ["defines no provider"]),
    "several providers": (["--memproto=mine"], {"mine__py": TWO}, ["One, Two", "mine:One"]),
    "a class that is none": (
        ["--memproto=mine:Memory"],
        {"mine__py": "class Memory: name = 'm'"},
        ["lacks is_available, initialize"],
    ),
    "an instance": (
        ["--memproto=mine:memory"],
        {"mine__py": "from tests.good.journal import Journal\nmemory = Journal()"},
        ["built already"],
    ),
    "arguments": (
        ["--memproto=mine:Memory"],
        {"mine__py": "class Memory:\n    def __init__(self, url): pass"},
        ["without arguments", "factory"],
    ),
    "an unknown requirement": (
        ["--memproto=builtin", "--memproto-clause=MP-RECAL-001"],
        {},
        ["'MP-RECAL-001'", "did you mean 'MP-RECALL-001'"],
    ),
    "an unknown profile": (
        ["--memproto=builtin", "--memproto-profile=fast"],
        {},
        ["--memproto-profile=fast", "quick, ci, deep"],
    ),
    "a seed that is none": (
        ["--memproto=builtin", "--memproto-seed=x"],
        {},
        ["--memproto-seed=x", "whole number"],
    ),
    "an unknown release": (
        ["--memproto=builtin", "--memproto-spec=9.9"],
        {},
        ["--memproto-spec=9.9", "use 1.0"],
    ),
    "an unknown key": (
        ["--memproto=builtin"],
        {"memproto__toml": "\nconfigs = {}"},
        ["memproto.toml:2", "'config'"],
    ),
    "a broken settings file": (
        ["--memproto=builtin"],
        {"memproto__toml": "config = {"},
        ["memproto.toml", "TOML"],
    ),
    "a key of the wrong type": (
        ["--memproto=builtin"],
        {"pyproject__toml": "[tool.memproto]\nconfig = 3"},
        ["pyproject.toml:2", "table"],
    ),
    "a variable that is not set": (
        ["--memproto=builtin"],
        {"memproto__toml": 'env = {KEY = {from_env = "NOT_SET_ANYWHERE"}}'},
        ["NOT_SET_ANYWHERE", "export"],
    ),
    "a path beside the target": (
        ["--memproto=builtin", "test_mine.py"],
        {},
        ["test_mine.py", "alone"],
    ),
    "a host that is none": (
        ["--memproto-host=mine:Host"],
        {"mine__py": "x = 1"},
        ["no attribute 'Host'"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_run_is_one_message_with_the_fix(tmp_path, case):
    words, files, expected = CASES[case]
    write(tmp_path, **files)
    done = kit(tmp_path, *words)
    text = done.stdout + done.stderr
    assert done.returncode == 4, text
    assert "Traceback" not in text
    assert "fix:" in text
    for part in expected:
        assert part in text
    assert "passed" not in text


def test_one_bad_target_stops_the_run_before_anything_is_judged(tmp_path):
    done = kit(tmp_path, "--memproto=builtin", "--memproto=nosuchpackage")
    assert done.returncode == 4
    assert "passed" not in done.stdout


def test_a_time_scale_that_is_no_number_is_refused(tmp_path):
    done = kit(tmp_path, "--memproto=builtin", MEMPROTO_TIME_SCALE="fast")
    assert done.returncode == 4
    assert "MEMPROTO_TIME_SCALE=fast" in done.stdout + done.stderr


def test_a_temporary_directory_inside_an_agents_home_is_refused(tmp_path):
    inside = tmp_path / "agent" / "tmp"
    inside.mkdir(parents=True)
    done = kit(
        tmp_path, "--memproto=builtin", HERMES_HOME=str(tmp_path / "agent"), TMPDIR=str(inside)
    )
    assert done.returncode == 4
    assert "TMPDIR" in done.stdout + done.stderr
    assert not list(inside.iterdir())
