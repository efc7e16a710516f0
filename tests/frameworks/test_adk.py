"""Google ADK: an agent of the real runner remembers, and services and providers stand in both."""

import subprocess
from pathlib import Path

import pytest

from tests.kit_runs import ROOT
from tests.wild import environments

EXAMPLE = ROOT / "examples" / "adk" / "remembering.py"


@pytest.fixture(scope="module")
def python(tmp_path_factory, kit_wheel):
    folder = tmp_path_factory.mktemp("adk")
    return environments.environment(folder / "venv", kit_wheel, "google-adk==2.13.0")


def run(python, *words, directory):
    done = subprocess.run(
        [python, "-P", *map(str, words)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_agent_remembers_across_two_runs(python, tmp_path):
    first = run(python, EXAMPLE, "home", "My ferry is called Ondine.", directory=tmp_path)
    assert first == "Noted.\n"
    second = run(python, EXAMPLE, "home", "What is my ferry called?", directory=tmp_path)
    assert "You told me before" in second
    assert "Ondine" in second


def test_the_example_agent_knows_nothing_in_another_home(python, tmp_path):
    run(python, EXAMPLE, "home", "My ferry is called Ondine.", directory=tmp_path)
    other = run(python, EXAMPLE, "elsewhere", "What is my ferry called?", directory=tmp_path)
    assert other == "Noted.\n"


def test_services_and_providers_stand_in_for_each_other(python, tmp_path):
    script = Path(__file__).with_name("adk_services.py")
    assert run(python, script, directory=tmp_path) == "all as it says\n"
