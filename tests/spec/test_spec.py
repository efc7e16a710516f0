"""
The catalogue and the chapters are sound; `tests/docs/test_generate.py` holds one to the other.
"""

import ast
import json
import re
import tomllib

import pytest

from memproto import operations, spec
from tests.kit_runs import ROOT
from tests.spec.spec_files import SCHEMAS, SPEC, errors_of

pytestmark = pytest.mark.once

KEY_WORD = re.compile(r"\b(MUST|SHOULD|MAY|SHALL|REQUIRED|RECOMMENDED|OPTIONAL)\b")
BLOCK = re.compile(r'^<a id="[^"]+"></a>\n\*\*MP-[^*]+\*\* · .+\n.+\n', re.MULTILINE)
CHAPTERS = {path.name: path.read_text(encoding="utf-8") for path in sorted(SPEC.glob("*.md"))}
CATALOGUE = tomllib.loads((SPEC / "requirements.toml").read_text(encoding="utf-8"))
ROWS = {row["id"]: row for row in CATALOGUE["requirement"]}

#: Number of classes of field reports that each letter has.
CLASSES = {"A": 13, "B": 10, "C": 7, "D": 7, "E": 8, "F": 9, "G": 8, "H": 4, "I": 3, "J": 8}
CLASSES |= {"K": 6, "L": 4}


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def table(chapter: str, heading: str) -> list[list[str]]:
    """The cells of the first table below `heading`, without its head."""
    _, _, below = CHAPTERS[chapter].partition(f"\n## {heading}\n")
    lines = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert lines is not None, f"{chapter} has no table below {heading!r}"
    rows = lines.group().splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


# -- the catalogue --------------------------------------------------------------------------------


def test_the_catalogue_validates_against_its_schema():
    assert errors_of("requirements", CATALOGUE) == []


def test_the_catalogue_that_is_installed_is_that_of_the_checkout():
    assert json.loads(spec.as_json()) == CATALOGUE


def test_no_id_stands_twice_in_the_catalogue():
    ids = [row["id"] for row in CATALOGUE["requirement"]]
    assert sorted(ids) == sorted(set(ids))


def test_each_text_holds_one_key_word_which_is_its_level():
    found = {name: KEY_WORD.findall(without_code(row["text"])) for name, row in ROWS.items()}
    assert found == {name: [row["level"]] for name, row in ROWS.items()}


def test_each_anchor_is_the_id():
    anchors_of = {name: row["anchor"].partition("#")[2] for name, row in ROWS.items()}
    assert anchors_of == {name: name.lower() for name in ROWS}


def test_each_source_is_a_class_of_the_field_reports_or_the_seed():
    known = {f"{letter}{n}" for letter, last in CLASSES.items() for n in range(1, last + 1)}
    unknown = {name: {*row["sources"]} - known - {"seed"} for name, row in ROWS.items()}
    assert {name: sources for name, sources in unknown.items() if sources} == {}


def test_each_requirement_names_an_operation_of_the_table():
    named = {row["operation"] for row in ROWS.values()}
    assert named <= {*operations.OPERATIONS, "load"}


def test_the_loader_gives_every_row_in_the_order_of_the_catalogue():
    assert list(spec.requirements()) == list(ROWS)


# -- coverage of the field reports ----------------------------------------------------------------

COVERAGE = table("95-coverage.md", "Classes")


def test_the_table_of_coverage_has_every_class_once_in_order():
    wanted = [f"{letter}{n}" for letter, last in CLASSES.items() for n in range(1, last + 1)]
    assert [row[0] for row in COVERAGE] == wanted


def test_a_class_says_where_it_stands_for_each_side_that_it_is_about():
    for name, _, side, *cells in COVERAGE:
        for cell, mine in zip(cells, ("provider", "host"), strict=True):
            verdict, _, reason = cell.partition(": ")
            assert verdict in ("held", "held in part", "later", "never", "-"), f"{name}: {cell}"
            assert bool(reason) == (verdict in ("held in part", "later", "never")), (
                f"{name}: {cell}"
            )
            assert verdict != "-" or side not in (mine, "both"), f"{name} is about a {mine}"


# -- the chapters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_holds_no_id_that_the_catalogue_lacks(chapter):
    named = re.findall(r"\bMP-(?:[A-Z]+-)+[0-9]+\b", CHAPTERS[chapter])
    assert set(named) <= set(ROWS)


@pytest.mark.parametrize("chapter", [name for name, text in CHAPTERS.items() if BLOCK.search(text)])
def test_key_words_stand_only_in_the_sentence_of_a_requirement(chapter):
    prose = BLOCK.sub("", CHAPTERS[chapter])
    assert KEY_WORD.findall(without_code(prose)) == []


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)"></a>', text))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_link_of_a_chapter_leads_somewhere(chapter):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(CHAPTERS[chapter])):
        file, _, anchor = link.partition("#")
        assert (SPEC / file).exists(), link
        assert not anchor or anchor in anchors(CHAPTERS[file or chapter]), link


# -- operations -----------------------------------------------------------------------------------


def test_the_schemas_know_the_extensions_that_the_code_knows():
    declared = SCHEMAS["capabilities"]["properties"]["extensions"]["items"]["enum"]
    reported = SCHEMAS["report"]["$defs"]["target"]["properties"]["extensions"]
    assert declared == reported["propertyNames"]["enum"] == list(operations.EXTENSION_HOOKS)


def test_the_table_of_declarations_names_every_key_of_the_schema():
    keys = {row[0].strip("`") for row in table("20-operations.md", "Declarations")}
    assert keys - {"x_..."} == set(SCHEMAS["capabilities"]["properties"])


def test_the_table_of_outcomes_names_every_outcome_of_the_schema():
    shown = [row[0].strip("`") for row in table("90-conformance.md", "Outcomes")]
    assert shown == SCHEMAS["report"]["$defs"]["outcome"]["enum"]


def test_every_role_and_every_rule_on_a_hook_is_a_requirement_of_its_side():
    for side, roles in CATALOGUE["roles"].items():
        assert {spec.requirement(found).side for found in roles.values()} == {side}
        assert {spec.role(name, side) for name in roles} == set(roles.values())
    for row in spec.hooks().values():
        assert spec.requirement(row.raises).side == spec.requirement(row.late).side == "provider"
        assert not row.host or spec.requirement(row.host).side == "host"
    with pytest.raises(KeyError):
        spec.role("no_such_role")


def test_the_kits_machinery_names_no_requirement():
    """Ids stand in the catalogue and in checks; machinery asks the catalogue."""
    known = set(spec.requirements())
    for path in sorted((ROOT / "memproto" / "testing").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        assert not known.intersection(text for text in texts if isinstance(text, str)), path
