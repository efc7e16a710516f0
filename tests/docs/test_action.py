"""The GitHub action and workflows: read as GitHub reads them, their steps run in bash."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from memproto import cli, pytest_plugin, spec
from tests.docs import documents
from tests.kit_runs import ROOT
from tests.made_reports import built, judged, saved

pytestmark = pytest.mark.once

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
WORKFLOWS = [
    ROOT / ".github/workflows/conformance.yml",
    ROOT / ".github/workflows/catalog.yml",
    ROOT / ".github/workflows/canary.yml",
    ROOT / ".github/workflows/mutation.yml",
    ROOT / ".github/workflows/nightly.yml",
    ROOT / ".github/workflows/census.yml",
    ROOT / "memproto/scaffold/templates/python/.github/workflows/conformance.yml",
]

#: Stands for an interpreter: tells how it was called, and writes what a run writes.
PYTHON = """\
#!{python}
import json, os, sys
words = sys.argv[1:]
if words == ["-P", "-"] or words[:4] == ["-P", "-m", "memproto.cli", "diff"]:
    os.execv(sys.executable, [sys.executable, *words])
texts = [open(word).read() if word.startswith("/dev/fd/") else word for word in words]
with open({log!r}, "a") as log:
    log.write(json.dumps(texts) + "\\n")
for word in words:
    if word.startswith("--memproto-report=") and {verdict!r}:
        with open(word.partition("=")[2], "w") as file:
            json.dump({{"reports": [{{"verdict": {verdict!r}, "classes": {classes!r}}}]}}, file)
sys.exit({code})
"""

#: Text that would run, or end a quotation, if it became a part of the script.
HOSTILE = "x; touch pwned $(touch pwned) `touch pwned` \"' && touch pwned #"


class Runner:
    """Runs a step of the action in bash, as the runner does, in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.output = folder / "output"
        self.log = folder / "calls"
        self.log.touch()
        self.summary = folder / "summary.md"
        self.kept = folder / "memproto-former.json"

    def stands_in(self, *, code=0, verdict="CONFORMANT", classes=None):
        binary = self.folder / "bin" / "python"
        binary.parent.mkdir(exist_ok=True)
        text = PYTHON.format(
            python=sys.executable,
            log=str(self.log),
            verdict=verdict,
            classes=classes or {},
            code=code,
        )
        binary.write_text(text, "utf-8")
        binary.chmod(0o755)

    def run(self, step, **given):
        defaults = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        inputs = {**defaults, **{name.replace("_", "-"): value for name, value in given.items()}}
        env = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)
            for name, text in STEPS[step]["env"].items()
        }
        script = self.folder / "step.sh"
        script.write_text(STEPS[step]["run"], "utf-8")
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.folder,
            env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "GITHUB_OUTPUT": str(self.output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "RUNNER_TEMP": str(self.folder),
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self):
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


@pytest.fixture
def runner(tmp_path):
    made = Runner(tmp_path)
    made.stands_in()
    return made


def scripts(document):
    if isinstance(document, dict):
        yield from ([document["run"]] if isinstance(document.get("run"), str) else [])
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from scripts(part)


@pytest.mark.parametrize("file", [ROOT / "action.yml", *WORKFLOWS], ids=lambda file: file.parts[-2])
def test_no_script_holds_an_expression(file):
    found = list(scripts(yaml.safe_load(file.read_text("utf-8"))))
    assert [text for text in found if "${{" in text] == []


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.parts[-4])
def test_a_workflow_can_only_read_and_keeps_no_token(file):
    workflow = yaml.safe_load(file.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets" not in file.read_text("utf-8")
    assert "pull_request_target" not in file.read_text("utf-8")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert {step["with"]["persist-credentials"] for step in checkouts} == {False}


def test_the_reusable_workflow_hands_each_input_to_the_action():
    workflow = yaml.safe_load(WORKFLOWS[0].read_text("utf-8"))
    called = workflow[True]["workflow_call"]["inputs"]  # YAML reads `on` as a boolean
    (step,) = [one for one in workflow["jobs"]["judge"]["steps"] if one.get("id") == "judge"]
    assert set(step["with"]) <= set(ACTION["inputs"])
    used = set(re.findall(r"inputs\.([\w-]+)", WORKFLOWS[0].read_text("utf-8")))
    assert used == set(called)
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert required <= set(step["with"])


def test_each_input_reaches_a_step():
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])


def test_the_options_of_the_action_are_options_of_the_kit():
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    known = {option.names()[0] for option in parser.getgroup("memproto").options}
    used = set(re.findall(r"--memproto[a-z-]*", STEPS["judge"]["run"]))
    assert used <= known
    assert len(used) >= 6


def test_pip_gets_the_kit_and_what_is_asked_for(runner):
    done = runner.run("install", kit="memproto[kit]==0.1.0", install="-e .\nnumpy>=2")
    assert done.returncode == 0, done.stderr
    (call,) = runner.calls
    assert call[:5] == ["-P", "-m", "pip", "install", "--disable-pip-version-check"]
    assert call[5:] == ["-r", "-e .\nnumpy>=2\n", "-r", "memproto[kit]==0.1.0\n"]


def test_the_kit_is_called_as_the_inputs_say(runner):
    given = {"target": "a\nb\n", "clauses": "MP-TURN\nMP-TOOL", "workers": "2", "strict": "true"}
    done = runner.run("judge", **given)
    assert done.returncode == 0, done.stderr
    assert runner.calls == [
        [
            *("-P", "-m", "memproto.cli", "judge"),
            *("--memproto-spec=1.0", "--memproto-profile=ci"),
            *("--memproto-report=report.json", "--memproto=a", "--memproto=b"),
            *("--memproto-clause=MP-TURN", "--memproto-clause=MP-TOOL", "-n", "2"),
            "--memproto-strict",
        ]
    ]


def test_a_host_is_judged_as_a_host(runner):
    runner.run("judge", target="mypkg:Driver", side="host", allow_incomplete="true")
    (call,) = runner.calls
    assert call[-2:] == ["--memproto-host=mypkg:Driver", "--memproto-allow-incomplete"]


@pytest.mark.parametrize("code", [0, 1, 6])
def test_the_action_ends_as_the_kit_and_tells_the_verdict(runner, code):
    verdict = {0: "CONFORMANT", 1: "NON-CONFORMANT", 6: "INCOMPLETE"}[code]
    runner.stands_in(code=code, verdict=verdict)
    assert runner.run("judge", target="a").returncode == code
    told = runner.output.read_text("utf-8").splitlines()
    assert told[0] == f"exit-code={code}"
    assert told[1].removeprefix("verdict<<") == told[3]
    assert told[2] == verdict
    assert told[-2] == str(runner.folder / "report.json")


@pytest.mark.parametrize("name", ["core", "durable"])
def test_the_class_that_was_asked_for_reaches_the_kit(runner, name):
    runner.run("judge", **{"target": "a", "class": name})
    (call,) = runner.calls
    assert f"--memproto-class={name}" in call


def test_the_last_class_is_asked_for_without_a_word(runner):
    runner.run("judge", target="a")
    assert not any("--memproto-class" in word for word in runner.calls[0])


def test_the_action_tells_the_highest_class_that_holds(runner):
    runner.stands_in(
        classes={"core": "CONFORMANT", "durable": "CONFORMANT", "shared": "INCOMPLETE"}
    )
    runner.run("judge", target="a")
    told = runner.output.read_text("utf-8").splitlines()
    start = next(place for place, line in enumerate(told) if line.startswith("class<<"))
    assert told[start + 1] == "durable"
    assert told[start + 2] == told[start].removeprefix("class<<")


def test_a_report_of_an_earlier_run_is_not_told_for_this_one(runner):
    (runner.folder / "report.json").write_text('{"reports": [{"verdict": "CONFORMANT"}]}', "utf-8")
    runner.stands_in(code=4, verdict="")
    assert runner.run("judge", target="nowhere").returncode == 4
    assert runner.output.read_text("utf-8") == "exit-code=4\n"


def test_what_changed_since_a_former_report_is_told_in_the_summary(runner):
    former = saved(runner.folder / "report.json", built(judged()))
    assert runner.run("former", former_report="report.json").stdout == ""
    saved(former, built(judged(MP_TURN_003="fail")))  # the new one stands where the former did
    done = runner.run("compare", former_report="report.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert "| <code>MP-TURN-003</code> | provider mine | pass | fail |" in (
        runner.summary.read_text("utf-8")
    )


def test_without_a_former_report_nothing_is_compared_and_that_is_said(runner):
    runner.kept.write_text("that of an earlier use of the action", "utf-8")
    done = runner.run("former", former_report="former.json")
    assert (done.returncode, runner.kept.exists()) == (0, False)
    assert "::notice title=memproto::there is no former report" in done.stdout
    saved(runner.folder / "report.json", built(judged()))
    assert runner.run("compare", former_report="former.json").returncode == 0
    assert not runner.summary.exists()


def test_a_former_report_that_cannot_be_read_is_told_and_gates_nothing(runner):
    (runner.folder / "former.json").write_text("[]", "utf-8")
    saved(runner.folder / "report.json", built(judged()))
    runner.run("former", former_report="former.json")
    done = runner.run("compare", former_report="former.json")
    assert done.returncode == 0
    assert "::warning title=memproto::the reports cannot be compared" in done.stdout
    assert "is JSON, and no report of memproto" in done.stderr


def test_an_unknown_side_is_refused(runner):
    done = runner.run("judge", target="a", side="both")
    assert done.returncode == 4
    assert "provider or host, not 'both'" in done.stdout
    assert runner.calls == []


@pytest.mark.parametrize("name", [n for n in ACTION["inputs"] if n not in ("directory", "side")])
def test_no_input_is_run_as_code(runner, name):
    if name == "python-version":
        assert "inputs.python-version" not in json.dumps(STEPS)
        return
    steps = {"install": "install", "kit": "install", "former-report": "former"}
    step = steps.get(name, "judge")
    runner.run(step, **{"target": "a", name: HOSTILE})
    runner.run("compare", **{name: HOSTILE})
    assert not list(runner.folder.rglob("pwned"))
    if name not in ("strict", "allow-incomplete", "former-report"):
        assert any(HOSTILE in word for call in runner.calls for word in call)


# -- the page --------------------------------------------------------------------------------------

PAGE = ROOT / "docs" / "ci.md"
EXAMPLES = [yaml.safe_load(text) for text in documents.blocks(PAGE, "yaml")]


def test_the_page_lists_each_input_with_its_default():
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (?:`([^`]+)`)? ?\|", text, re.MULTILINE)
    assert dict(rows) == {
        name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()
    }


def steps_of(example):
    return [step for job in example["jobs"].values() for step in job.get("steps", ())]


def test_its_examples_hand_over_inputs_that_exist():
    for example in EXAMPLES:
        for step in steps_of(example):
            if step.get("uses", "").startswith("OWNER/memproto@"):
                assert set(step["with"]) <= set(ACTION["inputs"])
        for job in example["jobs"].values():
            if "uses" in job:
                called = yaml.safe_load(WORKFLOWS[0].read_text("utf-8"))[True]["workflow_call"]
                assert set(job["with"]) <= set(called["inputs"])
                required = {name for name, one in called["inputs"].items() if one.get("required")}
                assert required <= set(job["with"])
        assert example["permissions"] == {"contents": "read"}


def test_the_parts_of_the_matrix_are_all_areas_and_none_twice():
    (parts,) = [
        job["strategy"]["matrix"]["include"]
        for example in EXAMPLES
        for job in example["jobs"].values()
        if "strategy" in job
    ]
    named = [line for part in parts for line in part["clauses"].splitlines()]
    assert sorted(named) == sorted({f"MP-{item.area}" for item in spec.select([], "provider")})


def test_its_last_command_merges_what_the_parts_wrote():
    run = [step.get("run", "") for example in EXAMPLES for step in steps_of(example)]
    (command,) = [text for text in run if "merge" in text]
    options = cli._parser().parse_args(shlex.split(command)[1:])
    assert [path.stem for path in options.reports] == ["core", "faults", "extensions"]
    assert options.gate


def test_the_gate_for_a_fork_takes_its_settings_from_the_base_and_has_nothing_to_steal():
    (example,) = [one for one in EXAMPLES if one["name"] == "gate"]
    assert example[True] == ["pull_request"]  # YAML reads `on` as a boolean
    checkouts = [one for one in steps_of(example) if one["uses"].startswith("actions/checkout@")]
    base, proposed = [step["with"] for step in checkouts]
    assert base["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert (base["path"], proposed["path"]) == ("base", "proposed")
    (judging,) = [one["with"] for one in steps_of(example) if one["uses"].startswith("OWNER/")]
    assert judging["directory"] == proposed["path"]
    assert judging["settings"].startswith(f"../{base['path']}/")


def test_the_settings_that_are_named_reach_the_kit(runner):
    runner.run("judge", target="a", settings="../base/memproto.toml")
    (call,) = runner.calls
    assert "--memproto-settings=../base/memproto.toml" in call


def test_the_reusable_workflow_takes_settings_from_the_base_alone():
    workflow = yaml.safe_load(WORKFLOWS[0].read_text("utf-8"))
    (step,) = [
        one
        for one in workflow["jobs"]["judge"]["steps"]
        if one.get("with", {}).get("path") == "memproto-settings"
    ]
    assert step["with"]["ref"] == "${{ github.event.pull_request.base.sha || github.sha }}"
