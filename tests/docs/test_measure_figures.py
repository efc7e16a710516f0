"""The kept measurement, and the tables of docs/measure.md that are made of it."""

import json
from pathlib import Path

import pytest

from memproto.measure import document, invented
from memproto.measure.corpus import digest_of
from memproto.report.measured import reading
from scripts import measure_figures
from scripts.tree import Broken, Tree
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def figures():
    return reading.read(ROOT / measure_figures.FIGURES)


def test_the_kept_figures_are_of_the_corpora_that_ship(figures):
    corpora = [invented.corpus(number) for number in range(figures["measure"]["repeats"])]
    assert figures["measure"]["seed"] == 0
    assert figures["corpus"]["sha256"] == digest_of(corpora)
    assert sum(figures["corpus"]["questions"].values()) == sum(
        len(corpus.questions) for corpus in corpora
    )


def test_three_real_providers_stand_beside_ours_and_the_baselines(figures):
    rows = {row["target"]: row for row in figures["rows"]}
    assert {"nothing", "last turns", "word search (BM25)", "whole history"} <= rows.keys()
    assert {"builtin", "sqlite"} <= rows.keys()
    measured = [row for row in rows.values() if row["recall"] and row["binding"] == "hermes"]
    assert len(measured) >= 3
    sqlite = {size["turns"]: size for size in rows["sqlite"]["speed"]["sizes"]}
    assert list(sqlite) == [100, 1_000, 10_000]


def test_the_page_tells_each_row_of_each_table(figures):
    page = (ROOT / measure_figures.PAGE).read_text("utf-8")
    for text in measure_figures.made(figures).values():
        assert text in page


def test_a_table_without_a_place_is_named(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "docs").mkdir()
    kept = (ROOT / measure_figures.FIGURES).read_text("utf-8")
    Path(tmp_path, measure_figures.FIGURES).write_text(kept, "utf-8")
    Path(tmp_path, measure_figures.PAGE).write_text("# Measured\n", "utf-8")
    with pytest.raises(Broken, match="has no place for 'conditions'"):
        measure_figures.rewrite(Tree(tmp_path))


def test_the_kept_file_is_as_it_was_written():
    found = json.loads((ROOT / measure_figures.FIGURES).read_text("utf-8"))
    assert found["fingerprint"] == document.fingerprint(found)
