"""The examples conform: the provider that serves every extension, and the agent."""

import json
import shutil

import pytest

from tests.docs.test_examples import judged
from tests.kit_runs import ROOT, reported

pytestmark = pytest.mark.once

AGENT = ROOT / "examples" / "agent"


def extensions_of_the_specification():
    text = (ROOT / "spec" / "v1" / "schemas" / "capabilities.schema.json").read_text("utf-8")
    return set(json.loads(text)["properties"]["extensions"]["items"]["enum"])


def test_the_complete_example_conforms_with_every_extension(tmp_path, monkeypatch):
    report, printed = judged(tmp_path, monkeypatch)
    assert report["verdict"] == "CONFORMANT", printed
    verdicts = {name: row["verdict"] for name, row in report["extensions"].items()}
    assert verdicts == dict.fromkeys(extensions_of_the_specification(), "CONFORMANT")


def test_the_example_agent_is_a_conformant_host(tmp_path):
    shutil.copytree(AGENT, tmp_path, dirs_exist_ok=True)
    run = reported(tmp_path, "--memproto-host=driver:ExampleAgent")
    (report,) = run["reports"]
    assert report["verdict"] == "CONFORMANT", run["run"].stdout
