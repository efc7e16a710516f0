"""The example that serves every extension was written from the specification alone."""

import json
import shutil

from tests import kit_runs
from tests.kit_runs import ROOT, reported

COMPLETE = ROOT / "examples" / "complete.py"


def extensions_of_the_specification():
    text = (ROOT / "spec" / "v1" / "schemas" / "capabilities.schema.json").read_text("utf-8")
    return set(json.loads(text)["properties"]["extensions"]["items"]["enum"])


def test_the_complete_example_has_fewer_than_250_lines():
    assert len(COMPLETE.read_text("utf-8").splitlines()) < 250


def test_the_complete_example_conforms_with_every_extension(tmp_path, monkeypatch):
    monkeypatch.setattr(kit_runs, "TIMEOUT_S", 600)  # every check of every extension, one run
    shutil.copy(COMPLETE, tmp_path)
    run = reported(tmp_path, "--memproto=complete", "--memproto-profile=quick")
    (report,) = run["reports"]
    assert report["verdict"] == "CONFORMANT", run["run"].stdout
    verdicts = {name: row["verdict"] for name, row in report["extensions"].items()}
    assert verdicts == dict.fromkeys(extensions_of_the_specification(), "CONFORMANT")
