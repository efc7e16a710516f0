"""Every `memproto` command of the pages on waivers and on reports in CI runs as it stands there."""

import re
import shlex
import tomllib

import pytest

from memproto import cli
from memproto.testing.settings import waiver_entries, waivers
from tests.kit_runs import ROOT
from tests.made_reports import built, judged, saved

pytestmark = pytest.mark.once

PAGES = ("waivers.md", "ci-reports.md")
TEXTS = {name: (ROOT / "docs" / name).read_text("utf-8") for name in PAGES}
COMMANDS = [
    line.removeprefix("$ memproto ")
    for text in TEXTS.values()
    for line in text.splitlines()
    if line.startswith("$ memproto ")
]


@pytest.fixture
def _reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "report.json", built(judged(MP_TURN_003="fail")))
    saved(tmp_path / "old.json", built(judged(MP_TURN_003="fail")))
    for number, area in ((1, "MP-TURN"), (2, "MP-RECALL")):
        found = built(judged(only=(area,)), narrowed=True)
        saved(tmp_path / f"shard-{number}.json", found)


def test_each_command_of_the_kit_that_reads_reports_is_shown():
    shown = {command.split()[0] for command in COMMANDS}
    assert shown == {"verify", "diff", "merge", "summary", "badge", "sarif", "waive"}


@pytest.mark.usefixtures("_reports")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_runs(command):
    assert cli.main(shlex.split(command)) == 0


def test_the_entry_of_the_page_is_a_valid_waiver():
    [text] = re.findall(r"```toml\n(\[MP.*?)```", TEXTS["waivers.md"], re.DOTALL)
    [(key, value)] = tomllib.loads(text).items()
    entry = waiver_entries.Entry(key, value, "waivers.toml", text)
    waiver, faults = waiver_entries.judged(entry, value["expires"])
    assert (waiver.id, faults) == (key, [])
    assert waivers.WARNED_DAYS == 14
    assert "fourteen days" in TEXTS["waivers.md"]
