"""The kept figures of growth, and the pictures and the table that are made of them."""

import json
import xml.etree.ElementTree as ET

import pytest

from scripts import growth_figures, plots
from scripts.tree import Broken, Tree, filled
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

SVG = "{http://www.w3.org/2000/svg}"
PARTS = {*growth_figures.ROWS}


@pytest.fixture(scope="module")
def figures():
    """Figures of each part, in which every line doubles from point to point."""
    lines = {name: set(shown) for name, shown in growth_figures.ROWS.items()}
    lines["fence"].add("plain scan")
    return {name: _part(name, sorted(names)) for name, names in lines.items()}


def _part(name, lines):
    counted = (0, 10, 100) if name in {"latency", "messages", "workers"} else (1, 10, 100)
    points = [
        {"at": at, "took_s": 2.0**place, "ratio": 2.0**place, "spread": [1, 1]}
        for place, at in enumerate(counted)
    ]
    part = {"day": "2026-11-29", "rounds": 3, "load": [2.0, 1.0], "by": "steps", "base": "one"}
    part |= {"note": "invented", "lines": dict.fromkeys(lines, points)}
    return part | ({"slopes": dict.fromkeys(lines, 1.0)} if name == "fence" else {})


def test_the_page_shows_the_kept_figures_or_says_that_there_are_none():
    page = (ROOT / growth_figures.PAGE).read_text("utf-8")
    kept = json.loads(Tree(ROOT).text(growth_figures.FIGURES) or "{}")
    assert kept.keys() in (PARTS, set())
    assert ("Nothing is measured yet." in page) is not bool(kept)
    for picture in growth_figures.PICTURES:
        assert (picture.removeprefix("docs/") in page) is bool(kept)


def test_the_section_shows_each_picture_and_the_table(figures):
    text = "\n".join(growth_figures.section(figures))
    for picture, (title, _) in growth_figures.PICTURES.items():
        assert f"![{title}]({picture.removeprefix('docs/')})\n\n" in text
    assert text.endswith("\n".join(growth_figures.table(figures)))


@pytest.mark.parametrize("picture", growth_figures.PICTURES)
def test_a_picture_has_one_line_for_each_series_and_a_name_for_it(figures, picture):
    drawn = ET.fromstring(growth_figures.drawn(figures, picture))
    title, panels = growth_figures.PICTURES[picture]
    assert drawn.find(f"{SVG}title").text == title
    groups = drawn.findall(f"{SVG}g")
    assert len(groups) == len(panels)
    for group, (name, above, _, lines) in zip(groups, panels, strict=True):
        paths = [path for path in group.iterfind(f"{SVG}path") if "line" in path.get("class")]
        series = [path for path in paths if "L" in path.get("d")]
        assert [path.get("class") for path in series] == [f"line {kind}" for _, kind, _ in lines]
        assert len(paths) == 2 * len(lines)  # Each has one in the legend.
        texts = [text.text for text in group.iterfind(f"{SVG}text")]
        assert texts[0] == above
        assert figures[name]["by"] in texts
        assert texts[-len(lines) :] == [text for *_, text in lines]


def test_what_doubles_at_each_step_of_a_logarithmic_axis_is_a_straight_line_that_rises(figures):
    drawn = ET.fromstring(growth_figures.drawn(figures, "docs/images/growth-registry.svg"))
    for line in drawn.iterfind(f".//{SVG}path[@class='line ours']"):
        if "L" not in line.get("d"):
            continue
        places = [point.split() for point in line.get("d").removeprefix("M").split(" L")]
        (left, low), (middle, between), (right, high) = (map(float, place) for place in places)
        assert left < middle < right
        assert high < between < low
        assert between == pytest.approx((high + low) / 2, abs=0.11)
        assert middle == pytest.approx((left + right) / 2, abs=0.11)


def test_an_axis_has_few_marks_that_hold_all_values():
    assert plots.marks([1.0, 3.0]) == [1, 2, 5]
    assert plots.marks([0.9, 4.0]) == [0.5, 1, 2, 5]
    assert plots.marks([1.0]) == [1, 2]
    assert plots.marks([0.5, 3_000.0]) == [0.1, 1, 10, 100, 1_000, 10_000]


def test_names_of_an_axis_do_not_touch():
    counted = [1_000, 1_001, 1_000_000]
    line = plots.Line("ours", "one", [(at, at) for at in counted])
    panel = plots.Panel("a title", "steps", (line,), across=plots.ends)
    drawn = ET.fromstring(plots.drawn("a picture", [panel]))
    names = [text.text for text in drawn.iterfind(f".//{SVG}text[@y='{plots.BOTTOM + 18}']")]
    assert names == ["1,000", "1,000,000"]


@pytest.mark.parametrize("name", sorted(PARTS))
def test_figures_without_a_part_are_an_error_that_names_it(tmp_path, figures, name):
    (tmp_path / "benchmarks").mkdir()
    kept = {other: part for other, part in figures.items() if other != name}
    (tmp_path / growth_figures.FIGURES).write_text(json.dumps(kept), "utf-8")
    with pytest.raises(Broken, match=f"no part '{name}'; run `python benchmarks/growth.py {name} "):
        growth_figures.rewrite(Tree(tmp_path))


def test_the_table_tells_each_line_with_its_ratios(figures):
    head, marks, *rows = "\n".join(growth_figures.table(figures)).splitlines()
    assert head.count("|") == marks.count("|")
    assert len(rows) == sum(map(len, growth_figures.ROWS.values()))
    for row in rows:
        assert row.count("|") == head.count("|")
        assert "| 1, 2, 4 |" in row
        assert row.endswith("| 2026-11-29, 3 rounds, load 1 to 2 |")


def test_marks_of_another_source_on_a_page_are_left_alone():
    other = "<!-- scores: made of a.json -->\n\nkept\n\n<!-- end of scores -->"
    mine = "<!-- growth: made of b.json -->\n\n{}\n\n<!-- end of growth -->"
    page = f"{other}\n\n{mine.format('old')}\n"
    found = filled("page.md", page, {"growth": ("b.json", "new")})
    assert found == f"{other}\n\n{mine.format('new')}\n"
