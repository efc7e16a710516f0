"""A run that cannot start says what, where and how to mend it: exit code 4, and no traceback."""

import pytest

from tests import places
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
        ["'acme_vector_store'", "not installed", "fix: pip install acme_vector_store"],
    ),
    "no provider": (["--memproto=mine"], {"mine__py": "x = 1"}, ["defines no provider"]),
    "several providers": (
        ["--memproto=mine"],
        {"mine__py": TWO},
        ["One, Two", "pytest --memproto=mine:One"],
    ),
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
        ["=MP-RECAL-001:", "did you mean 'MP-RECALL-001'? --memproto-clause=MP-RECALL-001"],
    ),
    "an unknown profile": (
        ["--memproto=builtin", "--memproto-profile=fast"],
        {},
        ["--memproto-profile=fast", "quick, ci, deep"],
    ),
    # -- the first inputs of a newcomer: each message holds the command to type
    "a file below here": (
        ["--memproto=./mine.py"],
        {"mine__py": "x = 1"},
        ["is a file", "fix: pytest --memproto=mine\n"],
    ),
    "a file": (["--memproto=mine.py"], {"mine__py": "x = 1"}, ["fix: pytest --memproto=mine\n"]),
    "a directory of that name but a letter": (
        ["--memproto=plugins/acmee"],
        {"plugins/acme/__init__.py": "x = 1"},
        ["there is no directory", "fix: did you mean 'acme'? pytest --memproto=plugins/acme\n"],
    ),
    "a directory without a package": (
        ["--memproto=./plugins"],
        {"plugins/acme.py": "x = 1"},
        ["without __init__.py", "pytest --memproto=plugins.acme\n"],
    ),
    "a colon and nothing": (
        ["--memproto=mine:"],
        {"mine__py": "from tests.good.journal import Journal\nclass One(Journal): ..."},
        ["no attribute behind the colon", "fix: pytest --memproto=mine\n"],
    ),
    "a name but a letter": (
        ["--memproto=builtn"],
        {},
        ["fix: did you mean 'builtin'? pytest --memproto=builtin\n"],
    ),
    "a class but a letter": (
        ["--memproto=mine:Memry"],
        {"mine__py": "from pathlib import Path\nclass Memory: pass"},
        ["no attribute 'Memry'", "fix: did you mean 'Memory'? pytest --memproto=mine:Memory\n"],
    ),
    "a package of several providers": (
        ["--memproto=shelf"],
        {"shelf/__init__.py": "", "shelf/both.py": f"# MemoryProvider{TWO}"},
        [
            "--memproto=shelf: ",
            "pytest --memproto=shelf.both:One or pytest --memproto=shelf.both:Two",
        ],
    ),
    "an area but a letter": (
        ["--memproto=builtin", "--memproto-clause=MP-RECAL"],
        {},
        ["fix: did you mean 'MP-RECALL'? --memproto-clause=MP-RECALL\n"],
    ),
    "a class of conformance but a letter": (
        ["--memproto=builtin", "--memproto-class=cor"],
        {},
        ["fix: did you mean 'core'? --memproto-class=core\n"],
    ),
    "a table that is of no target": (
        ["--memproto=builtin"],
        {"memproto__toml": "[tool.memproto.builtin]\nmemory_mb = 512"},
        ["memproto.toml:1", 'fix: write [tool.memproto.target."builtin"]'],
    ),
    "a host but a letter": (
        ["--memproto-host=hermse"],
        {},
        ["fix: did you mean 'hermes'? pytest --memproto-host=hermes\n"],
    ),
    "an extra of a library": (
        ["--memproto=mine"],
        {
            "mine__py": "import library\nlibrary.connect()",
            "library__py": "def connect():\n    raise ImportError('Using SOCKS proxy, but the "
            "\\'socksio\\' package is not installed. Use `pip install httpx[socks]`.')",
        },
        ["the 'socksio' package is not installed", "fix: pip install 'httpx[socks]'\n"],
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
    "a driver whose own method raises": (
        ["--memproto-host=mine:Driver", "--memproto-clause=MP-HOST-TURN-001"],
        {
            "mine__py": "from memproto.testing.agent import Agent\n"
            "class Driver(Agent):\n"
            "    def dismiss(self): raise OSError('no loop')\n"
        },
        ["Driver.dismiss: raised OSError: no loop at mine.py:3", "make it return"],
    ),
    "a host that is none": (
        ["--memproto-host=mine:Host"],
        {"mine__py": "x = 1"},
        ["no attribute 'Host'"],
    ),
}


@pytest.mark.parametrize("case", places.half_nightly(CASES))
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


def test_a_table_of_another_name_is_told_where_the_target_has_none(tmp_path):
    line = '[tool.memproto.target."{}"]\nmemory_mb = 900\n'
    words = ("--memproto=builtin", "--memproto-clause=MP-NAME-001")
    for names, is_told in ((["builtn"], True), (["builtn", "builtin"], False), (["acme"], False)):
        (tmp_path / "memproto.toml").write_text("".join(map(line.format, names)), "utf-8")
        done = kit(tmp_path, *words)
        assert done.returncode == 0, done.stdout
        said = 'memproto.toml:1: target."builtn": is of no target of this run; write '
        assert (f'{said}[tool.memproto.target."builtin"]' in done.stdout) is is_told


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
