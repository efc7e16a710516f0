"""The tables of the documents, made of the kept scores and of the survivors that were read."""

import json

import pytest

from scripts import mutation_figures
from scripts.tree import Broken, Tree
from tests.kit_runs import ROOT
from tests.mutation.subjects import SUBJECTS

ROW = {
    "subject": "complete",
    "made": 365,
    "judged": 10,
    "killed": 6,
    "late": 1,
    "classes": {"equivalent": 2, "no promise": 1, "hole of a check": 1},
    "date": "2026-01-01",
    "seed": 7,
}


@pytest.fixture(scope="module")
def kept():
    return json.loads((ROOT / mutation_figures.FIGURES).read_text("utf-8"))


def test_a_line_counts_the_killed_of_those_that_are_not_equivalent():
    _, _, line = mutation_figures.scores({"complete": ROW})
    assert line == (
        "| `complete` | 6, 1 by the time limit | 8 | 75.0 % | 85.7 % | 2 | 1 | 1 | 0 | 10 of 365 "
        "| 7, 2026-01-01 |"
    )


def test_open_holes_alone_are_listed_and_no_text_breaks_the_table():
    row = {"where": "x.py:f", "was": "a | b", "now": "a & b", "reason": "A <tag> | bar."}
    rows = [
        {**row, "class": "hole of the specification"},
        {**row, "class": "hole of a check", "violates": "MP-TEXT-003"},
        {**row, "class": "equivalent"},
    ]
    lines = [*mutation_figures.holes(rows)][2:]
    assert len(lines) == 2
    assert "hole of a check (MP-TEXT-003)" in lines[0]
    assert all(line.replace("\\|", "").count("|") == 5 for line in lines)


def test_the_kept_scores_are_of_subjects_and_add_up(kept):
    assert set(kept) <= set(SUBJECTS)
    for row in kept.values():
        assert row["judged"] == row["killed"] + sum(row["classes"].values())
        assert "" not in row["classes"], "a survivor that nobody has read"


def test_a_page_without_a_place_is_told(tmp_path):
    with pytest.raises(Broken, match="has no place for 'scores'"):
        mutation_figures.rewrite(Tree(tmp_path))
