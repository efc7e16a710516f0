"""A catalog of three entries runs through the commands of the workflow: green, red and red."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from memproto.report import reading, verifying
from tests.catalog.plugins import committed, entry, git, repository
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/catalog.yml").read_text("utf-8"))
SCHEMA = json.loads((ROOT / "tests/report/sarif-2.1.0.schema.json").read_text("utf-8"))
INPUTS = {
    name: str(one.get("default", "")).replace("True", "true")
    for name, one in WORKFLOW[True]["workflow_call"]["inputs"].items()  # YAML reads `on` so
}

#: Areas that tell the three apart in seconds; a catalog asks for all.
CLAUSES = "MP-LOAD\nMP-PLUG\nMP-TURN-001\nMP-PROC-001"


def step(job, name):
    (found,) = [one for one in WORKFLOW["jobs"][job]["steps"] if one.get("id") == name]
    return found


def run(job, name, folder, **known):
    """A step's script in bash, as the runner runs it; `known` are values of expressions."""
    found = step(job, name)
    values = {**{f"inputs.{key}": text for key, text in INPUTS.items()}, **known}
    env = {
        key: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda one: values[one[1]], text)
        for key, text in found["env"].items()
    }
    kept = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST_")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", found["run"]],
        cwd=folder,
        env={
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(folder),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            **env,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """The repository of a catalog whose last commit adds three memory entries and two others."""
    folder = tmp_path_factory.mktemp("three")
    made = {
        "good": repository(folder / "good"),
        "more": repository(folder / "more", provides_tools=["tide_forecast"]),
        "loses": repository(folder / "loses", keeps="len(self.read()) < 1"),
    }
    home = folder / "catalog"
    home.mkdir()
    (home / "README.md").write_text("Plugins\n", "utf-8")
    base = committed(home).sha
    for name, one in made.items():
        entry(home / "plugin-catalog" / f"{name}.yaml", one)
    entry(home / "plugin-catalog" / "theme.yaml", made["good"], category="theme")
    (home / "plugin-catalog" / "removed.yaml").write_text("removed: []\n", "utf-8")
    committed(home)
    return home, base, made


@pytest.fixture(scope="module")
def matrix(catalog):
    home, base, _ = catalog
    known = {"github.event.pull_request.base.sha": base}
    done = run("entries", "entries", home, **known)
    assert done.returncode == 0, done.stderr
    said = dict(line.split("=", 1) for line in (home / "output").read_text().splitlines())
    return json.loads(said["matrix"])["include"], said["count"]


@pytest.fixture(scope="module")
def judged(catalog, matrix, tmp_path_factory):
    """The folder and the finished run of each entry's job."""
    home, _, made = catalog
    found = {}
    for row in matrix[0]:
        folder = tmp_path_factory.mktemp(row["name"])
        git(folder, "clone", "-q", str(home), "catalog")
        git(folder, "clone", "-q", str(made[row["name"]].path), "plugin")
        known = {f"matrix.{key}": text for key, text in row.items()}
        done = run("judge", "judge", folder, **{**known, "inputs.clauses": CLAUSES})
        found[row["name"]] = (folder, done)
    return found


def test_the_matrix_has_the_changed_memory_entries(catalog, matrix):
    rows, count = matrix
    assert count == "3"
    assert [row["name"] for row in rows] == ["good", "loses", "more"]
    assert rows[0] == {
        "file": "plugin-catalog/good.yaml",
        "name": "good",
        "repository": "someone/good",
        "sha": catalog[2]["good"].sha,
    }


def test_the_good_one_is_green_and_the_others_are_red(judged):
    codes = {name: done.returncode for name, (_, done) in judged.items()}
    assert codes == {"good": 0, "more": 1, "loses": 1}, {
        name: done.stdout + done.stderr for name, (_, done) in judged.items()
    }


def failed(folder):
    document = reading.read(folder / "report.json")
    assert verifying.faults(document) == []
    checks = {one["name"] for one in document["catalog"]["checks"] if one["outcome"] == "fail"}
    (report,) = document["reports"]
    return checks, {row["id"] for row in report["results"] if row["outcome"] == "fail"}


def test_each_is_red_for_its_own_fault(judged):
    assert failed(judged["good"][0]) == (set(), set())
    assert failed(judged["more"][0]) == ({"declared and served"}, set())
    checks, rules = failed(judged["loses"][0])
    assert checks == set()
    assert "MP-TURN-001" in rules


def test_the_sarif_of_each_agrees_with_its_schema(judged):
    for folder, _ in judged.values():
        log = json.loads((folder / "report.sarif").read_text("utf-8"))
        jsonschema.Draft202012Validator(SCHEMA).validate(log)
        assert [one["tool"]["driver"]["name"] for one in log["runs"]] == [
            "memproto",
            "memproto catalog",
        ]
    more = json.loads((judged["more"][0] / "report.sarif").read_text("utf-8"))["runs"][1]
    (result,) = more["results"]
    assert result["ruleId"] == "catalog/declared-and-served"
    assert "tide_forecast" in result["message"]["text"]


def test_the_summary_and_the_letter_tell_what_to_change(judged):
    for name, told in (("good", "Thank you: good holds"), ("more", "tide&#95;forecast")):
        folder, _ = judged[name]
        assert told in (folder / "letter.md").read_text("utf-8")
        assert "### Catalog entry" in (folder / "summary.md").read_text("utf-8")
    letter = (judged["loses"][0] / "letter.md").read_text("utf-8")
    assert "MP&#45;TURN&#45;001" in letter or "MP-TURN-001" in letter
    assert "pytest --memproto=./integrations/hermes" in letter


def test_no_file_but_those_of_the_run_is_left_in_the_job(judged):
    folder, _ = judged["good"]
    left = {path.name for path in folder.iterdir()}
    files = {"report.json", "report.sarif", "letter.md", "summary.md"}
    assert left - {"output"} == {"catalog", "plugin", *files}
