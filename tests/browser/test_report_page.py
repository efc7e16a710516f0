"""The page of a report, clicked through in a real Chromium."""

import itertools
import re

import pytest

from memproto import spec
from memproto.report import html
from tests import reports

ROWS = 1000

#: Milliseconds of a filter with 1,000 rows, on a machine that is busy; a reader waits for 100 ms.
FILTER_MS = 3000


def written(folder, *found):
    path = folder / "report.html"
    html.write(path, reports.whole(*found))
    return path


@pytest.fixture
def small(tmp_path):
    rows = [
        reports.failed(),
        reports.row("MP-RECALL-003", "warn", expected="a", observed="b", level="SHOULD"),
        reports.row("MP-TURN-001", chapter="50-turns"),
        reports.row("MP-TURN-002", "untestable", chapter="50-turns", reason="no backend"),
    ]
    return written(tmp_path, reports.report(*rows, operations=reports.TIMES))


def shown(page):
    return page.locator(".row:visible").evaluate_all(
        "rows => rows.map(row => row.querySelector('code').textContent)"
    )


def colour(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_chips_filter_by_outcome_and_level_and_together(visit, small):
    page = visit(small)
    assert len(shown(page)) == 4
    page.locator("label.chip", has_text="untestable").click()
    assert shown(page) == ["MP-TURN-002"]
    page.locator("label.chip", has_text="warn").click()
    assert shown(page) == ["MP-RECALL-003", "MP-TURN-002"]
    page.locator("label.chip", has_text="SHOULD").click()
    assert shown(page) == ["MP-RECALL-003"]
    assert page.locator(".shown").inner_text() == "1 of 4"
    assert page.locator(".chapter:visible h3").all_inner_texts() == ["Recall"]
    page.get_by_role("button", name="Show all").click()
    assert len(shown(page)) == 4


def test_the_search_finds_ids_rules_and_reasons_word_by_word(visit, small):
    page = visit(small)
    find = page.get_by_role("searchbox")
    find.fill("turn-00 BACKEND")
    assert shown(page) == ["MP-TURN-002"]
    find.fill("nothing like it")
    assert shown(page) == []
    assert page.locator(".nothing").is_visible()


def test_everything_is_reached_by_keys_alone(visit, small):
    page = visit(small)
    page.keyboard.press("/")
    page.keyboard.type("turn")
    assert shown(page) == ["MP-TURN-001", "MP-TURN-002"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.value") == "fail"
    assert page.evaluate("document.activeElement.checked")
    assert shown(page) == []
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    assert len(shown(page)) == 4
    page.locator("#mp-turn-002 summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#mp-turn-002").get_by_text("no backend").is_visible()


def test_a_row_of_a_failure_leads_to_the_finding(visit, small):
    page = visit(small)
    page.locator("a.told", has_text="MP-RECALL-002").click()
    finding = page.locator("#mp-recall-002")
    assert page.url.endswith("#mp-recall-002")
    assert finding.locator("h3").inner_text() == "The rule of MP-RECALL-002 MUST hold."
    labels = finding.locator("dt").all_inner_texts()
    assert labels == ["evidence", "where", "reproduce", "fix", "clause"]
    assert finding.locator(".evidence th").all_inner_texts() == ["expected", "observed"]


def test_a_clause_that_is_not_published_is_read_on_the_page(visit, small):
    page = visit(small)
    page.locator("#mp-recall-002").get_by_role("link", name="spec/v1/40-recall.md").click()
    clause = page.locator("#mp-recall-002-clause")
    assert page.url.endswith("#mp-recall-002-clause")
    assert "Recall MUST return within 5 s" in clause.inner_text()
    clause.get_by_role("link").click()
    assert page.url.endswith("#mp-recall-002")


def test_an_address_with_an_id_opens_that_requirement(visit, small):
    page = visit(small)
    page.locator("label.chip", has_text="warn").click()
    page.evaluate("location.hash = '#mp-turn-002'")
    page.locator("#mp-turn-002 details[open]").wait_for()
    assert page.locator("#mp-turn-002").get_by_text("no backend").is_visible()


def test_one_target_is_shown_at_a_time_and_each_filters_by_itself(visit, tmp_path):
    other = reports.report(reports.row("MP-TURN-001"), target="other")
    page = visit(written(tmp_path, reports.report(reports.failed()), other))
    assert page.locator("h1:visible").all_inner_texts() == ["mine"]
    page.locator("label.chip:visible", has_text="fail").click()
    page.get_by_role("link", name="other").click()
    page.locator("h1:visible", has_text="other").wait_for()
    assert page.locator("h1:visible").all_inner_texts() == ["other"]
    assert shown(page) == ["MP-TURN-001"]


def test_light_and_dark_follow_the_system_until_the_reader_chooses(visit, small):
    light, dark = visit(small), visit(small, scheme="dark")
    assert colour(light) != colour(dark)
    dark.get_by_role("button", name="Light mode").click()
    assert colour(dark) == colour(light)
    dark.reload()
    assert colour(dark) == colour(light)


def test_a_call_after_its_deadline_lies_right_of_it_in_the_strip(visit, small):
    page = visit(small)
    row = page.locator(".times tbody tr.late")
    limit, slow = row.locator(".limit").bounding_box(), row.locator(".slow").bounding_box()
    assert slow["x"] + slow["width"] / 2 > limit["x"]
    assert row.locator(".slowest").inner_text().startswith("5.2 s")


def test_hostile_texts_do_nothing_and_fit_a_phone(visit, tmp_path):
    page = visit(written(tmp_path, reports.hostile()), width=390, height=844)
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    assert page.evaluate("window.hurt") is None
    assert page.locator("h1").inner_text() == reports.HOSTILE[0]
    assert overflow(page) <= 0


def test_no_page_is_wider_than_a_phone(visit, small, tmp_path):
    page = visit(small, width=390, height=844)
    assert overflow(page) <= 0
    page.set_viewport_size({"width": 320, "height": 700})
    assert overflow(page) <= 0


def test_a_whole_report_prints_on_fewer_than_eight_pages_without_rows_of_no_concern(
    visit, tmp_path
):
    rows = [
        reports.row(
            item.id, outcome, rule=item.text, fix=item.fix, chapter=item.anchor.split(".")[0]
        )
        for item, outcome in zip(
            spec.select([], "provider"), itertools.cycle(("pass", "not_applicable")), strict=False
        )
    ]
    for at in range(0, 26, 2):
        told = {name: reports.failed()[name] for name in ("expected", "observed", "where")}
        rows[at] |= {"outcome": "fail", **told}
    page = visit(written(tmp_path, reports.report(*rows, operations=reports.TIMES)), scheme="dark")
    page.get_by_role("button", name="Light mode").click()
    page.get_by_role("button", name="Dark mode").click()
    page.emulate_media(media="print")
    assert colour(page) == "rgb(255, 255, 255)"
    shown_outcomes = page.locator(".row:visible").evaluate_all(
        "rows => [...new Set(rows.map(row => row.dataset.outcome))].sort()"
    )
    assert shown_outcomes == ["fail", "pass"]
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    assert 1 < pages < 8


def test_without_scripts_every_requirement_of_every_target_is_shown(visit, tmp_path):
    found = [reports.report(reports.row(), target=name) for name in ("mine", "other")]
    page = visit(written(tmp_path, *found), scripts=False)
    assert page.locator("h1:visible").count() == 2
    assert page.locator(".row:visible").count() == 2
    assert page.locator(".filters:visible").count() == 0


def test_a_thousand_rows_are_filtered_at_once_and_drawn_where_they_are_seen(visit, tmp_path):
    page = visit(written(tmp_path, reports.long(ROWS)))
    assert page.locator(".row").count() == ROWS
    took_ms = page.evaluate("""() => {
        const find = document.querySelector(".find"), began = performance.now();
        find.value = "mp-areaab";
        find.dispatchEvent(new Event("input", { bubbles: true }));
        document.body.getBoundingClientRect();
        return performance.now() - began;
    }""")
    assert took_ms < FILTER_MS
    assert page.locator(".shown").inner_text() == f"25 of {ROWS}"
    last = page.locator(".row").last
    assert last.evaluate("row => getComputedStyle(row).contentVisibility") == "auto"
