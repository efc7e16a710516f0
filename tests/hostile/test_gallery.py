"""
One run over the whole gallery, beside a good provider: each is told by the rule that it breaks.

It takes minutes: `tox -e hostile`. MEMPROTO_GALLERY narrows it to targets with such a word in their
names, as in MEMPROTO_GALLERY=hanging,Floods.
"""

import dataclasses
import os
import subprocess
from pathlib import Path

import psutil
import pytest

from memproto.report.verdict_line import verdict_line
from memproto.testing.outcomes import Verdict
from memproto.testing.processes import vitals
from tests.harmless import assert_harmless
from tests.hostile.marks import load_all
from tests.kit_runs import kit_process, outcomes, read_report

#: A wait for a provider that hangs is cut; what is right does not depend on it, as long as a busy
#: machine gives the good one its time.
_SCALE = "0.4"

#: The checks of each take no longer, in this process or that, on a machine that is not shared.
_BOUND_S = 120

_WORDS = tuple(filter(None, os.environ.get("MEMPROTO_GALLERY", "").split(",")))

GALLERY = {
    target: hostile
    for target, hostile in sorted(load_all().items())
    if not _WORDS or any(word in target for word in _WORDS)
}

GOOD = "builtin"


@dataclasses.dataclass(frozen=True)
class _Together:
    reports: dict[str, dict]
    places: Path
    home: Path
    work: Path
    left: list[str]
    shared_by: float
    run: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """All of them in one run whose HOME, temporary and working directory can be looked at."""
    at = tmp_path_factory.mktemp("gallery")
    places, home, work = (at / name for name in ("places", "home", "work"))
    for path in (places, home, work):
        path.mkdir()
    words = [f"--memproto={target}" for target in (GOOD, *GALLERY)]
    report = at / "report.json"
    done = kit_process(
        work,
        *words,
        *("-n", "2", f"--memproto-report={report}"),
        timeout_s=_BOUND_S * (1 + len(GALLERY)),
        HOME=str(home),
        GITHUB_ACTIONS="true",
        TMPDIR=str(places),
        MEMPROTO_TIME_SCALE=_SCALE,
    )
    found = {item["target"]: item for item in read_report(report, done)["reports"]}
    return _Together(found, places, home, work, _running_below(at), _shared_by(), done)


def _shared_by() -> float:
    """Load on each of the machine's processors lately; this run keeps two busy."""
    return max(1.0, max(os.getloadavg()) / (os.cpu_count() or 1))


def _running_below(directory: Path) -> list[str]:
    """Processes that the run has left, by their command line."""
    return [
        f"{process.pid} {process.name()}"
        for process in psutil.process_iter()
        if process.pid != os.getpid() and vitals.belongs(process, directory)
    ]


def _rows(report):
    return {row["id"]: row for row in report["results"]}


def test_the_gallery_is_as_large_as_was_asked_for():
    assert len(load_all()) >= 30


@pytest.mark.parametrize("target", GALLERY)
def test_a_hostile_provider_is_told_by_the_rule_that_it_breaks(together, target):
    hostile, rows = GALLERY[target], _rows(together.reports[target])
    red = {key: row for key, row in rows.items() if row["outcome"] in ("fail", "warn")}
    told = {key: f"{row['expected']}\n{row['observed']}" for key, row in red.items()}
    seen = [text for key, text in told.items() if key in hostile.rules]
    assert any(word in text for word in hostile.says for text in seen), told


@pytest.mark.parametrize("target", GALLERY)
def test_a_hostile_provider_has_its_verdict_within_the_bound(together, target):
    took_s = {key: row["duration_s"] for key, row in _rows(together.reports[target]).items()}
    longest = sorted(took_s.items(), key=lambda item: -item[1])[:5]
    assert sum(took_s.values()) <= _BOUND_S * together.shared_by, longest


@pytest.mark.parametrize("target", [GOOD, *GALLERY])
def test_no_provider_turns_into_an_error_of_the_kit(together, target):
    rows = _rows(together.reports[target]).values()
    assert [row["observed"] for row in rows if row["outcome"] == "kit_error"] == []


@pytest.mark.parametrize("target", GALLERY)
def test_no_hostile_provider_is_conformant(together, target):
    # A rule that is a SHOULD is red without a verdict of its own.
    should = {row["level"] for row in _ruled(together, target)} == {"SHOULD"}
    assert should or together.reports[target]["verdict"] == "NON-CONFORMANT"


def _ruled(together, target):
    rows = _rows(together.reports[target])
    return [rows[rule] for rule in GALLERY[target].rules]


def test_a_good_provider_in_the_same_run_keeps_its_verdict(together):
    report = together.reports[GOOD]
    unsure = {k: v for k, v in outcomes(report).items() if v not in ("pass", "not_applicable")}
    assert report["verdict"] == "CONFORMANT", unsure


def test_none_of_them_gives_the_runner_a_command_or_the_reader_a_verdict(together):
    verdicts = assert_harmless(together.run, 1 + len(GALLERY))
    for line, report in zip(verdicts, together.reports.values(), strict=True):
        assert line == verdict_line(report)
        is_told_red = str(Verdict.NON_CONFORMANT) in line or " violated" in line
        assert is_told_red == (report["verdict"] == Verdict.NON_CONFORMANT)


def test_nothing_is_left_running(together):
    assert together.left == []


def test_nothing_is_written_outside_of_the_sandbox_and_that_is_removed(together):
    left = [path.name for path in together.places.iterdir()]
    # pytest-xdist makes itself such a place, for fixtures that no check has.
    assert [name for name in left if not name.startswith("pytest-of-")] == []
    assert list(together.home.iterdir()) == []
    assert {path.name for path in together.work.iterdir()} <= {"tests", ".pytest_cache"}
