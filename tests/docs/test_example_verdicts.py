"""The examples conform: the provider that serves every extension, and the agent."""

import json
import re
import shutil

import pytest

from memproto import spec
from tests.docs.test_examples import SMALLEST, judged
from tests.kit_runs import ROOT, reported

pytestmark = pytest.mark.once

AGENT = ROOT / "examples" / "agent"
STRANGER = ROOT / "examples" / "stranger"


def extensions_of_the_specification():
    text = (ROOT / "spec" / "v1" / "schemas" / "capabilities.schema.json").read_text("utf-8")
    return set(json.loads(text)["properties"]["extensions"]["items"]["enum"])


@pytest.mark.long
def test_the_complete_example_conforms_with_every_extension(tmp_path):
    report, printed = judged(tmp_path)
    assert report["verdict"] == "CONFORMANT", printed
    verdicts = {name: row["verdict"] for name, row in report["extensions"].items()}
    assert verdicts == dict.fromkeys(extensions_of_the_specification(), "CONFORMANT")


def test_the_example_agent_is_a_conformant_host(tmp_path):
    shutil.copytree(AGENT, tmp_path, dirs_exist_ok=True)
    run = reported(tmp_path, "--memproto-host=driver:ExampleAgent")
    (report,) = run["reports"]
    assert report["verdict"] == "CONFORMANT", run["run"].stdout


@pytest.mark.long
def test_the_provider_that_was_written_from_the_text_holds_every_class(tmp_path):
    shutil.copy(STRANGER / "lantern.py", tmp_path)
    run = reported(tmp_path, "--memproto=lantern:Lantern", "--memproto-profile=quick")
    (report,) = run["reports"]
    verdicts = dict.fromkeys(spec.CLASSES, "CONFORMANT")
    assert report["classes"] == verdicts, run["run"].stdout


@pytest.mark.long
def test_the_host_that_was_written_from_the_text_conforms(tmp_path):
    shutil.copy(STRANGER / "harborhost.py", tmp_path)
    run = reported(tmp_path, "--memproto-host=harborhost:Host", "--memproto-profile=quick")
    (report,) = run["reports"]
    assert report["verdict"] == "CONFORMANT", run["run"].stdout


def test_the_smallest_example_holds_core_and_lacks_what_the_page_says(tmp_path):
    shutil.copy(SMALLEST, tmp_path)
    run = reported(tmp_path, "--memproto=smallest:Smallest", "--memproto-class=core")
    (report,) = run["reports"]
    assert run["exit_code"] == 0, run["run"].stdout
    assert report["classes"]["core"] == "CONFORMANT"
    page = (ROOT / "docs" / "classes.md").read_text("utf-8")
    told = re.findall(r"^\| \[(MP-[A-Z-]+-\d{3})\]\([^)]+\) \| (\w+) \|", page, re.MULTILINE)
    red = [row["id"] for row in report["results"] if row["outcome"] in ("fail", "warn")]
    assert sorted(name for name, _ in told) == sorted(red)
    assert all(spec.requirement(name).conformance_class == found for name, found in told)
    (line,) = re.findall(r"^memproto 1.0 · smallest.*$", page, re.MULTILINE)
    assert line in run["run"].stdout
