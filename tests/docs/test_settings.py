"""Every example of docs/settings.md runs as it stands there, and ends as it says."""

import re
import shlex

import pytest

from memproto.testing.settings import keys as settings_keys
from tests.kit_runs import ROOT, kit

pytestmark = pytest.mark.once

TEXT = (ROOT / "docs" / "settings.md").read_text("utf-8")
FILE = re.compile(r"^`(?P<name>[\w.]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^```console\n\$ pytest (?P<words>.*?)\n(?P<end>.*?)^```$", re.MULTILINE | re.DOTALL
)
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
EXAMPLES = {title: text for title, text in SECTIONS.items() if "```console" in text}


def files_of(section):
    return {match["name"]: match["text"] for match in FILE.finditer(section)}


def test_each_key_has_an_example_and_a_row():
    keys = {key for title in EXAMPLES for key in title.split(", ")}
    assert keys == set(settings_keys.KEYS)
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == keys


@pytest.mark.long
@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_ends_as_it_is_shown(tmp_path, title):
    shared = files_of(SECTIONS["The provider of the examples"])
    for name, text in {**shared, **files_of(EXAMPLES[title])}.items():
        (tmp_path / name).write_text(text, "utf-8")
    command = COMMAND.search(EXAMPLES[title])
    done = kit(tmp_path, *shlex.split(command["words"]))
    printed = [line for line in done.stdout.splitlines() if line in command["end"].splitlines()]
    assert printed == command["end"].splitlines(), done.stdout + done.stderr
    assert done.returncode == int(printed[-1].removeprefix("exit code "))
    if (tmp_path / "account").exists():
        assert list((tmp_path / "account").iterdir()) == []
