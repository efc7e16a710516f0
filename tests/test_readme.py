"""What the README shows is what a user sees."""

import re
import shutil

import pytest

from memproto import pytest_plugin
from tests.kit_runs import ROOT, kit

README = (ROOT / "README.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_failing_example_is_what_the_kit_prints(tmp_path):
    shutil.copy(ROOT / "examples" / "batches.py", tmp_path)
    done = kit(tmp_path, "--memproto=batches", "--memproto-clause=MP-TURN")
    shown = next(text for text in blocks("text") if "MP-TURN-003" in text)
    assert done.returncode == 1
    assert shown in done.stdout


def test_the_table_of_options_holds_every_option_of_the_plugin():
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    options = {option.names()[0] for option in parser.getgroup("memproto").options}
    assert set(re.findall(r"^\| `(--memproto[a-z-]*)", README, re.MULTILINE)) == options


def test_the_second_command_is_what_ci_runs():
    command = next(text for text in blocks("console") if "tox run" in text).strip()
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
