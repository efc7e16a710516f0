"""
Each real host, in a virtual environment of its own, gets exactly the verdict that is pinned.

A red line here was read against the host's source; one that its author could refute is a defect
of the kit.
"""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.wild import environments

PINS = tomllib.loads((Path(__file__).parent / "hosts.toml").read_text("utf-8"))["host"]


@pytest.fixture(params=PINS, ids=[pin["package"] for pin in PINS], scope="module")
def judged(request, tmp_path_factory, kit_wheel):
    pin = request.param
    folder = tmp_path_factory.mktemp("host")
    python = environments.environment(folder / "venv", kit_wheel, *pin["install"])
    report = folder / "report.json"
    command = [python, "-m", "pytest", f"--memproto-host={pin['target']}"]
    done = subprocess.run(
        [*command, f"--memproto-report={report}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    return pin, done, json.loads(report.read_text("utf-8"))["reports"][0]


def texts(report, key, *outcomes):
    """Requirement to what is said of it, for those of some outcomes."""
    return {row["id"]: row[key] for row in report["results"] if row["outcome"] in outcomes}


def assert_pinned(found, pinned):
    assert set(found) == set(pinned)
    wrong = {key: text for key, text in found.items() if pinned[key] not in text}
    assert wrong == {}


def test_a_host_with_red_lines_is_not_conformant(judged):
    _, done, report = judged
    assert (done.returncode, report["verdict"]) == (1, "NON-CONFORMANT"), done.stdout


def test_exactly_the_pinned_requirements_are_red_with_the_pinned_text(judged):
    pin, _, report = judged
    assert_pinned(texts(report, "observed", "fail", "warn"), pin["red"])


def test_exactly_the_pinned_requirements_are_open_for_the_pinned_reason(judged):
    pin, _, report = judged
    left = texts(report, "reason", "untestable", "inconclusive", "not_run", "kit_error")
    assert_pinned(left, pin["open"])


def test_it_is_green_where_its_source_holds(judged):
    _, _, report = judged
    green = texts(report, "reason", "pass")
    assert len(green) >= 25
    holds = {"MP-HOST-REG-002", "MP-HOST-TURN-004", "MP-HOST-RECALL-006", "MP-HOST-SESS-002"}
    assert holds <= set(green)
