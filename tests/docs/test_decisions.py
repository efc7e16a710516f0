"""The records of decisions: numbered without a gap, complete, listed, and linked."""

import re

import pytest

from scripts import decisions
from tests.docs import documents
from tests.kit_runs import ROOT


@pytest.fixture
def checkout(tmp_path):
    """A checkout with two records that have numbers, and a page that links to a draft."""
    folder = tmp_path / decisions.FOLDER
    folder.mkdir(parents=True)
    for number, title in ((1, "first"), (2, "second")):
        text = f"# The {title}\n\n- Date: 2026-01-0{number}\n- Status: accepted\n"
        (folder / f"{number:04}-{title}.md").write_text(text, "utf-8")
    (tmp_path / "page.md").write_text("[x](docs/decisions/2026-02-01-later.md)\n", "utf-8")
    return tmp_path


def draft(checkout, name, text):
    (checkout / decisions.FOLDER / name).write_text(text, "utf-8")


def test_every_record_has_its_number():
    assert decisions.drafts() == [], "run python -P scripts/generate.py --number"


def test_every_file_of_the_folder_is_a_record_or_the_index():
    names = {path.name for path in (ROOT / decisions.FOLDER).iterdir()}
    assert names == {"index.md", *(record.file for record in decisions.records())}


def test_numbers_have_no_gap():
    found = decisions.records()
    assert [int(record.number) for record in found] == list(range(1, len(found) + 1))


def test_each_record_has_its_sections_once_and_in_order():
    for record in decisions.records():
        headings = re.findall(r"^## (.+)$", record.text, re.MULTILINE)
        assert [one for one in headings if one in decisions.SECTIONS] == [*decisions.SECTIONS], (
            record.file
        )
        assert re.match(r"(accepted|superseded)\b", record.status), record.file


def test_titles_are_told_apart():
    titles = [record.title for record in decisions.records()]
    assert len(titles) == len(set(titles))


def test_the_links_of_records_lead_to_what_is_there():
    for record in decisions.records():
        page = ROOT / decisions.FOLDER / record.file
        for link in documents.links(page):
            place, _, anchor = link.partition("#")
            target = (page.parent / place).resolve() if place else page
            assert target.exists(), f"{record.file}: {link}"
            assert not anchor or anchor in documents.anchors(target), f"{record.file}: {link}"


def test_a_draft_gets_the_next_number_and_links_follow_it(checkout):
    draft(checkout, "2026-02-02-last.md", "# Last\n\nSee [x](2026-02-01-later.md).\n")
    draft(checkout, "2026-02-01-later.md", "# Later\n\n## Context\n")
    assert decisions.number(checkout) == {
        "2026-02-01-later.md": "0003-later.md",
        "2026-02-02-last.md": "0004-last.md",
    }
    later, last = decisions.records(checkout)[2:]
    assert (later.date, later.status, last.date) == ("2026-02-01", "accepted", "2026-02-02")
    assert "See [x](0003-later.md)." in last.text
    assert (checkout / "page.md").read_text("utf-8") == "[x](docs/decisions/0003-later.md)\n"
    assert decisions.number(checkout) == {}


def test_a_draft_keeps_the_date_and_the_status_that_it_has(checkout):
    text = "# Later\n\n- Date: 2026-01-20\n- Status: superseded by 0002\n\n## Context\n"
    draft(checkout, "2026-02-01-later.md", text)
    decisions.number(checkout)
    assert decisions.records(checkout)[2].text == text


def test_a_record_without_its_date_is_named(checkout):
    draft(checkout, "0003-bare.md", "# Bare\n")
    with pytest.raises(decisions.BrokenRecord, match=r"0003-bare\.md: needs"):
        decisions.index(checkout)
