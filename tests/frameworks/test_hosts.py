"""
Each framework as a host gets exactly the verdict that is pinned, and its losses show without a kit.

A red line here was read against the framework's source; docs/strands.md and docs/agent-framework.md
say what it costs. One that a maintainer could refute is a defect of the kit.
"""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PINS = tomllib.loads((FOLDER / "hosts.toml").read_text("utf-8"))["host"]


def ran(python, directory, *words):
    return subprocess.run(
        [python, *words], cwd=directory, capture_output=True, text=True, timeout=1200, check=False
    )


@pytest.fixture(params=PINS, ids=[pin["target"] for pin in PINS], scope="module")
def pinned(request):
    """The pins of a framework, and the Python of its environment."""
    python = request.getfixturevalue(f"{request.param['target'].replace('-', '_')}_python")
    return request.param, python


@pytest.fixture(scope="module")
def judged(pinned, tmp_path_factory):
    """The pins, and the report of a whole run."""
    pin, python = pinned
    folder = tmp_path_factory.mktemp("host")
    report = folder / "report.json"
    words = (f"--memproto-host={pin['target']}", f"--memproto-report={report}")
    done = ran(python, folder, "-m", "pytest", *words, "-n", "4")
    assert report.exists(), done.stdout + done.stderr
    assert done.returncode == 1, done.stdout
    return pin, json.loads(report.read_text("utf-8"))["reports"][0]


def texts(report, key, *outcomes):
    """Requirement to what is said of it, for those of some outcomes."""
    return {row["id"]: row[key] for row in report["results"] if row["outcome"] in outcomes}


def assert_pinned(found, pinned):
    assert {key: text for key, text in found.items() if key not in pinned} == {}
    assert set(pinned) - set(found) == set()
    assert {key: text for key, text in found.items() if pinned[key] not in text} == {}


def test_exactly_the_pinned_requirements_are_red_with_the_pinned_text(judged):
    pin, report = judged
    assert report["verdict"] == "NON-CONFORMANT"
    assert_pinned(texts(report, "observed", "fail", "warn"), pin["red"])


def test_exactly_the_pinned_requirements_are_open_for_the_pinned_reason(judged):
    pin, report = judged
    left = texts(report, "reason", "untestable", "inconclusive", "not_run", "kit_error")
    assert_pinned(left, pin["open"])


def test_exactly_the_pinned_requirements_are_green(judged):
    pin, report = judged
    assert set(texts(report, "reason", "pass")) == set(pin["green"])


def test_every_other_requirement_has_a_reason_why_it_does_not_apply(judged):
    _, report = judged
    left = texts(report, "reason", "not_applicable")
    assert len(left) == report["counts"]["not_applicable"]
    assert all(left.values())


def test_the_losses_are_there_without_the_kit(pinned, tmp_path):
    pin, python = pinned
    script = FOLDER / f"{pin['target'].replace('-', '_')}_losses.py"
    done = ran(python, tmp_path, "-P", str(script))
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    said = {name: json.dumps(value) for name, value in seen.items()}
    assert set(said) == set(pin["losses"])
    assert {name: text for name, text in said.items() if pin["losses"][name] not in text} == {}
