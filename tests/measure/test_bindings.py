"""Targets of every binding are measured: those of the kit, and one that another package brings."""

import json
import os
import subprocess
import sys

import pytest

from memproto.measure import invented
from tests.kit_runs import ROOT, install

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def corpus():
    return invented.corpus(0, people=1)


def test_a_served_provider_recalls_as_the_same_one_in_the_process(measured, corpus):
    words = f"{sys.executable} -P -m memproto serve"
    targets = (f"wire:{words} sqlite", "sqlite")
    rows = [measured(target, [corpus]).row for target in targets]
    assert [row["binding"] for row in rows] == ["wire", "native"]
    assert rows[0]["recall"] == rows[1]["recall"]
    assert rows[0]["told"] == rows[1]["told"] == {"turns": corpus.turn_count, "refused": 0}


def test_a_plugin_of_hermes_is_measured_by_the_hooks_of_its_host(measured, corpus):
    row = measured("tests.good.plugged:Plugged", [corpus], sizes=(10,)).row
    assert (row["binding"], row["route"]) == ("hermes", "turns")
    assert row["told"] == {"turns": corpus.turn_count, "refused": 0}
    assert row["recall"]["found"]["all"]["share"] > 0.3
    assert {"recall", "record"} <= row["speed"]["sizes"][0]["operations"].keys()


def test_a_provider_of_a_binding_that_a_package_brings_is_measured(tmp_path):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    install(tmp_path, "larder", "tests.larder:BINDING")
    words = ["--repeats", "1", "--sizes", "10", "--report", "m.json"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memproto", "measure", "tests.larder:Shelf", *words],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (*_, row) = json.loads((tmp_path / "m.json").read_text("utf-8"))["rows"]
    assert (row["target"], row["binding"]) == ("tests.larder:Shelf", "larder")
    assert row["recall"]["found"]["all"]["share"] > 0.3
    assert [size["turns"] for size in row["speed"]["sizes"]] == [10]
