"""The first command of a user: on a Python that is too old, and as a module."""

import ast
import subprocess
import sys

import pytest

from memproto import __version__
from tests.kit_runs import ROOT

OLD = """
import sys
sys.version_info = (3, 10, 13, "final", 0)
sys.argv = ["setup.py", "egg_info"]
exec(compile(open("setup.py").read(), "setup.py", "exec"), {"__file__": "setup.py"})
"""


def ran(*words, cwd):
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_a_build_on_an_older_python_ends_in_one_line():
    done = ran("-c", OLD, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr == "memproto needs Python 3.11 or newer, and this is Python 3.10\n"
    assert done.stdout == ""


def test_that_line_is_reached_on_an_older_python():
    text = (ROOT / "setup.py").read_text("utf-8")
    tree = ast.parse(text, feature_version=(3, 8))
    first = [node for node in tree.body if not isinstance(node, ast.Expr)]
    names = [type(node).__name__ for node in first]
    assert names.index("If") < 3
    imported = [
        name
        for node in first[: names.index("If")]
        for name in [getattr(node, "module", None) or node.names[0].name]
    ]
    assert imported == ["sys", "pathlib"]


def test_the_command_is_a_module_too(tmp_path):
    done = ran("-P", "-m", "memproto", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"memproto {__version__}\n")
    done = ran("-P", "-m", "memproto", "explan", cwd=tmp_path)
    assert done.returncode == 4
    assert done.stderr == "memproto: 'explan': is no command\n  fix: memproto explain\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
@pytest.mark.parametrize(
    ("programs", "fix"),
    [
        ("chromium", "install chromium, as in: sudo apt-get install -y chromium"),
        ("node npm", "install node, npm, as in: sudo apt-get install -y nodejs npm"),
    ],
)
def test_a_program_is_left_out_for_a_contributor_and_never_in_ci(tmp_path, programs, fix, ci, code):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "programs.py", *programs.split()],
        env={"PATH": str(tmp_path), "MEMPROTO_CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert fix in done.stderr
