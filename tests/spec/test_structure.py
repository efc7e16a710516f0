"""
The catalogue has the structure that the overview promises, and no informative text decides.

Each test names the requirement that lacks a part, so that a new one is not forgotten.
"""

import json
import re

import pytest

from memproto import operations, spec
from memproto.testing import clauses
from memproto.testing.conditions import Extension
from scripts import catalogue, structure
from scripts.tree import Tree
from tests.broken.marks import load_all
from tests.kit_runs import ROOT
from tests.spec.spec_files import SPEC, errors_of
from tests.spec.test_spec import CATALOGUE, CHAPTERS, ROWS

pytestmark = pytest.mark.once

NORMATIVE = ("applies_to", "definitions", "exemptions")
INFORMATIVE = ("rationale", "procedure")
EXAMPLES = SPEC / "examples" / "requirements"

#: The words by which a sentence names who acts, or the thing that an actor of its side does.
ACTORS = {
    "provider": r"\b(provider|providers|instance|instances|process|session|sessions|tool|write"
    r"|writes|recall|text|turn|items?|export|importing|recording|mirroring|compressing|compression"
    r"|calls?|shutdown|wakes?|exit|answer|everything|file|hook|argument|result|schema|switch|end"
    r"|sentence|reason|line|path|credential|status|notes|block|unavailable_reason|prefetch)\b|`",
    "host": r"\b(host|hosts|registry|agent|model|user|result|text)\b|`",
}

MOST_WORDS = 25


def words(sentence):
    """The number of words of a sentence; the address of a link is none."""
    return len(re.sub(r"\]\([^)]*\)", "]", sentence).split())


def sentences(text):
    return re.split(r"(?<=[.!?]) +(?=[A-Z*`])", text)


def before_the_key_word(text):
    return re.split(r" (?:MUST|SHOULD)\b", text)[0]


# -- the parts of a requirement --------------------------------------------------------------------


@pytest.mark.parametrize("part", [*NORMATIVE, *INFORMATIVE])
def test_each_part_is_a_list_of_whole_sentences(part):
    bad = {
        name: [one for one in row.get(part, []) if not re.match(r"^[A-Z*`0-9].*[.:)]$", one)]
        for name, row in ROWS.items()
    }
    assert {name: lines for name, lines in bad.items() if lines} == {}


def test_no_procedure_of_the_kit_stands_in_a_part_that_binds():
    bad = {
        name: [one for part in NORMATIVE for one in row.get(part, []) if "the kit" in one.lower()]
        for name, row in ROWS.items()
    }
    assert {name: lines for name, lines in bad.items() if lines} == {}


def test_no_informative_part_exempts_anybody():
    """No verdict rests on informative text: what it would excuse stands among the exemptions."""
    excuses = re.compile(r"\*Not required|is not asked\b|is no violation|not applicable|conforms\b")
    bad = {
        name: [
            one
            for one in [row["intent"], *row.get("rationale", []), *row.get("procedure", [])]
            if excuses.search(one)
        ]
        for name, row in ROWS.items()
    }
    assert {name: lines for name, lines in bad.items() if lines} == {}


def test_each_exemption_by_a_check_has_its_sentence_in_the_catalogue():
    missing = {}
    for side in ("provider", "host"):
        for name, check in clauses.checks(side).items():
            said = ROWS[name].get("applies_to", [])
            lacking = [one for one in structure.granted(check, ROWS[name]) if one not in said]
            if lacking:
                missing[name] = lacking
    assert missing == {}, "run python -P scripts/structure.py"


def test_an_extension_of_a_check_is_that_of_its_requirement_or_is_told():
    for side in ("provider", "host"):
        for name, check in clauses.checks(side).items():
            for item in check.conditions:
                if type(item) is Extension:
                    told = item.sentence in ROWS[name].get("applies_to", [])
                    assert told or item.name == ROWS[name].get("extension"), name


def test_each_sentence_of_a_requirement_names_its_actor_before_the_key_word():
    bad = [
        name
        for name, row in ROWS.items()
        if not re.search(ACTORS[row["side"]], before_the_key_word(row["text"]), re.IGNORECASE)
    ]
    assert bad == []


def test_no_sentence_of_a_requirement_is_longer_than_25_words():
    assert [name for name, row in ROWS.items() if words(row["text"]) > MOST_WORDS] == []


def test_no_sentence_of_any_part_is_longer_than_25_words():
    """The procedures are an annex, and its lists of inputs may be long."""
    bad = {}
    for name, row in ROWS.items():
        said = [row["intent"], row.get("example", "")]
        said += [one for part in (*NORMATIVE, "rationale") for one in row.get(part, [])]
        if long := [s for text in said for s in sentences(text) if words(s) > MOST_WORDS]:
            bad[name] = long
    assert bad == {}


def test_each_requirement_of_providers_has_a_class_and_each_of_hosts_none():
    assert [name for name, row in ROWS.items() if ("class" in row) == (row["side"] == "host")] == []


# -- the forms of the catalogue --------------------------------------------------------------------


def test_the_catalogue_in_json_is_the_catalogue_and_fits_its_schema():
    data = json.loads((SPEC / "requirements.json").read_text("utf-8"))
    assert data == CATALOGUE
    assert errors_of("requirements", data) == []
    assert catalogue.as_json(Tree(ROOT)) == (SPEC / "requirements.json").read_text("utf-8")


def test_the_loader_gives_each_part():
    for name, row in ROWS.items():
        item = spec.requirement(name)
        assert list(item.limits) == row.get("applies_to", [])
        for part in ("definitions", "exemptions", "rationale", "procedure"):
            assert list(getattr(item, part)) == row.get(part, [])
        assert item.example == row.get("example", "")


def test_no_line_waits_in_a_chapter_to_be_moved():
    tree = Tree(ROOT)
    structure.rewrite(tree)
    assert tree.changed() == []


def test_a_sentence_below_an_intent_is_moved_into_the_part_that_its_words_suggest():
    moved = structure.moved(
        [
            "It concerns providers that sing.",
            "Loud means loud.",
            "The kit listens.",
            "*Not required:* that it be in tune.",
            "The kit has no ear.",
        ]
    )
    assert moved["applies_to"] == ["It concerns providers that sing."]
    assert moved["definitions"] == ["Loud means loud."]
    assert moved["procedure"] == ["The kit listens."]
    assert moved["exemptions"] == ["*Not required:* that it be in tune.", "The kit has no ear."]


# -- chapters --------------------------------------------------------------------------------------


def test_the_overview_and_the_navigation_list_the_chapters_in_their_order():
    listed = re.findall(r"^\| \[([0-9][^]]+)\]", CHAPTERS["00-overview.md"], re.MULTILINE)
    assert listed == sorted(name for name in CHAPTERS if name[0].isdigit() and name[:2] != "00")
    nav = re.findall(r"spec/v1/([0-9]\S+\.md)", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert nav[:2] == ["05-summary.md", "00-overview.md"], "the site begins with the summary"
    assert nav[2:] == [name for name in listed if name != "05-summary.md"]


def test_the_summary_is_one_page_and_has_the_times_of_the_catalogue():
    text = CHAPTERS["05-summary.md"]
    assert len(text.splitlines()) < 75
    rows = re.findall(r"^\| ([a-z_, ]+) \| [^|]+\| [^|]+\| (\d+) \| (\w+) \|$", text, re.MULTILINE)
    shown = {name: float(seconds) for names, seconds, _ in rows for name in names.split(", ")}
    assert len(shown) >= 16
    budgets = {name: rule.budget_s for name, rule in spec.hooks().items()}
    assert shown == {name: budgets[name] for name in shown}
    assert {name for name, one in operations.OPERATIONS.items() if not one.extension} <= {*shown}


def test_each_word_of_the_terms_is_defined_once():
    terms = re.findall(r"^\| \*([^*]+)\*", CHAPTERS["10-terms.md"], re.MULTILINE)
    assert sorted(terms) == sorted(set(terms))


@pytest.mark.parametrize("name", ["92-security.md", "93-privacy.md", "94-versioning.md"])
def test_a_chapter_on_considerations_holds_no_requirement(name):
    assert "**MP-" not in CHAPTERS[name]
    assert CHAPTERS[name].startswith("# ")


# -- examples --------------------------------------------------------------------------------------


def example(name):
    return json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))


def test_each_requirement_has_an_example_of_calls_and_answers():
    there = {path.stem for path in EXAMPLES.glob("*.json")}
    assert sorted(set(ROWS) - there) == [], "run python -P scripts/record_examples.py"
    assert sorted(there - set(ROWS)) == []


def test_an_example_names_a_broken_and_a_good_one_for_its_requirement():
    broken = {}
    for target, mutant in load_all().items():
        broken.setdefault(mutant.kills, set()).add(target)
    for name in ROWS:
        found = example(name)
        kind = "host" if ROWS[name]["side"] == "host" else "provider"
        assert found["violates"][kind] in broken[name], name
        assert found["conforms"][kind] not in {one for those in broken.values() for one in those}
        assert found.get("calls") or found["violates"].get("observed"), name
