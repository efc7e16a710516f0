"""
Each real provider, in a virtual environment of its own, gets exactly the verdict that is pinned.

Its installation and its settings are those of the census; the pins are outcomes. A red line here
was read against the provider's source; one that its author could refute is a defect of the kit.

With MEMPROTO_CENSUS=DIR the reports of a census that stands there are compared with the pins, and
nothing is judged.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from census import entries
from census.kept import Kept
from tests.wild import environments

PINS = tomllib.loads((Path(__file__).parent / "pins.toml").read_text("utf-8"))["provider"]
ENTRIES = entries.read_all()


@pytest.fixture(params=PINS, ids=[pin["entry"] for pin in PINS], scope="module")
def judged(request, tmp_path_factory):
    """A pin, the exit code, or None if it is of another run, and the results it is about."""
    pin = request.param
    if folder := os.environ.get("MEMPROTO_CENSUS"):
        kept = Kept(Path(folder))
        # A whole run ends by more than a pin of some areas is about.
        code = None if "clauses" in pin else kept.records()[pin["entry"]].exit_code
        report = kept.report(pin["entry"])
    else:
        code, report = judge(pin, tmp_path_factory, request.getfixturevalue("kit_wheel"))
    return pin, code, asked_for(pin, json.loads(report.read_text("utf-8"))["reports"][0])


def judge(pin, tmp_path_factory, kit_wheel):
    """The exit code of the kit, and the place of its report."""
    folder = tmp_path_factory.mktemp("wild")
    entry = ENTRIES[pin["entry"]]
    python = environments.environment(folder / "venv", kit_wheel, *entry.installs)
    for name, text in entry.files.items():
        (folder / name).write_text(text, "utf-8")
    report = folder / "report.json"
    command = [python, "-m", "pytest", f"--memproto={entry.target}", f"--memproto-report={report}"]
    command += [f"--memproto-clause={clause}" for clause in pin.get("clauses", [])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    return done.returncode, report


def asked_for(pin, report):
    """The report with those results only that the pin is about."""
    about = tuple(pin.get("clauses", ["MP-"]))
    results = [row for row in report["results"] if row["id"].startswith(about)]
    return {**report, "results": results}


def rows(report, *outcomes):
    return {row["id"]: row for row in report["results"] if row["outcome"] in outcomes}


def red_in(report):
    return rows(report, "fail", "warn")


def open_in(report):
    return rows(report, "untestable", "inconclusive", "not_run", "kit_error")


def is_excused(pin, row):
    return any(text in row["reason"] for text in pin.get("excuses", []))


def assert_pinned(found, pinned, seen_in, pin):
    sometimes = pin.get("sometimes", {})
    assert set(found) - set(sometimes) == set(pinned)
    for requirement, row in found.items():
        text = pinned.get(requirement, sometimes.get(requirement, ""))
        assert text in row[seen_in], requirement


def test_the_exit_code_is_the_pinned_one(judged):
    pin, code, _ = judged
    if code is None:
        pytest.skip("the census judged all areas, and the pin is about some")
    assert code == pin["exit_code"]


def test_the_kit_makes_no_error_of_its_own(judged):
    _, _, report = judged
    assert not rows(report, "kit_error")


def test_exactly_the_pinned_requirements_are_red_with_the_pinned_text(judged):
    pin, _, report = judged
    assert_pinned(red_in(report), pin["red"], "observed", pin)


def test_exactly_the_pinned_requirements_are_open_for_the_pinned_reason(judged):
    pin, _, report = judged
    left = {key: row for key, row in open_in(report).items() if not is_excused(pin, row)}
    known = {key: row for key, row in left.items() if key not in pin.get("sometimes", {})}
    assert_pinned(known, pin["open"], "reason", pin)


def test_everything_else_is_green_or_does_not_apply(judged):
    pin, _, report = judged
    rest = {row["id"] for row in report["results"]} - set(red_in(report)) - set(open_in(report))
    green = set(rows(report, "pass"))
    assert len(green) >= (5 if "clauses" in pin else 20)
    assert rest - green == set(rows(report, "not_applicable"))
