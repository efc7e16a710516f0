"""Whole runs: waivers, JUnit, jobs of GitHub Actions, and what no output tells."""

import datetime as dt
import json
import xml.etree.ElementTree as ET

import pytest

from memproto.report import html, reading, verifying
from memproto.report.formats import markdown
from tests.kit_runs import kit, write

pytestmark = pytest.mark.once

SECRET = "q7Wz4xYb9kd2mN"
HOME = "/home/somebody/.acme/notes.db"

#: Its errors tell what they should not.
MINE = f"""
import os


class Mine:
    name = "mine"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.home = config["home"]

    def shutdown(self):
        pass

    def capabilities(self):
        return {{"tool_names": [], "suppresses_local_writes": False}}

    def enrich_turn(self, user_message, messages):
        return ""

    def on_memory_write(self, action, target, content, old_text=None):
        pass

    def on_turn_complete(self, user_message, assistant_response):
        key = os.environ["MINE_TOKEN"]
        places = f"{HOME}, {{self.home}}/x.db and {{__file__}}"
        raise OSError(f"{{key}} does not open {{places}}\\n::error::x")

    def on_compress(self, messages, compression_count):
        raise ValueError(f"{{os.environ['MINE_TOKEN']}} at {HOME}")
"""

SETTINGS = """
waivers = "waivers.toml"
[env]
MINE_TOKEN = {from_env = "RUN_WITH"}
"""

ENTRY = """
[{key}]
reason = "it raises until the next release"
issue = "#12"
owner = "mara"
expires = {expires}
"""

AREAS = [f"--memproto-clause=MP-{area}" for area in ("NAME", "COMP-001", "TURN-002", "TURN-001")]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run with all of it: the directory, and what came out."""
    directory = tmp_path_factory.mktemp("ran")
    soon = dt.datetime.now(dt.UTC).date() + dt.timedelta(7)
    entries = [("MP-COMP-001", soon), ("MP-NAME-001", "2099-01-01")]
    text = "".join(ENTRY.format(key=key, expires=expires) for key, expires in entries)
    write(directory, mine__py=MINE, memproto__toml=SETTINGS, waivers__toml=text)
    words = ["--memproto=mine:Mine", *AREAS, "--junitxml=junit.xml", "-n1", "-rs"]
    done = kit(
        directory,
        *words,
        "--memproto-report=report.json",
        RUN_WITH=SECRET,
        GITHUB_ACTIONS="true",
        GITHUB_WORKSPACE=str(directory),
        GITHUB_STEP_SUMMARY=str(directory / "summary.md"),
    )
    assert (directory / "report.json").exists(), done.stdout + done.stderr
    return directory, done


def outcomes(directory):
    found = reading.read(directory / "report.json")
    return found, {row["id"]: row for row in found["reports"][0]["results"]}


def test_a_waived_failure_is_waived_and_a_stale_waiver_makes_the_run_red(ran):
    directory, done = ran
    found, rows = outcomes(directory)
    assert rows["MP-COMP-001"]["outcome"] == "waived"
    assert rows["MP-COMP-001"]["waiver"]["outcome"] == "fail"
    assert rows["MP-TURN-002"]["outcome"] == "fail"
    waivers = found["reports"][0]["waivers"]
    assert [(fault["id"], fault["kind"]) for fault in waivers["faults"]] == [
        ("MP-NAME-001", "stale")
    ]
    assert [(note["id"], note["kind"]) for note in waivers["notes"]] == [
        ("MP-COMP-001", "ends_soon")
    ]
    assert found["exit_code"] == done.returncode == 1
    assert verifying.faults(found) == []


def test_the_terminal_shows_waivers_with_what_to_do(ran):
    _, done = ran
    assert "1 waived" in done.stdout
    assert (
        "MP-NAME-001 holds, and its waiver is stale\n    fix: remove [MP-NAME-001]" in done.stdout
    )
    assert "the waiver of MP-COMP-001 ends in 7 days" in done.stdout
    assert "MP-COMP-001 (MUST) is violated" not in done.stdout


def test_a_test_case_of_junit_has_id_level_outcome_and_clause(ran):
    directory, _ = ran
    cases = {case.get("name"): case for case in ET.parse(directory / "junit.xml").iter("testcase")}
    found = {
        name: {item.get("name"): item.get("value") for item in case.iter("property")}
        for name, case in cases.items()
    }
    assert found["MP-TURN-002"] == {
        "memproto.id": "MP-TURN-002",
        "memproto.level": "MUST",
        "memproto.outcome": "fail",
        "memproto.clause": "spec/v1/50-turns.md#mp-turn-002",
    }
    assert found["MP-COMP-001"]["memproto.outcome"] == "waived"
    assert cases["MP-TURN-002"].find("failure") is not None
    assert cases["MP-COMP-001"].find("skipped") is not None
    assert cases["MP-NAME-001"].find("skipped") is None


def test_a_job_has_no_command_but_those_of_the_kit(ran):
    directory, done = ran
    lines = [line.lstrip() for line in done.stdout.splitlines()]
    stop = next(place for place, line in enumerate(lines) if line.startswith("::stop-commands::"))
    token = lines[stop].removeprefix("::stop-commands::")
    resume = lines.index(f"::{token}::")
    assert "MP-TURN-002 (MUST) is violated" in "\n".join(lines[stop:resume])
    assert "MP-TURN-002 (MUST) is violated" not in "\n".join(lines[resume:])
    assert not any(line.startswith("::") for line in lines[:stop])
    given = [line.partition("::")[2].split(" ")[0] for line in lines[resume + 1 :] if line]
    assert given == ["error", "error", "warning"]
    assert any("file=mine.py,line=" in line for line in lines[resume + 1 :])
    assert "NON-CONFORMANT" in (directory / "summary.md").read_text("utf-8")


def test_no_output_tells_a_credential_or_where_something_lies(ran):
    directory, done = ran
    found = reading.read(directory / "report.json")
    shown = {
        "terminal": done.stdout.replace(f"rootdir: {directory}", "").replace(
            str(directory / "junit.xml"), ""
        ),
        "errors": done.stderr,
        "json": json.dumps(found, ensure_ascii=False),
        "junit": (directory / "junit.xml").read_text("utf-8"),
        "summary": (directory / "summary.md").read_text("utf-8"),
        "markdown": markdown.summary(found),
        "html": html.render(found),
    }
    for name, text in shown.items():
        assert SECRET not in text, name
        assert "/home/somebody" not in text, name
        assert str(directory) not in text, name
        assert "/tmp/memproto-" not in text, name
    assert "[MINE_TOKEN hidden] does not open …/notes.db, $home/x.db and mine.py" in shown["json"]
