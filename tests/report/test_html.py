"""The page of a report: what stands on it, and that a provider's texts stay texts."""

import importlib.util
import json
import re
from html.parser import HTMLParser

import pytest

from memproto import cli, links
from memproto.errors import MissingPackage
from memproto.report import html, pages, plot, view
from tests import reports

LINES = ("evidence", "expected", "observed", "where", "reproduce", "fix", "clause")
VOID = ("link", "meta", "input", "br")


class Page(HTMLParser):
    """Every element with its attributes, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data.strip())

    def values(self, *names):
        return [attrs[name] for _, attrs in self.elements for name in names if name in attrs]

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


def page(*found, **changed):
    return Page(html.render(reports.whole(*found), **changed))


def test_a_failure_shows_its_rule_as_a_title_and_all_lines():
    texts = page(reports.report(reports.failed())).texts
    assert [text for text in texts if text in LINES] == list(LINES)
    assert {"The rule of MP-RECALL-002 MUST hold.", "no answer after 5.2 s"} <= set(texts)


def test_the_clause_of_a_finding_leads_to_its_text_on_the_page():
    found = page(reports.report(reports.failed(), reports.row("MP-TURN-001")))
    assert "#mp-recall-002-clause" in found.values("href")
    assert any("Recall MUST return within 5 s" in text for text in found.texts)
    assert "mp-turn-001-clause" not in found.values("id")


def test_a_published_clause_is_linked_to_where_it_is_published(monkeypatch):
    monkeypatch.setattr(links, "published", lambda clause: f"https://example.org/{clause}")
    found = page(reports.report(reports.failed(clause="javascript:alert(1)")))
    assert "https://example.org/spec/v1/40-recall.md#mp-recall-002" in found.values("href")
    assert not any("clause" in name for name in found.values("id"))


def test_what_did_not_fail_shows_no_fix():
    assert "fix" not in page(reports.report(reports.row())).texts


def test_a_waived_requirement_shows_its_waiver():
    waiver = {"reason": "the vendor's release is due", "expires": "2027-01-31"}
    texts = page(reports.report(reports.row(outcome="waived", waiver=waiver))).texts
    assert {"waiver: reason", "the vendor's release is due", "2027-01-31"} <= set(texts)


def test_a_waiver_that_does_not_hold_shows_what_to_write_instead():
    fault = {"id": "MP-TURN-001", "kind": "stale", "text": "it passes now", "fix": "remove it"}
    note = {"id": "MP-TURN-002", "kind": "ends_soon", "text": "it ends in 9 days"}
    waivers = {"date": "2027-01-02", "faults": [fault], "notes": [note]}
    texts = page(reports.report(reports.failed(), waivers=waivers)).texts
    shown = {"stale", "it passes now", "remove it", "ends soon", "it ends in 9 days"}
    assert shown <= set(texts)


def test_each_requirement_has_a_place_of_its_own_for_each_target():
    rows = [reports.failed(), reports.row("MP-TURN-001")]
    found = page(reports.report(*rows), reports.report(*rows, target="other"))
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    assert {"mp-recall-002", "target-2-mp-recall-002", "mp-turn-001"} <= set(ids)


def test_every_place_that_is_linked_to_is_there():
    found = page(reports.long(30), reports.report(reports.failed(), operations=reports.TIMES))
    ids = set(found.values("id"))
    assert {value[1:] for value in found.values("href") if value.startswith("#")} <= ids


def test_nothing_is_asked_of_a_network():
    found = page(reports.report(reports.failed(), operations=reports.TIMES))
    assert found.values("src", "action", "srcset", "data") == []
    assert all(value.startswith(("#", "data:,")) for value in found.values("href"))
    assert found.count("script") == found.count("style") == 1


def shape(found):
    return [(tag, sorted(attrs)) for tag, attrs in found.elements]


def test_hostile_texts_stay_texts():
    tame = tuple(re.sub(r"[^ ]", "x", text) for text in reports.HOSTILE)
    found = page(reports.hostile(), reply="".join(reports.HOSTILE))
    assert shape(found) == shape(page(reports.hostile(tame), reply="x"))
    shown = "".join(found.texts)
    assert [text for text in reports.HOSTILE[:5] if text not in shown] == []


def test_no_link_leads_where_a_provider_says():
    found = page(reports.hostile())
    assert [value for value in found.values("href") if not value.startswith(("#", "data:,"))] == []


def test_what_reverses_or_hides_text_is_shown_as_its_code():
    text = html.render(reports.whole(reports.hostile()))
    assert not set(text) & set("\u202e\u2066\u200b\x00\x1b\ud800")
    assert r"safe\u202egnp.exe" in text


def test_a_page_permits_no_script_and_style_but_its_own():
    (policy,) = re.findall(
        r'Content-Security-Policy" content="([^"]*)"', html.render(reports.whole())
    )
    assert policy.startswith("default-src &#39;none&#39;")
    assert "unsafe" not in policy


def test_the_same_report_gives_the_same_page_and_is_not_changed():
    document = reports.whole(reports.hostile())
    before = json.dumps(document)
    assert html.render(document) == html.render(document)
    assert json.dumps(document) == before


def test_a_report_without_targets_says_so():
    assert "No target" in page().texts


def test_a_strict_run_counts_the_warnings_that_it_is_red_for():
    rows = (reports.row(name, "warn") for name in ("MP-TEXT-004", "MP-FAULT-010"))
    found = reports.report(*rows, strict=True, verdict="NON-CONFORMANT")
    assert view.target(found)["sentence"] == "1 of 2 requirements is violated."


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (reports.report(reports.failed()), "1 of 1 requirements is violated."),
        (
            reports.report(
                *(reports.row("MP-A-001"), reports.row("MP-A-002", "warn")),
                reports.row("MP-A-003", "not_applicable"),
            ),
            (
                "1 of 3 requirements were exercised and hold; "
                "1 are recommended and not followed; 1 are of no concern to the target."
            ),
        ),
        (
            reports.report(
                reports.row(), reports.row("MP-A-001", "untestable"), verdict="INCOMPLETE"
            ),
            "Nothing failed, and 1 of 2 requirements are not decided.",
        ),
        (
            reports.report(
                *(reports.row(), reports.row("MP-A-001", "not_run")),
                verdict="INCOMPLETE",
                selected=True,
            ),
            "1 of 2 requirements were selected; nothing failed among them.",
        ),
        (
            reports.report(reports.row(outcome="not_applicable"), verdict="INCOMPLETE"),
            "Nothing failed, and nothing was exercised that could pass.",
        ),
        (
            {**reports.report(reports.row(outcome="kit_error")), "verdict": None},
            "The kit itself failed; this says nothing about the target.",
        ),
    ],
)
def test_the_verdict_is_said_in_words(found, said):
    assert said in page(found).texts


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_colour_of_a_word_is_readable_on_the_page(scheme):
    style = html.render(reports.whole())
    pairs = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", style))
    colours = {name: pair.split(", ")[scheme] for name, pair in pairs.items()}
    tones = ("ink", "soft", "link", "red", "amber", "green", "violet", "grey")
    for paper in ("paper", "raised"):
        contrasts = {name: contrast(colours[name], colours[paper]) for name in tones}
        # The guidelines on accessibility (WCAG 2.2, AA) ask this of text.
        assert {name: value for name, value in contrasts.items() if value < 4.5} == {}


def contrast(first, second):
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# -- the times -------------------------------------------------------------------------------------


def test_times_lie_on_one_axis_that_holds_the_deadline_and_the_slowest_call():
    (strip,) = plot.of(reports.TIMES)["strips"]
    places = [bar["x"] for bar in strip["bars"]]
    assert places == sorted(places)
    assert strip["half"] < strip["deadline"] < strip["end"] < 100
    assert strip["is_late"]


def test_a_single_slow_call_among_many_has_a_bar_that_is_seen():
    row = {**reports.TIMES["recall"], "times": {"0.001": 10**6, "6.3": 1}}
    (strip,) = plot.of({"recall": row})["strips"]
    assert strip["bars"][-1]["height"] >= 20


@pytest.mark.parametrize(
    ("value_s", "shown"),
    [(2.5e-5, "25 µs"), (0.0125, "12.5 ms"), (5.0, "5 s"), (121.04, "121 s"), (8000.0, "8000 s")],
)
def test_a_time_is_shown_in_the_unit_that_suits_it(value_s, shown):
    assert plot.duration(value_s) == shown


def test_a_report_from_before_times_were_kept_has_no_plot():
    assert "Times of its hooks" not in page(reports.report(reports.failed())).texts


# -- commands --------------------------------------------------------------------------------------


def test_a_page_is_made_of_a_former_report(tmp_path, capsys):
    document = reports.whole(reports.report(reports.failed()))
    (tmp_path / "r.json").write_text(json.dumps(document), "utf-8")
    assert cli.main(["html", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'r.html'}\n"
    assert (tmp_path / "r.html").read_text("utf-8") == html.render(document)


def test_a_page_that_cannot_be_written_is_named_with_the_way_out(tmp_path, capsys):
    (tmp_path / "r.json").write_text(json.dumps(reports.whole()), "utf-8")
    assert cli.main(["html", str(tmp_path / "r.json"), "-o", str(tmp_path)]) == 4
    said = capsys.readouterr().err
    assert said.startswith(
        f"memproto html: {tmp_path}: cannot be written (Is a directory)\n  fix: "
    )


def test_without_the_template_engine_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"pip install 'memproto\[kit\]'"):
        pages.check_installed("memproto html")


def test_the_chapter_of_a_clause_is_its_files_name_in_words():
    assert view.chapter_of("spec/v1/63-turn-start.md#x") == ("Turn start", "63-turn-start.md")
    assert view.chapter_of("elsewhere") == ("Elsewhere", "elsewhere")


def test_a_page_of_a_file_says_that_its_origin_is_unknown(tmp_path):
    file, page = tmp_path / "r.json", tmp_path / "r.html"
    changed = reports.report(reports.failed(reproduce="curl example.org | sh"))
    file.write_text(json.dumps(reports.whole(changed)), "utf-8")
    assert cli.main(["html", str(file), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "Of unknown origin." in text


def test_the_page_of_a_run_is_of_known_origin(tmp_path):
    html.write(tmp_path / "r.html", reports.whole(reports.report(reports.failed())))
    assert "unknown origin" not in (tmp_path / "r.html").read_text("utf-8")
