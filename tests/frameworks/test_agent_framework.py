"""Agent Framework: the kit makes the calls of a real agent, and judges real context providers."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.kit_runs import ROOT, outcomes, write
from tests.wild import environments


@pytest.fixture(scope="module")
def python(tmp_path_factory, kit_wheel):
    folder = tmp_path_factory.mktemp("agent-framework")
    core = "agent-framework-core==1.23.0"
    return environments.environment(folder / "venv", kit_wheel, core)


def run(python, *words, directory):
    return subprocess.run(
        [python, *map(str, words)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def judged(python, directory, kind, *words):
    (directory / "tests").symlink_to(ROOT / "tests")
    target, report = f"tests.frameworks.agent_framework_notes:{kind}", directory / "report.json"
    command = ["-m", "pytest", f"--memproto={target}", f"--memproto-report={report}", *words]
    done = run(python, *command, directory=directory)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text("utf-8"))["reports"][0]


def test_the_kit_makes_the_calls_that_an_agent_makes(python, tmp_path):
    script = Path(__file__).with_name("agent_framework_calls.py")
    done = run(python, "-P", script, directory=tmp_path)
    assert done.stdout.endswith("the same calls\n"), done.stderr


def test_a_good_provider_conforms_without_a_setting(python, tmp_path):
    report = judged(python, tmp_path, "Notes")
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "agent-framework")
    assert report["operations"]["recall"]["hook"] == "before_run"
    assert set(outcomes(report).values()) == {"pass", "not_applicable"}


@pytest.mark.parametrize("kind", ["apart", "OfUsers"])
def test_good_providers_of_many_users_keep_them_apart(python, tmp_path, kind):
    write(tmp_path, memproto__toml="[declares]\nisolates = ['user']\n")
    found = outcomes(judged(python, tmp_path, kind, "--memproto-clause=MP-TENANT"))
    tenancy = {name: outcome for name, outcome in found.items() if "-TENANT-" in name}
    assert {tenancy.pop(f"MP-TENANT-00{number}") for number in (2, 5)} == {"not_applicable"}
    assert set(tenancy.values()) == {"pass"}


@pytest.mark.parametrize(
    ("kind", "rule", "hook"),
    [
        ("LosesTheLast", "MP-TURN-003", "after_run"),
        ("AddsAscii", "MP-TURN-002", "store"),
        ("Hangs", "MP-RECALL-002", "before_run"),
        ("together", "MP-TENANT-001", "before_run"),
    ],
)
def test_a_broken_one_is_red_with_the_hook_that_its_author_wrote(
    python, tmp_path, kind, rule, hook
):
    write(tmp_path, memproto__toml="[declares]\nisolates = ['user']\n")
    report = judged(python, tmp_path, kind, f"--memproto-clause={rule}")
    (red,) = [row for row in report["results"] if row["outcome"] == "fail"]
    assert red["id"] == rule
    assert red["where"].endswith(hook)
