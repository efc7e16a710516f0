"""The example of a provider that serves every extension."""

import shutil

import pytest

from tests.kit_runs import ROOT, reported

pytestmark = pytest.mark.once

COMPLETE = ROOT / "examples" / "complete.py"
SMALLEST = ROOT / "examples" / "smallest.py"


def test_the_complete_example_has_fewer_than_250_lines():
    assert len(COMPLETE.read_text("utf-8").splitlines()) < 250


def judged(tmp_path, *words):
    shutil.copy(COMPLETE, tmp_path)
    run = reported(tmp_path, "--memproto=complete", *words)
    return run["reports"][0], run["run"].stdout


def test_the_complete_example_keeps_what_newer_extensions_ask(tmp_path):
    words = [f"--memproto-clause=MP-{area}" for area in ("CAP", "REC", "ITEMS", "PRIV", "CHECK")]
    report, printed = judged(tmp_path, *words)
    ran = {row["outcome"] for row in report["results"]} - {"not_run", "not_applicable"}
    assert ran == {"pass"}, printed


def test_the_smallest_example_has_fewer_than_60_lines():
    assert len(SMALLEST.read_text("utf-8").splitlines()) < 60
