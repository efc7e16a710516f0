"""
The specification has the structure that the overview promises, and no informative text decides.

`scripts/spec_faults.py` holds the rules, and says for each fault how it is mended.
"""

import json
import re

import pytest

from memproto import cli, operations, spec
from scripts import example_calls, example_files, reasons, spec_faults, structure
from tests.kit_runs import ROOT
from tests.spec.spec_files import errors_of
from tests.spec.test_spec import CATALOGUE, CHAPTERS, ROWS

pytestmark = pytest.mark.once


@pytest.fixture
def text():
    """The specification, which a test may spoil."""
    return spec_faults.Specification()


# -- every rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", spec_faults.RULES)
def test_the_specification_keeps_the_rule_that(rule, text):
    assert list(map(str, spec_faults.RULES[rule](text))) == []


def test_the_script_says_that_each_rule_holds(capsys):
    assert spec_faults.main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:] == [f"holds  {rule}" for rule in spec_faults.RULES]


# -- a fault is found and told with its repair -----------------------------------------------------

TURN = "MP-TURN-001"


@pytest.mark.parametrize(
    ("rule", "part", "said", "repair"),
    [
        (spec_faults.whole_sentences, "definitions", "no sentence", "begin it with a capital"),
        (spec_faults.procedures_apart, "definitions", "The kit asks.", "move it to `procedure`"),
        (spec_faults.excuses_bind, "rationale", "A lost one is not asked for.", "`exemptions`"),
        (spec_faults.lengths, "definitions", f"A{' word' * 25}.", "make two of it"),
    ],
)
def test_a_spoilt_sentence_is_told_with_its_repair(text, rule, part, said, repair):
    text.rows[TURN][part] = [*text.rows[TURN].get(part, []), said]
    (fault,) = rule(text)
    assert fault.place == TURN
    assert repair in fault.repair


@pytest.mark.parametrize(
    ("rule", "name", "changed", "repair"),
    [
        (spec_faults.actors, TURN, {"text": "All MUST be well."}, "the provider or the host"),
        (spec_faults.classes, TURN, {"class": "great"}, "one of core, durable, shared"),
        (spec_faults.classes, "MP-HOST-REG-001", {"class": "core"}, "take `class` out"),
        (spec_faults.lengths, TURN, {"text": f"A provider MUST{' go' * 23}."}, "`definitions`"),
        (spec_faults.conditions_are_granted, TURN, {"applies_to": []}, "scripts/structure.py"),
        (spec_faults.reasons_are_granted, "MP-ITEMS-005", {"exemptions": []}, "no item has a"),
    ],
)
def test_a_row_that_is_not_whole_is_told_with_its_repair(text, rule, name, changed, repair):
    text.rows[name] |= changed
    (fault,) = rule(text)
    assert fault.place == name
    assert repair in fault.repair


@pytest.mark.parametrize(
    ("name", "repair"),
    [("MP-TURN-999", "record_examples.py"), ("MP-WIRE-999", "wire_lines.py MP-WIRE-999")],
)
def test_a_requirement_without_an_example_is_told_how_it_gets_one(text, name, repair):
    text.rows[name] = {**ROWS[TURN], "id": name}
    (fault,) = spec_faults.examples(text)
    assert fault.place == name
    assert repair in fault.repair


def test_a_link_that_leads_nowhere_is_told(text):
    text.chapters["50-turns.md"] += (
        "\n[a](51-turns.md) [b](#no-such-part) [c](40-recall.md#recall-0)\n"
    )
    assert [fault.fault for fault in spec_faults.links(text)] == [
        "51-turns.md leads to no file",
        "#no-such-part leads to no anchor",
        "40-recall.md#recall-0 leads to no anchor",
    ]


def test_a_reason_of_a_shared_helper_is_granted_by_the_chapter_on_conformance(text):
    chapter = text.chapters["90-conformance.md"]
    text.chapters["90-conformance.md"] = chapter.replace("if the config schema asks nothing.", "")
    (fault,) = spec_faults.reasons_are_granted(text)
    assert "the config schema asks nothing" in fault.repair


@pytest.mark.parametrize(
    ("said", "reason", "grants"),
    [
        ("*Not applicable* if nothing is there.", "nothing is there", True),
        ("*Not applicable* if nothing is there, or nobody.", "nothing is there", True),
        ("*Not applicable* if a secret is refused.", "a secret is refused: {}", True),
        ("*Not applicable* if the step `NAME` fails.", "the step `{}` fails", True),
        ("*Not applicable* if something is there.", "nothing is there", False),
        ("*Not applicable* if nothing is.", "nothing is there", False),
        ("*Not required:* nothing is there.", "nothing is there", False),
    ],
)
def test_a_sentence_grants_the_reason_that_it_holds(said, reason, grants):
    assert reasons.grants(said, reason) is grants


def test_a_reason_is_read_through_helpers_constants_and_format_strings(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text(
        "_WHY = 'nothing is there'\n"
        "def a(run):\n    b(run)\n"
        "def b(run):\n    raise NotApplicable(_WHY)\n"
        "def c(run):\n    told = f'{run} is away'\n    raise NotApplicable(f'{told}; see {run}')\n"
    )
    one = reasons.module(path)
    assert one.reached("a") == {"a", "b"}
    assert list(one.reasons(one.functions["b"])) == ["nothing is there"]
    assert list(one.reasons(one.functions["c"])) == ["{} is away; see {}"]


# -- the forms of the catalogue --------------------------------------------------------------------


def test_the_catalogue_in_json_is_the_catalogue_and_fits_its_schema(capsys):
    assert cli.main(["spec", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == CATALOGUE
    assert errors_of("requirements", data) == []


def test_the_catalogue_in_json_takes_no_name(capsys):
    assert cli.main(["spec", "--json", "50-turns"]) == 4
    assert "fix: leave the name out" in capsys.readouterr().err


def test_the_loader_gives_each_part():
    for name, row in ROWS.items():
        item = spec.requirement(name)
        assert list(item.limits) == row.get("applies_to", [])
        for part in ("definitions", "exemptions", "rationale", "procedure"):
            assert list(getattr(item, part)) == row.get(part, [])
        assert item.example == row.get("example", "")


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


@pytest.mark.parametrize("name", example_files.names())
def test_an_example_is_written_with_one_call_answer_or_line_in_a_line(name):
    text = (example_files.FOLDER / f"{name}.json").read_text("utf-8")
    assert text == example_files.written(json.loads(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/tmp/kit-1/home is full", "$ROOT/home is full"),
        ("identity--tmp-kit-1-stray", "identity--root-stray"),
        ("{'home': '/tmp/k ... (924 characters)", "{'home': '$ROOT ... (924 characters)"),
        ("a text of a user", "a text of a user"),
    ],
)
def test_a_recorded_text_loses_the_place_of_its_run(text, told):
    assert example_calls.marked(text, "/tmp/kit-1") == told


@pytest.mark.parametrize("name", example_files.names())
def test_an_example_holds_no_place_of_a_machine(name):
    text = (example_files.FOLDER / f"{name}.json").read_text("utf-8")
    # A path of attack is a short word behind dots; a folder for temporary files is none.
    assert re.findall(r"/tmp/|\btmp-|/home/|/root/|pytest-of", text) == []
