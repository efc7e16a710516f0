"""The specification agrees with itself and with the code: catalogue, chapters and operations."""

import ast
import re
import tomllib

import pytest

from memproto import operations, spec
from memproto.bindings import HERMES
from memproto.testing import incidents
from tests.kit_runs import ROOT
from tests.spec.spec_files import SCHEMAS, SPEC, errors_of

pytestmark = pytest.mark.once

KEY_WORD = re.compile(r"\b(MUST|SHOULD|MAY|SHALL|REQUIRED|RECOMMENDED|OPTIONAL)\b")
CLAUSE = re.compile(
    r'^<a id="(?P<anchor>[^"]+)"></a>\n\*\*(?P<id>[^*]+)\*\* · (?P<about>.+)\n(?P<text>.+)\n\n'
    r"> \*Intent\.\* (?P<intent>(?:.+\n)(?:> .+\n)*)",
    re.MULTILINE,
)
CHAPTERS = {path.name: path.read_text(encoding="utf-8") for path in sorted(SPEC.glob("*.md"))}
CATALOGUE = tomllib.loads((SPEC / "requirements.toml").read_text(encoding="utf-8"))
ROWS = {row["id"]: row for row in CATALOGUE["requirement"]}

#: How many classes of field reports each letter has.
CLASSES = {"A": 13, "B": 10, "C": 7, "D": 7, "E": 8, "F": 9, "G": 8, "H": 4, "I": 3, "J": 8}
CLASSES |= {"K": 6, "L": 2}


def who(row: dict) -> str:
    """Who has to hold a requirement, in the words of the chapters."""
    if row["side"] == "host":
        return "hosts"
    kinds = {"native": "native providers", "hermes": "Hermes providers"}
    served = f" that serve `{row['extension']}`" if row.get("extension") else ""
    general = "providers" if served else "all providers"
    return kinds.get(row.get("binding", "any"), general) + served


def clauses() -> list[tuple[str, re.Match]]:
    return [(name, match) for name, text in CHAPTERS.items() for match in CLAUSE.finditer(text)]


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


def test_no_id_stands_twice_in_the_catalogue():
    ids = [row["id"] for row in CATALOGUE["requirement"]]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_text_holds_one_key_word_which_is_its_level(row):
    assert KEY_WORD.findall(without_code(row["text"])) == [row["level"]]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_anchor_is_the_id_in_an_existing_chapter(row):
    chapter, _, anchor = row["anchor"].partition("#")
    assert anchor == row["id"].lower()
    assert f'<a id="{anchor}"></a>' in CHAPTERS[chapter]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_source_is_a_class_of_the_field_reports_or_the_seed(row):
    known = {f"{letter}{n}" for letter, last in CLASSES.items() for n in range(1, last + 1)}
    assert set(row["sources"]) <= known | {"seed"}


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


@pytest.mark.parametrize("row", COVERAGE, ids=[row[0] for row in COVERAGE])
def test_a_class_says_where_it_stands_for_each_side_that_it_is_about(row):
    name, _, side, *cells = row
    for cell, mine in zip(cells, ("provider", "host"), strict=True):
        verdict, _, reason = cell.partition(": ")
        assert verdict in ("held", "held in part", "later", "never", "-"), cell
        assert bool(reason) == (verdict in ("held in part", "later", "never")), cell
        assert verdict != "-" or side not in (mine, "both"), f"{name} is about a {mine}"


@pytest.mark.parametrize("side", ["provider", "host"])
@pytest.mark.parametrize("row", COVERAGE, ids=[row[0] for row in COVERAGE])
def test_a_class_is_held_where_a_requirement_of_that_side_names_it(row, side):
    cell = row[3 if side == "provider" else 4]
    named = [r["id"] for r in ROWS.values() if r["side"] == side and row[0] in r["sources"]]
    assert cell.startswith("held") == bool(named), f"{cell!r}, and the sources of {named}"


# -- the chapters ---------------------------------------------------------------------------------


def test_each_requirement_stands_once_in_the_chapter_of_its_anchor():
    places = [(match["id"], f"{name}#{match['anchor']}") for name, match in clauses()]
    assert sorted(places) == sorted((row["id"], row["anchor"]) for row in ROWS.values())


@pytest.mark.parametrize(("chapter", "clause"), clauses(), ids=[c["id"] for _, c in clauses()])
def test_a_chapter_repeats_the_catalogue_word_for_word(chapter, clause):
    row = ROWS[clause["id"]]
    gate = " · gate" if row.get("gate") else ""
    assert clause["text"] == row["text"]
    assert clause["about"] == f"{row['level']} · since {row.get('since', '1.0')} · {who(row)}{gate}"


@pytest.mark.parametrize(("chapter", "clause"), clauses(), ids=[c["id"] for _, c in clauses()])
def test_a_chapter_begins_the_intent_as_the_catalogue_does(chapter, clause):
    intent = " ".join(clause["intent"].replace("\n> ", "\n").split())
    assert intent.startswith(ROWS[clause["id"]]["intent"])


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_holds_no_id_that_the_catalogue_lacks(chapter):
    named = re.findall(r"\bMP-(?:[A-Z]+-)+[0-9]+\b", CHAPTERS[chapter])
    assert set(named) <= set(ROWS)


@pytest.mark.parametrize("chapter", sorted({name for name, _ in clauses()}))
def test_key_words_stand_only_in_the_sentence_of_a_requirement(chapter):
    prose = CLAUSE.sub(lambda match: f"> {match['intent']}", CHAPTERS[chapter])
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


def shown_hook(hook):
    return f"`{hook}`" if hook else "none"


def test_the_table_of_operations_is_the_one_that_the_code_runs_on():
    shown = table("20-operations.md", "Operations")
    code = [
        [row.name, f"`{row.native}`", shown_hook(HERMES.hooks.get(row.name)), row.extension]
        for row in operations.OPERATIONS.values()
    ]
    assert shown == [[*row[:3], row[3] or "core"] for row in code]


def test_the_table_of_extensions_is_the_one_that_the_code_runs_on():
    shown = {
        name: tuple(re.findall(r"`(\w+)`", hooks))
        for name, hooks in table("20-operations.md", "Extensions")
    }
    assert shown == operations.EXTENSION_HOOKS


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


def test_the_table_of_incidents_is_the_one_that_the_code_runs_on():
    shown = table("90-conformance.md", "What is met on the way")
    code = [
        [name, incidents.RAISED[name], incidents.LATE[name], f"{budget_s:g}"]
        for name, budget_s in incidents.BUDGETS_S.items()
    ]
    assert shown == code


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
