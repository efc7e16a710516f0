"""
Each real provider, in a virtual environment of its own, gets exactly the verdict that is pinned.

A red line here was read against the provider's source; one that its author could refute is a
defect of the kit.
"""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.wild import environments

PINS = tomllib.loads((Path(__file__).parent / "pins.toml").read_text("utf-8"))["provider"]


@pytest.fixture(scope="session")
def kit_wheel(tmp_path_factory):
    return environments.wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(params=PINS, ids=[pin["package"] for pin in PINS], scope="module")
def judged(request, tmp_path_factory, kit_wheel):
    pin = request.param
    folder = tmp_path_factory.mktemp("wild")
    python = environments.environment(folder / "venv", kit_wheel, pin["package"])
    report = folder / "report.json"
    command = [python, "-m", "pytest", f"--memproto={pin['target']}", f"--memproto-report={report}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return pin, done, json.loads(report.read_text("utf-8"))["reports"][0]


def rows(report, *outcomes):
    return {row["id"]: row for row in report["results"] if row["outcome"] in outcomes}


def test_the_exit_code_is_the_pinned_one(judged):
    pin, done, _ = judged
    assert done.returncode == pin["exit_code"], done.stdout


def test_exactly_the_pinned_requirements_are_red_with_the_pinned_text(judged):
    pin, _, report = judged
    red = rows(report, "fail", "warn")
    assert set(red) == set(pin["red"])
    for requirement, text in pin["red"].items():
        assert text in red[requirement]["observed"]


def test_exactly_the_pinned_requirements_are_open_for_the_pinned_reason(judged):
    pin, _, report = judged
    left = rows(report, "untestable", "inconclusive", "not_run", "kit_error")
    assert set(left) == set(pin["open"])
    for requirement, text in pin["open"].items():
        assert text in left[requirement]["reason"]


def test_everything_else_is_green_or_does_not_apply(judged):
    pin, _, report = judged
    rest = {row["id"]: row["outcome"] for row in report["results"]}
    green = {key for key, outcome in rest.items() if outcome == "pass"}
    assert len(green) >= 20
    assert set(rest) - green - set(pin["red"]) - set(pin["open"]) == set(
        rows(report, "not_applicable")
    )
