"""docs/ci.md, run: from an empty repository to green, to a new fault, to red."""

import datetime as dt
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

#: Another fault than those of the example: recall answers in bytes.
SOUND = 'return "\\n".join(self._turns) or None'
NEW = 'return "\\n".join(self._turns).encode()'


def run(directory, command):
    """One command of the page, in a shell whose path begins with this environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env={**kept, "PATH": path},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def outcomes(path):
    return {
        row["id"]: row["outcome"]
        for row in json.loads(path.read_text("utf-8"))["reports"][0]["results"]
    }


def commands():
    """The commands of the section on what fails already, with a last day that is still to come."""
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    section = text.partition("## What fails already\n")[2].partition("\n## ")[0]
    block = re.search(r"```console\n(.*?)```", section, re.DOTALL)[1]
    later = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=90)
    return re.sub(r"--expires \S+", f"--expires {later}", block).splitlines()


@pytest.mark.long
def test_a_provider_that_fails_is_gated_in_one_step_and_a_new_fault_is_red(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == [".git"]
    source = (ROOT / "examples" / "batches.py").read_text("utf-8")
    (tmp_path / "mypkg.py").write_text(source, "utf-8")
    judge, waive = commands()
    code, said = run(tmp_path, judge)
    assert code == 1, said
    first = outcomes(tmp_path / "first.json")
    failed = {key for key, outcome in first.items() if outcome == "fail"}
    assert failed

    code, said = run(tmp_path, waive)
    assert code == 0, said
    assert [key for key in failed if f"{key} is waived" not in said] == []
    gate = said.splitlines()[-1].removeprefix("next: ")
    assert gate.startswith("echo 'waivers = ")

    code, said = run(tmp_path, f"{gate} --memproto-report=second.json")
    assert code == 0, said
    second = outcomes(tmp_path / "second.json")
    assert "fail" not in second.values()
    assert {second[key] for key in failed} <= {"waived", "pass"}

    assert SOUND in source
    (tmp_path / "mypkg.py").write_text(source.replace(SOUND, NEW), "utf-8")
    judged = gate.partition(" && ")[2]
    code, said = run(tmp_path, f"{judged} --memproto-report=third.json")
    assert code == 1, said
    third = outcomes(tmp_path / "third.json")
    new = {key for key, outcome in third.items() if outcome == "fail"}
    assert "MP-RECALL-001" in new
    assert new.isdisjoint(failed)
    assert "next: mend MP-RECALL-001" in said
