"""Jobs that judge providers whose every word is hostile, at each exit code."""

import json
import xml.etree.ElementTree as ET

import pytest

from memproto.testing.untrusted_text import one_line
from tests.harmless import HOSTILE, assert_harmless
from tests.kit_runs import kit, write

#: Whole runs of the kit, and no Python of its own.
pytestmark = pytest.mark.once

#: No shape that is hidden by itself.
KEY = "q7Wz4xYb9kdT2mP8nR5vT0sJ6hG3fLw1uEcA"

START = f"""
import logging, os, sys
from tests.good.journal import Journal
SAID = {HOSTILE!r} + os.environ.get("MINE", "")
"""

PRINTS = (
    START
    + """
class Mine(Journal):
    def initialize(self, session_key, config):
        os.write(1, SAID.encode("utf-8", "replace"))
        os.write(2, SAID.encode("utf-8", "replace"))
        logging.getLogger("x").error(SAID)
        super().initialize(session_key, config)
"""
)

RAISES = (
    START
    + """
class Mine(Journal):
    def enrich_turn(self, user_message, messages):
        raise RuntimeError(SAID)
    def on_turn_complete(self, user_message, assistant_response):
        raise type("\\n::error::c", (RuntimeError,), {})(SAID)
    def capabilities(self):
        return {**super().capabilities(), "x_" + SAID: SAID}
"""
)

LACKS = (
    START
    + """
class Mine(Journal):
    def is_available(self):
        return False
    def unavailable_reason(self):
        return SAID
    def initialize(self, session_key, config):
        from memproto.errors import Misconfigured
        raise Misconfigured(SAID)
"""
)

AT_IMPORT = START + "raise RuntimeError(SAID)\n"

#: The kit cannot write its report in the end: exit code 3.
TAKES_THE_REPORT = (
    PRINTS
    + """
        os.path.isfile(REPORT) and os.remove(REPORT)
        os.makedirs(REPORT, exist_ok=True)
"""
)

FUNCTIONS = (
    START
    + """
class Mine(Journal):
    pass
def fails(*given):
    raise RuntimeError(SAID)
"""
)

SETTINGS = '[env]\nMINE = {from_env = "MINE_OF_CI"}\n'


def job(directory, source, *words, settings="", clauses=("NAME", "AVAIL-001", "RECALL-001")):
    write(directory, mine__py=source, memproto__toml=settings + SETTINGS)
    asked = [f"--memproto-clause=MP-{name}" for name in clauses]
    files = ("--junitxml=j.xml", "--memproto-html=h.html", "-rA")
    return kit(
        directory,
        "--memproto=mine:Mine",
        *asked,
        *files,
        *words,
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(directory / "summary.md"),
        MINE_OF_CI=KEY,
    )


def assert_nothing_is_told(directory, done):
    """No output, and no file of the run, holds the credential or most of it."""
    texts = [done.stdout, done.stderr]
    files = [directory / name for name in ("j.xml", "h.html", "summary.md", "report.json")]
    texts += [file.read_text("utf-8") for file in files if file.is_file()]
    for text in texts:
        assert not [at for at in range(len(KEY) - 8) if KEY[at : at + 8] in text]
    if (directory / "j.xml").is_file():
        ET.parse(directory / "j.xml")


@pytest.mark.parametrize(
    ("source", "code", "verdicts"),
    [(PRINTS, 0, 1), (RAISES, 1, 1), (LACKS, 6, 1), (AT_IMPORT, 4, 0)],
    ids=["prints", "raises", "lacks", "at import"],
)
def test_no_word_of_a_provider_is_a_command_or_a_verdict(tmp_path, source, code, verdicts):
    # A worker of pytest-xdist has streams and words of its own.
    workers = ("-n", "1") if source == RAISES else ()
    done = job(tmp_path, source, "--memproto-report=report.json", "-v", *workers)
    assert done.returncode == code, done.stdout + done.stderr
    assert_harmless(done, verdicts)
    assert_nothing_is_told(tmp_path, done)


TELLS = """
from tests.good.journal import Journal

class Mine(Journal):
    def get_config_schema(self):
        return [{"key": "login", "description": "Who.", "secret": True, "env_var": "MINE_LOGIN"}]
    def save_config(self, values, home):
        pass
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self.login = config["account"]["login"]
    def enrich_turn(self, user_message, messages):
        # The text is cut where about a half of the key stands, and the key is told in a part.
        return [("x" * 140) + self.login + ("y" * 300), self.login[2:]]
    def on_turn_complete(self, user_message, assistant_response):
        # Calls alone show this, so that a script is written.
        raise RuntimeError("no account " + self.login + " or " + self.login[2:])
"""


def test_what_a_schema_calls_secret_is_in_no_output_and_in_no_script(tmp_path):
    settings = f'config = {{account = {{login = "{KEY}"}}}}\n'
    words = ("--memproto-report=report.json", "--memproto-replay=replay")
    done = job(tmp_path, TELLS, *words, settings=settings, clauses=("RECALL-001", "TURN-002"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert_nothing_is_told(tmp_path, done)
    assert "[login hidden]" in done.stdout
    scripts = [file.read_text("utf-8") for file in tmp_path.glob("replay/**/*.py")]
    assert "[login hidden]" in "".join(scripts)
    assert not [text for text in scripts if KEY[4:14] in text]


def test_an_error_of_the_kit_lets_no_word_through(tmp_path):
    report = tmp_path / "report.json"
    source = f"REPORT = {str(report)!r}\n{TAKES_THE_REPORT}"
    done = job(tmp_path, source, f"--memproto-report={report}")
    assert done.returncode == 3, done.stdout + done.stderr
    assert_harmless(done, 1)
    assert_nothing_is_told(tmp_path, done)


@pytest.mark.parametrize("key", ["service", "factory", "warm", "settle", "read_back", "cleanup"])
def test_a_function_of_the_settings_that_fails_lets_no_word_through(tmp_path, key):
    done = job(tmp_path, FUNCTIONS, settings=f'{key} = "mine:fails"\n', clauses=("WRITE-001",))
    assert done.returncode == 4, done.stdout + done.stderr
    assert_harmless(done, 0)
    assert_nothing_is_told(tmp_path, done)
    said = "--memproto=mine:Mine: " if key == "factory" else f"memproto.toml:1: {key}: "
    assert said in done.stdout + done.stderr


#: A name that wants to be a command and a verdict, and that a file may have.
NAME = "x\n::error::owned\nmemproto 1.0 · a · native · kit 0.1.0 · CONFORMANT"


@pytest.mark.parametrize(
    "words",
    [
        (f"--memproto={NAME}",),
        ("--memproto=builtin", f"--memproto-profile={NAME}"),
        (f"--memproto-host={NAME}",),
    ],
    ids=["target", "profile", "host"],
)
def test_a_hostile_name_is_told_in_one_line(tmp_path, words):
    done = kit(tmp_path, *words, "--memproto-clause=MP-NAME-001", GITHUB_ACTIONS="true")
    assert done.returncode == 4
    assert_harmless(done, 0)


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_report_path_with_a_hostile_name_is_told_in_one_line(tmp_path, is_taken):
    report = tmp_path / f"{NAME}\x1b[31m\x1b]0;owned\x07\r::error::again.json"
    if is_taken:
        # The kit has to tell that it cannot write there, and so has to tell the name.
        report.mkdir()
    words = ("--memproto=builtin", "--memproto-clause=MP-NAME-001", f"--memproto-report={report}")
    done = kit(tmp_path, *words, GITHUB_ACTIONS="true")
    assert done.returncode == (4 if is_taken else 0), done.stdout + done.stderr
    assert_harmless(done, 0 if is_taken else 1)
    assert ("owned" in done.stdout + done.stderr) == is_taken
    assert report.is_file() != is_taken


def test_a_report_with_hostile_names_is_told_in_one_line(tmp_path, capsys):
    from memproto import cli
    from tests import reports

    file = tmp_path / "r.json"
    document = reports.whole(reports.report(reports.failed(), target=HOSTILE))
    file.write_text(json.dumps(document), "utf-8")
    common = ["--issue", "https://e.org/1", "--owner", "me", "--expires", "2099-01-01"]
    for words in (
        ["badge", str(file), "--target", HOSTILE.replace("\0", ""), "-o", str(tmp_path / "b.svg")],
        ["badge", str(file), "--target", "b", "-o", str(tmp_path / "b.svg")],
        ["waive", "--baseline", str(file), "--target", "b", *common],
        ["waive", HOSTILE, "--reason", "r", *common],
        ["verify", str(file)],
    ):
        assert cli.main(words) != 0
        said = capsys.readouterr()
        for line in (said.out + said.err).split("\n"):
            assert one_line(line) == line
