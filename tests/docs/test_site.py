"""The pages of the documentation site, as they are gathered; `tox run -e pages` builds them."""

import importlib
import re
import sys

import pytest

from memproto import spec
from tests.broken.marks import load_all
from tests.docs import documents
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

SITE = ROOT / "scripts" / "site"


@pytest.fixture(scope="module")
def site():
    """The modules of the script."""
    sys.path.insert(0, str(SITE))
    names = ("navigation", "linking", "generated", "built", "requirement_pages")
    yield {name: importlib.import_module(name) for name in names}
    sys.path.remove(str(SITE))
    for name in names:
        del sys.modules[name]


@pytest.fixture(scope="module")
def pages(site, tmp_path_factory):
    """The folder of all pages."""
    folder = tmp_path_factory.mktemp("pages")
    location = importlib.util.spec_from_file_location("site_main", SITE / "__main__.py")
    main = importlib.util.module_from_spec(location)
    location.loader.exec_module(main)
    main.build(folder)
    return folder


def test_each_page_of_the_navigation_is_gathered(site, pages):
    for page in site["navigation"].pages(ROOT / "mkdocs.yml"):
        assert (pages / page).stat().st_size > 0, page


def test_each_record_of_a_decision_is_gathered(site, pages):
    listed = site["navigation"].listed(ROOT)
    assert len(listed) > 1
    for page in listed:
        assert (pages / page).stat().st_size > 0, page


def test_a_chapter_is_what_stands_in_the_repository(site, pages):
    source = (ROOT / "spec/v1/50-turns.md").read_text("utf-8")
    shown = (pages / "spec/v1/50-turns.md").read_text("utf-8")
    lines = [line.rstrip() for line in site["linking"]._LINK.sub("", shown).splitlines()]
    assert lines == site["linking"]._LINK.sub("", source).splitlines()
    assert "all providers  \nA provider" in shown  # two spaces end the line for a reader, too


def test_each_link_leads_to_a_page_that_is_there(pages):
    for page in pages.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", documents.prose(page)):
            if not link.startswith("https://"):
                assert (page.parent / link).exists(), f"{page.relative_to(pages)}: {link}"


def test_a_file_that_a_page_links_to_becomes_a_page(pages):
    assert (
        (pages / "examples/complete.py.md").read_text("utf-8").startswith("# examples/complete.py")
    )
    listed = (pages / "examples/agent.md").read_text("utf-8")
    assert "[agent.py](agent/agent.py.md)" in listed


def test_links_in_code_stay_as_they_are(site):
    text = "see `[a](../README.md)`\n```text\n[a](../README.md)\n```\n[a](../README.md)"
    assert site["linking"].adjusted(text, "docs/fence.md") == (
        "see `[a](../README.md)`\n```text\n[a](../README.md)\n```\n[a](../index.md)"
    )


def test_the_table_of_requirements_holds_each_with_its_clause(pages):
    table = (pages / "docs/requirements.md").read_text("utf-8")
    for item in spec.requirements().values():
        assert f"| [{item.id}](../spec/v1/{item.anchor}) | {item.level} |" in table


def test_each_requirement_has_a_page_with_its_example_broken_provider_and_history(pages):
    for item in spec.requirements().values():
        text = (pages / "docs" / "requirements" / f"{item.id}.md").read_text("utf-8")
        for title in ("## Rationale", "## Example", "## Fix", "## History"):
            assert f"\n{title}\n" in text, (item.id, title)
        assert f"(../../spec/v1/{item.anchor})" in text
        for sentence in (*item.limits, *item.definitions, *item.exemptions):
            assert sentence.partition("](")[0].replace("<", "&lt;") in text, item.id
        assert item.unchecked or "\n## What breaks it\n" in text, item.id
        assert f"- Since release {item.since}, {item.status}." in text


def test_the_kill_matrix_holds_each_broken_provider_under_what_it_kills(pages):
    text = (pages / "docs/kill-matrix.md").read_text("utf-8")
    sections = dict(
        re.findall(r"^## (MP-[A-Z0-9-]+)\n(.*?)(?=^## MP-|\Z)", text, re.MULTILINE | re.DOTALL)
    )
    assert sections.keys() == spec.requirements().keys()
    for mutant in load_all().values():
        name = mutant.target.rpartition(":")[2]
        assert re.search(
            rf"^\s*(async )?(class|def) {name}\b", sections[mutant.kills], re.MULTILINE
        ), name
        assert mutant.says in sections[mutant.kills]


def test_the_diff_shows_both_dialects(pages):
    text = (pages / "docs/from-hermes.md").read_text("utf-8")
    assert "-    def sync_turn(" in text
    assert "+    def on_turn_complete(" in text
    assert "<!-- site:" not in text


def test_what_a_browser_would_load_from_elsewhere_is_found(site, tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="https://example.org">fine</a><script src="https://example.org/x.js"></script>'
        '<link rel="stylesheet" href="//fonts.example.org/x"><style>@import url(https://x.org)</style>',
        "utf-8",
    )
    found = [text for text in site["built"].faults(tmp_path) if "loads from" in text]
    assert len(found) == 3
