"""The kept figures of the sqlite provider's benchmark, and the picture that is drawn of them."""

import json
import xml.etree.ElementTree as ET

import pytest

from scripts import sqlite_figures
from tests.kit_runs import ROOT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def figures():
    return json.loads((ROOT / sqlite_figures.FIGURES).read_text("utf-8"))


def test_the_kept_figures_are_within_the_aims_at_each_size(figures):
    assert [size["messages"] for size in figures["sizes"]] == [10_000, 100_000, 1_000_000]
    for size in figures["sizes"]:
        ours, bare = size["recall_p50_ms"]
        assert ours <= 1.5 * bare
        ours, bare = size["turn_p50_ms"]
        assert ours <= 2 * bare


def test_each_line_of_the_picture_rises_and_falls_with_its_figures():
    figures = {"sizes": [_size(10, 1.0), _size(100, 100.0), _size(1_000, 10.0)]}
    picture = ET.fromstring(sqlite_figures.drawn(figures))
    assert picture.find(f"{SVG}title").text
    for line in picture.iterfind(f".//{SVG}path[@class='line ours']"):
        if "L" not in line.get("d"):
            continue  # It is the legend's.
        places = [point.split() for point in line.get("d").removeprefix("M").split(" L")]
        (left, low), (middle, high), (right, between) = (map(float, place) for place in places)
        assert left < middle < right
        assert high < between < low
        assert between == pytest.approx((high + low) / 2, abs=0.1)


def _size(messages, value):
    names = [f"{what}_p{n}_ms" for what in ("recall", "turn") for n in (50, 99)]
    pair = [value, 1.0]
    return {"messages": messages, **dict.fromkeys([*names, "bulk_per_s", "megabytes"], pair)}
