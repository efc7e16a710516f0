"""docs/first-hour.md, run: three faults, green in three edits, each found by the terminal alone."""

import re
import shutil

import pytest

from tests.kit_runs import ROOT, kit_process

pytestmark = pytest.mark.once

PAGE = (ROOT / "docs" / "first-hour.md").read_text("utf-8")

#: The text of each run, and the edit behind it, in the order of the page.
SHOWN = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
EDITS = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)

#: The place, or the call, by which the terminal leads to each edit.
LEADS = (
    r"raised at pantry\.py:(\d+) in Store\.insert",
    r"pantry\.py:(\d+) in Pantry\.shutdown",
    "remove A from",
)

#: A line that a number of lines away is still seen with the one that the terminal names.
NEAR = 2


def plain(text):
    """A text without what a new rule changes: how many wait, and which text was drawn."""
    return re.sub(
        r"observed  A = '[^']*'", "observed  A = T", re.sub(r"it hides \d+", "it hides N", text)
    )


def missed(shown, printed):
    """The first part of a shown text that is not printed behind those before it; "" for none."""
    rest = plain(printed)
    for part in filter(None, plain(shown).split("...\n")):
        _, found, rest = rest.partition(part)
        if not found:
            return part
    return ""


def edited(source, edit):
    """The source with the `-` lines of an edit replaced by its `+` lines, and the first of them."""
    lines = edit.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
    assert source.count(old) == 1
    return source.replace(old, new), source[: source.index(old)].count("\n") + 1


@pytest.mark.nightly
@pytest.mark.long
def test_three_edits_lead_to_green_as_the_page_shows(tmp_path):
    file = tmp_path / "pantry.py"
    shutil.copy(ROOT / "examples" / "pantry.py", file)
    assert (len(SHOWN), len(EDITS), len(LEADS)) == (4, 3, 3)
    for number, shown in enumerate(SHOWN):
        is_last = number == len(EDITS)
        done = kit_process(tmp_path, "--memproto=pantry", timeout_s=900)
        assert missed(shown, done.stdout) == "", done.stdout
        assert done.returncode == (0 if is_last else 1)
        if is_last:
            break
        mended, line = edited(file.read_text("utf-8"), EDITS[number])
        lead = re.search(LEADS[number], done.stdout)
        assert lead is not None
        for named in lead.groups():
            assert abs(int(named) - line) <= NEAR
        file.write_text(mended, "utf-8")
