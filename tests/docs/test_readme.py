"""The README and the page on failures show the output that a user sees."""

import re
import shutil

import pytest

from memproto import pytest_plugin
from tests.kit_runs import ROOT, kit

pytestmark = pytest.mark.once

README = (ROOT / "README.md").read_text("utf-8")
FAILURES = (ROOT / "docs" / "reading-a-failure.md").read_text("utf-8")


def blocks(language, page=README):
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """The run that both pages show."""
    folder = tmp_path_factory.mktemp("failing")
    shutil.copy(ROOT / "examples" / "batches.py", folder)
    return kit(folder, "--memproto=batches", "--memproto-clause=MP-TURN")


def test_the_failing_example_is_what_the_kit_prints(failing):
    shown = next(text for text in blocks("text") if "MP-TURN-001" in text)
    assert failing.returncode == 1
    assert shown in failing.stdout


def test_the_summary_on_the_page_is_what_the_kit_prints(failing):
    """But for where a terminal breaks its prose, and for the lines that are left out."""
    shown = next(text for text in blocks("text", FAILURES) if "not run" in text and "next:" in text)
    printed = " ".join(failing.stdout.split())
    parts = [" ".join(part.split()) for part in shown.split("...\n")]
    assert [part for part in parts if part not in printed] == []


def test_the_table_of_options_holds_every_option_of_the_plugin():
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    options = {option.names()[0] for option in parser.getgroup("memproto").options}
    assert set(re.findall(r"^\| `(--memproto[a-z-]*)", README, re.MULTILINE)) == options


def test_the_second_command_is_what_ci_runs():
    command = next(text for text in blocks("console") if "tox run" in text).strip()
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
