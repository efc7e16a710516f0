"""The specification agrees with itself: catalogue, chapters, schemas, examples and operations."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from memproto import operations, spec
from memproto.testing import incidents

SPEC = Path(__file__).parents[1] / "spec" / "v1"
KEY_WORD = re.compile(r"\b(MUST|SHOULD|MAY|SHALL|REQUIRED|RECOMMENDED|OPTIONAL)\b")
CLAUSE = re.compile(
    r'^<a id="(?P<anchor>[^"]+)"></a>\n\*\*(?P<id>[^*]+)\*\* · (?P<about>.+)\n(?P<text>.+)\n\n'
    r"> \*Intent\.\* (?P<intent>(?:.+\n)(?:> .+\n)*)",
    re.MULTILINE,
)
CHAPTERS = {path.name: path.read_text(encoding="utf-8") for path in sorted(SPEC.glob("*.md"))}
CATALOGUE = tomllib.loads((SPEC / "requirements.toml").read_text(encoding="utf-8"))
ROWS = {row["id"]: row for row in CATALOGUE["requirement"]}
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((SPEC / "schemas").glob("*.json"))
}

#: Invalid example to the one thing that is wrong with it: key word of the schema, and where.
FAULTS = {
    "capabilities/freshness-of-zero": ("exclusiveMinimum", "$.consistency.eventual.freshness_s"),
    "capabilities/tool-named-twice": ("uniqueItems", "$.tool_names"),
    "capabilities/tool-names-is-a-str": ("type", "$.tool_names"),
    "capabilities/unknown-key": ("additionalProperties", "$"),
    "capabilities/unknown-mirrored-target": ("enum", "$.mirrors"),
    "capabilities/unknown-route": ("enum", "$.stores[0]"),
    "config-field/key-missing": ("required", "$"),
    "config-field/no-choice-at-all": ("minItems", "$.choices"),
    "config-field/secret-is-a-word": ("type", "$.secret"),
    "config-field/secret-with-a-default": ("enum", "$.default"),
    "config-field/variable-with-a-dash": ("pattern", "$.env_var"),
    "export/a-list-of-texts": ("type", "$.items[0]"),
    "export/item-without-a-time": ("required", "$.items[0]"),
    "forget-result/pending-missing": ("required", "$"),
    "forget-result/removed-is-a-word": ("type", "$.removed"),
    "lifecycle/hook-for-an-operation": ("enum", "$.state[0].calls[0]"),
    "lifecycle/move-from-nowhere": ("minItems", "$.move[0].from"),
    "lifecycle/unknown-outcome": ("enum", "$.move[0].outcome"),
    "memory-write/add-without-content": ("required", "$"),
    "memory-write/content-is-a-list": ("type", "$.content"),
    "memory-write/replace-without-old-text": ("required", "$"),
    "memory-write/unknown-action": ("enum", "$.action"),
    "message/content-is-a-number": ("type", "$.content"),
    "message/role-missing": ("required", "$"),
    "message/text-part-without-text": ("required", "$.content[0]"),
    "plugin-manifest/dependency-without-name": ("required", "$.external_dependencies[0]"),
    "plugin-manifest/name-with-a-space": ("pattern", "$.name"),
    "plugin-manifest/variable-with-a-dash": ("pattern", "$.requires_env[0]"),
    "plugin-manifest/version-is-a-number": ("type", "$.version"),
    "recall-items/item-without-text": ("required", "$.items[0]"),
    "recall-items/time-without-offset": ("pattern", "$.items[0].created_at"),
    "recall-items/unknown-status": ("enum", "$.status"),
    "recall-request/budget-below-zero": ("minimum", "$.budget_chars"),
    "recall-request/query-missing": ("required", "$"),
    "recorded-turn/author-is-a-name": ("type", "$.author"),
    "recorded-turn/id-missing": ("required", "$"),
    "recorded-turn/time-without-offset": ("pattern", "$.started_at"),
    "recall-status/a-count-in-words": ("type", "$.recalled"),
    "recall-status/message-of-two-lines": ("pattern", "$.message"),
    "recall-status/state-missing": ("required", "$"),
    "recall-status/unknown-key": ("additionalProperties", "$"),
    "recall-status/unknown-state": ("enum", "$.state"),
    "report/a-score": ("additionalProperties", "$.reports[0]"),
    "report/host-with-binding": ("const", "$.reports[0].binding"),
    "report/outcome-not-counted": ("required", "$.reports[0].counts"),
    "report/result-without-reproduce": ("required", "$.reports[0].results[0]"),
    "report/short-fingerprint": ("pattern", "$.reports[0].fingerprint"),
    "report/unknown-exit-code": ("enum", "$.exit_code"),
    "report/unknown-outcome": ("enum", "$.reports[0].results[0].outcome"),
    "report/unknown-verdict": ("enum", "$.reports[0].verdict"),
    "requirements/defensive-must": ("const", "$.requirement[0].level"),
    "requirements/host-id-on-a-provider": ("not", "$.requirement[0].id"),
    "requirements/id-without-number": ("pattern", "$.requirement[0].id"),
    "requirements/text-without-key-word": ("pattern", "$.requirement[0].text"),
    "requirements/unknown-source": ("pattern", "$.requirement[0].sources[0]"),
    "scope/session-without-a-name": ("minLength", "$.session_id"),
    "scope/user-is-a-list": ("type", "$.user_id"),
    "settings/backend-in-two-places": ("maxProperties", "$.backend"),
    "settings/backend-is-an-address": ("type", "$.backend"),
    "settings/backend-path-is-empty": ("pattern", "$.backend.config"),
    "settings/cache-above-home": ("not", "$.caches[1]"),
    "settings/cache-is-absolute": ("not", "$.caches[0]"),
    "settings/declares-single-writer": ("additionalProperties", "$.declares"),
    "settings/declares-unknown-retention": ("enum", "$.declares.retention"),
    "settings/env-value-is-a-number": ("type", "$.env.MINE_PORT"),
    "settings/factory-without-colon": ("pattern", "$.factory"),
    "settings/no-hook-call-at-all": ("minimum", "$.max_hook_calls"),
    "settings/service-without-colon": ("pattern", "$.service"),
    "settings/unknown-key": ("additionalProperties", "$"),
    "settings/unknown-key-of-a-target": ("additionalProperties", "$.target.mine"),
    "tool-result/error-is-a-number": ("type", "$.error"),
    "tool-result/success-beside-an-error": ("enum", "$.error"),
    "tool-result/success-is-a-word": ("type", "$.success"),
    "tool-schema/choice-at-the-top": ("not", "$.parameters"),
    "tool-schema/list-without-items": ("required", "$.parameters.properties.tags"),
    "tool-schema/name-with-a-dot": ("pattern", "$.name"),
    "tool-schema/nameless": ("required", "$"),
    "tool-schema/reference-in-an-argument": ("not", "$.parameters.properties.text"),
    "tool-schema/wrapped-as-a-function": ("additionalProperties", "$"),
    "trace-event/argument-holds-text": ("additionalProperties", "$.args.user_message"),
    "trace-event/digest-of-nothing": ("pattern", "$.result.digest"),
    "trace-event/error-with-its-message": ("pattern", "$.error"),
    "trace-event/holds-text": ("additionalProperties", "$"),
    "trace-event/raised-without-an-error": ("required", "$"),
    "trace-event/returned-without-a-result": ("required", "$"),
    "trace-event/start-without-a-wall-clock": ("required", "$"),
    "trace-event/unknown-kind": ("enum", "$.kind"),
    "trace-event/unknown-operation": ("enum", "$.operation"),
    "trace-event/unnumbered": ("required", "$"),
    "turn/message-is-null": ("type", "$.user_message"),
    "turn/response-missing": ("required", "$"),
    "waivers/a-whole-area": ("pattern", "$"),
    "waivers/never-expires": ("pattern", "$['MP-TURN-002'].expires"),
    "waivers/without-a-reason": ("minLength", "$['MP-TURN-002'].reason"),
    "waivers/without-an-owner": ("required", "$['MP-TURN-002']"),
}

#: How many classes of field reports each letter has.
CLASSES = {"A": 13, "B": 10, "C": 7, "D": 7, "E": 8, "F": 9, "G": 8, "H": 4, "I": 3, "J": 8}
CLASSES |= {"K": 6, "L": 2}


def examples(kind: str) -> list[str]:
    root = SPEC / "examples" / kind
    return sorted(
        path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/*.json")
    )


def errors_of(schema: str, document: object) -> list[tuple[str, str]]:
    validator = jsonschema.Draft202012Validator(SCHEMAS[schema])
    return [(str(error.validator), error.json_path) for error in validator.iter_errors(document)]


def load(kind: str, example: str) -> object:
    return json.loads((SPEC / "examples" / kind / f"{example}.json").read_text(encoding="utf-8"))


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


def test_the_table_of_operations_is_the_one_that_the_code_runs_on():
    shown = table("20-operations.md", "Operations")
    code = [
        [row.name, f"`{row.native}`", f"`{row.hermes}`" if row.hermes else "none", row.extension]
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


# -- schemas and examples -------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_valid_and_names_itself(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"urn:memproto:spec:1.0:schema:{name}"
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_loader_gives_the_schema_of_that_name(name):
    assert spec.schema(name) == SCHEMAS[name]


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("kind", ["valid", "invalid"])
def test_each_schema_has_two_examples_of_each_kind(kind, name):
    assert len([one for one in examples(kind) if one.startswith(f"{name}/")]) >= 2


@pytest.mark.parametrize("example", examples("valid"))
def test_a_valid_example_validates(example):
    assert errors_of(example.partition("/")[0], load("valid", example)) == []


@pytest.mark.parametrize("example", examples("invalid"))
def test_an_invalid_example_has_the_fault_of_its_name_and_no_other(example):
    assert errors_of(example.partition("/")[0], load("invalid", example)) == [FAULTS[example]]


def test_no_fault_is_listed_without_its_example():
    assert sorted(FAULTS) == examples("invalid")
