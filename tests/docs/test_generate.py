"""`scripts/generate.py` has nothing left to write, and writes what a new source asks for."""

import shutil

import pytest

from scripts import decisions, generate, growth_figures, mutation_figures
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

ROW = """
[[requirement]]
id = "MP-RECALL-099"
level = "MUST"
side = "provider"
binding = "native"
operation = "recall"
text = "Recall MUST sing."
intent = "Silence is sad."
fix = "Sing."
anchor = "40-recall.md#mp-recall-099"
sources = ["A1"]
"""
BLOCK = """
<a id="mp-recall-099"></a>
**MP-RECALL-099** · MUST · since 1.0 · native providers
Recall MUST sing.

> *Rationale.* Silence is sad.
"""
CATALOGUE = "spec/v1/requirements.toml"
CHAPTER = "spec/v1/40-recall.md"
COVERAGE = "spec/v1/95-coverage.md"


@pytest.fixture
def checkout(tmp_path):
    """All that the command reads of a checkout."""
    for folder in ("spec/v1", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "tests/mutation").mkdir(parents=True)
    for name in (
        "README.md",
        "benchmarks/sqlite.json",
        "benchmarks/measure.json",
        mutation_figures.FIGURES,
        mutation_figures.SURVIVORS,
    ):
        shutil.copy(ROOT / name, tmp_path / name)
    if (kept := ROOT / growth_figures.FIGURES).exists():
        shutil.copy(kept, tmp_path / growth_figures.FIGURES)
    return tmp_path


def read(checkout, name):
    return (checkout / name).read_text("utf-8")


def edit(checkout, name, before, after):
    text = read(checkout, name)
    assert before in text, before
    (checkout / name).write_text(text.replace(before, after, 1), "utf-8")


def test_running_the_command_changes_nothing():
    tree = generate.generated()
    shown = [line for name in tree.changed() for line in tree.difference(name)]
    assert shown == [], "run python -P scripts/generate.py"


def test_a_new_requirement_gets_its_block_behind_its_predecessor(checkout):
    text = read(checkout, CATALOGUE)
    before, after = "MP-RECALL-003", "MP-RECALL-004"
    place = text.rindex("[[requirement]]", 0, text.index(f'id = "{after}"'))
    (checkout / CATALOGUE).write_text(text[:place] + ROW + "\n" + text[place:], "utf-8")
    assert generate.main([], checkout) == 0
    chapter = read(checkout, CHAPTER)
    assert BLOCK in chapter
    order = [chapter.index(f"**{one}** ·") for one in (before, "MP-RECALL-099", after)]
    assert order == sorted(order)
    assert chapter.replace(BLOCK, "", 1) == read(ROOT, CHAPTER)
    assert generate.main(["--check"], checkout) == 0


def test_the_first_and_the_last_requirement_of_a_chapter_have_their_places(checkout):
    first = '\n[[requirement]]\nid = "MP-RECALL-001"'
    edit(checkout, CATALOGUE, first, f"{ROW}{first}")
    last = ROW.replace("-099", "-098").replace("A1", "B1")
    (checkout / CATALOGUE).write_text(read(checkout, CATALOGUE) + last, "utf-8")
    assert generate.main([], checkout) == 0
    chapter = read(checkout, CHAPTER)
    assert chapter.index("MP-RECALL-099** ·") < chapter.index("MP-RECALL-001** ·")
    assert chapter.endswith(BLOCK.replace("-099", "-098"))


def test_a_class_that_a_requirement_names_becomes_held(checkout):
    row = next(line for line in read(checkout, COVERAGE).splitlines() if "| A1 |" in line)
    assert "| host | - |" in row
    (checkout / CATALOGUE).write_text(read(checkout, CATALOGUE) + ROW, "utf-8")
    generate.main([], checkout)
    assert row.replace("| host | - |", "| host | held |") in read(
        checkout, "spec/v1/95-coverage.md"
    )


def test_what_would_change_is_shown_and_not_written(checkout, capsys):
    edit(checkout, CATALOGUE, "Recall MUST return within 5 s.", "Recall MUST return within 6 s.")
    before = read(checkout, CHAPTER)
    assert generate.main(["--check"], checkout) == 1
    shown = capsys.readouterr().out.splitlines()
    assert f"+++ {CHAPTER}" in shown
    assert "-Recall MUST return within 5 s." in shown
    assert "+Recall MUST return within 6 s." in shown
    assert read(checkout, CHAPTER) == before


def test_a_shown_failure_follows_the_catalogue(checkout):
    edit(checkout, CATALOGUE, "Write the turn to the store before", "Write it before")
    assert generate.main([], checkout) == 0
    for name in ("README.md", "docs/reading-a-failure.md", "docs/ten-minutes.md"):
        assert "  fix       Write it before you return, or in shutdown(); " in read(checkout, name)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (CHAPTER, ("**MP-RECALL-002**", "**MP-RECALL-902**"), "MP-RECALL-902 does not belong here"),
        (CHAPTER, ("> *Rationale.* The user waits", "The user waits"), "MP-RECALL-002 has a block"),
        (CATALOGUE, ("40-recall.md#mp-recall-001", "41-x.md#mp-recall-001"), "no chapter 41-x.md"),
        (CATALOGUE, ('side = "provider"\n', ""), "MP-LOAD-001 lacks `side`"),
        ("spec/v1/25-lifecycle.md", ("<!-- end of lanes -->", ""), "no place for 'lanes'"),
        (COVERAGE, ("provider | held | - |", "provider | held | held |"), "'held', and no"),
    ],
)  # fmt: skip
def test_what_nobody_can_derive_is_refused_with_its_repair(checkout, capsys, name, change, told):
    edit(checkout, name, *change)
    assert generate.main([], checkout) == 2
    assert told in capsys.readouterr().err


def test_drafts_of_decisions_keep_their_names_unless_numbers_are_asked_for(checkout):
    draft = checkout / decisions.FOLDER / "2026-02-01-later.md"
    draft.write_text("# Later\n\n## Context\n", "utf-8")
    generate.main([], checkout)
    assert draft.exists()
    generate.main(["--number"], checkout)
    (numbered,) = (checkout / decisions.FOLDER).glob("*-later.md")
    assert f"]({numbered.name})" in read(checkout, f"{decisions.FOLDER}/index.md")
    assert not draft.exists()
