"""Strands Agents: the kit makes the calls of a real agent, and judges stores on the real base."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.kit_runs import ROOT, outcomes
from tests.wild import environments


@pytest.fixture(scope="module")
def python(tmp_path_factory, kit_wheel):
    folder = tmp_path_factory.mktemp("strands")
    return environments.environment(folder / "venv", kit_wheel, "strands-agents==1.62.0")


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
    target, report = f"tests.frameworks.strands_notes:{kind}", directory / "report.json"
    command = ["-m", "pytest", f"--memproto={target}", f"--memproto-report={report}", *words]
    done = run(python, *command, directory=directory)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text("utf-8"))["reports"][0]


def test_the_kit_makes_the_calls_that_an_agent_makes(python, tmp_path):
    script = Path(__file__).with_name("strands_calls.py")
    done = run(python, "-P", script, directory=tmp_path)
    assert done.stdout.endswith("the same calls\n"), done.stderr


def test_a_good_store_on_the_real_base_class_conforms(python, tmp_path):
    report = judged(python, tmp_path, "Notes")
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "strands")
    assert set(outcomes(report).values()) == {"pass", "not_applicable"}


@pytest.mark.parametrize(
    ("kind", "rule"), [("LosesTheLast", "MP-TURN-003"), ("Hangs", "MP-RECALL-002")]
)
def test_a_broken_one_on_the_real_base_class_is_red(python, tmp_path, kind, rule):
    report = judged(python, tmp_path, kind, f"--memproto-clause={rule}")
    assert outcomes(report)[rule] == "fail"
