"""The board, clicked through in a real Chromium: from a cell to its evidence, and back."""

import json

import pytest

from memproto.report import board
from tests import reports


@pytest.fixture
def site(tmp_path):
    documents = {
        "acme": reports.report(reports.failed(), reports.row("MP-TURN-001"), target="acme"),
        "zebra": reports.report(reports.row(), reports.row("MP-TURN-001"), target="zebra"),
        "long": reports.report(*reports.long(300)["results"], target="W" * 200),
        "host": reports.report(
            reports.row("MP-HOST-RECALL-001"), target="host", side="host", binding=None
        ),
    }
    paths = [tmp_path / f"{name}.json" for name in documents]
    for path, found in zip(paths, documents.values(), strict=True):
        path.write_text(json.dumps(reports.whole(found)), "utf-8")
    (tmp_path / "acme.reply.md").write_text("<b>Mended</b> in 2.1", "utf-8")
    board.write(paths, tmp_path / "site")
    return tmp_path / "site"


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def colour(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def rules(page):
    return page.locator(".matrix thead [data-rule]:visible").evaluate_all(
        "heads => heads.map(head => head.dataset.rule)"
    )


def test_a_cell_leads_to_its_evidence_and_the_page_back_to_the_board(visit, site):
    page = visit(site / "index.html")
    page.get_by_role("link", name="acme, MP-RECALL-002: fail").click()
    assert page.url.endswith("/targets/acme.html#mp-recall-002")
    assert page.locator("#mp-recall-002").get_by_text("no answer after 5.2 s").is_visible()
    assert page.locator("#reply .reply").inner_text() == "<b>Mended</b> in 2.1"
    page.get_by_role("link", name="memproto board").click()
    assert page.locator("h1").inner_text() == "Targets by requirements"


def test_a_cell_of_what_passed_leads_to_its_row_opened(visit, site):
    page = visit(site / "index.html")
    page.get_by_role("link", name="zebra, MP-TURN-001: pass").click()
    assert page.locator("#mp-turn-001 details[open]").count() == 1


def test_a_column_leads_to_its_rule(visit, site):
    page = visit(site / "index.html")
    page.get_by_role("link", name="MP-TURN-001", exact=True).click()
    assert page.url.endswith("/rules.html#mp-turn-001")
    assert page.locator("#mp-turn-001 .told").is_visible()


def test_targets_are_searched_and_settled_rules_left_out(visit, site):
    page = visit(site / "index.html")
    page.keyboard.press("/")
    page.keyboard.type("ebra")
    assert page.locator(".overview tbody tr:visible").count() == 1
    page.keyboard.press("Escape")
    page.locator("label.chip").click()
    page.keyboard.press("/")
    page.keyboard.type("acme")
    assert rules(page) == ["MP-RECALL-002"]
    assert page.locator(".shown").inner_text() == "1 target, 1 requirement"
    page.get_by_role("searchbox").fill("none such")
    assert page.locator(".nothing").is_visible()


def test_light_and_dark_are_kept_from_page_to_page(visit, site):
    page = visit(site / "index.html")
    light = colour(page)
    page.get_by_role("button", name="Dark mode").click()
    dark = colour(page)
    page.get_by_role("link", name="Rules").click()
    page.get_by_role("button", name="Light mode").wait_for()
    assert colour(page) == dark != light


@pytest.mark.parametrize("name", ["index.html", "rules.html", "targets/acme.html"])
def test_no_page_of_the_site_is_wider_than_a_phone(visit, site, name):
    assert overflow(visit(site / name, width=390, height=844)) <= 0


def test_a_long_board_is_a_list_whose_chapters_open(visit, tmp_path):
    outcomes = ["pass"] * 20 + ["fail"] * 8
    for at, outcome in enumerate(outcomes):
        row = reports.failed() if outcome == "fail" else reports.row()
        document = reports.whole(reports.report(row, target=f"t{at:02}"))
        (tmp_path / f"r{at:02}.json").write_text(json.dumps(document), "utf-8")
    board.write(sorted(tmp_path.glob("*.json")), tmp_path / "site")
    page = visit(tmp_path / "site" / "index.html")
    assert page.locator(".matrix:visible").count() == 0
    page.locator(".folded summary").click()
    counts = page.locator(".matrix .tally").all_inner_texts()
    assert [text.split() for text in counts] == [
        *(["hold", "20"], ["break", "8"], ["cannot", "show", "0"])
    ]
    page.get_by_role("searchbox").fill("t05")
    assert page.locator(".matrix tbody tr:visible").count() == 1
    assert overflow(page) <= 0
