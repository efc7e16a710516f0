"""A run ends in one line, the most useful thing to do, computed from its cause."""

import tomllib

import pytest
from jsonschema import Draft202012Validator

from memproto import spec
from memproto.report import merging, next_step
from memproto.testing import needs
from memproto.testing.evidence import Differs
from memproto.testing.needs import (
    Backend,
    Declaration,
    DependsOn,
    Driver,
    Install,
    Machine,
    Setting,
    depends_on,
)
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings import keys
from tests.made_reports import built, judged
from tests.reports import HOSTILE

pytestmark = pytest.mark.once

#: Of no account to a strict run.
DEFENSIVE = "MP-TEXT-004"

#: All that the settings may declare for a provider.
DECLARES = [
    f"declares.{key}"
    for key in (
        *("retention", "stores", "recall_basis", "isolates"),
        *("mirrors", "extensions", "freshness_s"),
    )
]

SEEN = Differs(wanted="x", seen="y")


def step(*results, target="mine", **facts):
    named = {item.id.replace("-", "_"): item for item in results}
    found = built(judged(target, **named), **facts)
    Draft202012Validator(spec.schema("report")).validate(found)
    (report,) = found["reports"]
    said = next_step.of(report)
    assert report["next"] == (None if said is None else said.as_dict())
    return said


def red(requirement, outcome=Outcome.FAIL):
    return Result(requirement, outcome, SEEN, "mine.py:3")


def open_(requirement, *wanted):
    return Result(requirement, Outcome.UNTESTABLE, reason="no", needs=wanted)


def test_a_conformant_run_needs_nothing():
    assert step() is None


def test_the_only_violated_rule_is_to_be_mended():
    said = step(red("MP-TOOL-002"))
    assert said.text == "mend MP-TOOL-002 (memproto explain MP-TOOL-002)"
    assert (said.kind, said.requirement, said.waiting) == ("mend", "MP-TOOL-002", 0)


def test_of_the_violated_rules_the_one_that_hides_most_comes_first():
    hidden = [open_(f"MP-DATA-00{n}", *depends_on("MP-TURN-001")) for n in (1, 2, 3)]
    hidden.append(open_("MP-RECALL-004", DependsOn("MP-NAME-001", "violated")))
    said = step(red("MP-NAME-001"), red("MP-TURN-001"), *hidden)
    assert said.text == "mend MP-TURN-001 first: it hides 3 (memproto explain MP-TURN-001)"
    assert (said.requirement, said.waiting) == ("MP-TURN-001", 3)
    assert said.command == "memproto explain MP-TURN-001"


def test_of_rules_that_hide_as_many_the_first_of_the_catalogue_is_mended():
    assert step(red("MP-TURN-002"), red("MP-TURN-001")).requirement == "MP-TURN-001"


def test_a_fault_of_the_kit_is_reported_before_anything_is_mended():
    said = step(red("MP-TURN-001"), red("MP-TURN-002", Outcome.KIT_ERROR))
    assert said.text == "report this, please: the kit itself failed in MP-TURN-002"


def test_a_strict_run_mends_the_warning_that_it_is_red_for():
    warned = [red(key, Outcome.WARN) for key in (DEFENSIVE, "MP-FAULT-010")]
    assert step(*warned, strict=True).requirement == "MP-FAULT-010"
    assert step(*warned) is None


# -- needs -----------------------------------------------------------------------------------------


def test_the_need_that_decides_most_is_told_with_those_behind_the_rules_that_name_it():
    two = [open_(f"MP-FAULT-00{n}", Setting("backend")) for n in (1, 2)]
    gate = open_("MP-AVAIL-001", Setting("env"))
    behind = [open_(f"MP-DATA-00{n}", DependsOn("MP-AVAIL-001", "untestable")) for n in (1, 2, 3)]
    said = step(*two, gate, *behind)
    assert said.line.startswith("env = ")
    assert said.waiting == 4
    assert step(*two, gate).line.startswith("backend = ")


def test_a_setting_is_told_with_its_file_its_table_and_a_line_to_paste():
    said = step(*[open_(f"MP-FAULT-00{n}", Setting("settle", where="x")) for n in (1, 2)])
    assert said.text == (
        'in memproto.toml, below [tool.memproto.target."mine"]: settle = "mine.testing:settle"'
        "  # where x, 2 wait for it"
    )
    assert (said.kind, said.file) == ("set", "memproto.toml")
    assert said.table == '[tool.memproto.target."mine"]'


def test_the_file_that_gave_settings_is_the_one_to_write_to():
    found = built(judged(MP_FAULT_001=open_("MP-FAULT-001", Setting("backend"))))["reports"][0]
    found["settings"]["files"] = {"acme/memproto.toml": ["env"], "pyproject.toml": ["config"]}
    assert next_step.of(found).file == "pyproject.toml"


@pytest.mark.parametrize("key", [*keys.KEYS, *DECLARES])
@pytest.mark.parametrize("target", ["mine", "hermes:acme", "acme.memory:Store", "./acme's 1.py"])
def test_every_line_to_paste_is_one_that_the_settings_take(key, target):
    said = step(open_("MP-FAULT-001", Setting(key)), target=target)
    table = tomllib.loads(f"{said.table}\n{said.line}\n")["tool"]["memproto"]["target"]
    assert [*table] == [target]
    name = key.partition(".")[0]
    assert [*table[target]] == [name]
    if name != "waivers":
        assert keys.checked(name, table[target][name])


def test_a_variable_is_exported_and_handed_over():
    value = '{ACME_KEY = {from_env = "ACME_KEY"}, MODE = "local"}'
    said = step(open_("MP-AVAIL-001", Setting("env", value=value)))
    assert (said.kind, said.command) == ("export", "export ACME_KEY=...")
    assert said.text == (
        'export ACME_KEY=..., and in memproto.toml, below [tool.memproto.target."mine"]: '
        f"env = {value}  # 1 waits for it"
    )


@pytest.mark.parametrize("value", ["{", "7", '{A = {from_env = "$(rm x)"}}'])
def test_a_value_that_names_no_variable_exports_none(value):
    assert step(open_("MP-AVAIL-001", Setting("env", value=value))).command == ""


@pytest.mark.parametrize(
    ("need", "kind", "text"),
    [
        (
            Install("memproto[honcho]"),
            "install",
            "pip install 'memproto[honcho]'  # 1 waits for it",
        ),
        (
            Install("hermes-agent", "--no-deps"),
            "install",
            "pip install --no-deps hermes-agent  # 1 waits for it",
        ),
        (
            Declaration("stores", "capabilities"),
            "declare",
            "let capabilities() declare `stores`: 1 waits for it",
        ),
        (Driver("turn"), "provide", "give the driver the step `turn`: 1 waits for it"),
        (Machine("another user"), "provide", "provide another user: 1 waits for it"),
    ],
)
def test_any_other_need_is_told_as_the_thing_to_do(need, kind, text):
    said = step(open_("MP-FAULT-001", need))
    assert (said.kind, said.text) == (kind, text)


def test_a_backend_is_a_service_of_the_settings():
    said = step(open_("MP-FAULT-001", Backend()))
    assert said.line == 'service = "mine.testing:service"'


def test_an_incomplete_run_of_which_no_need_is_known_is_read_about():
    said = step(open_("MP-TURN-004"))
    assert (said.kind, said.text) == (
        "read",
        "see why MP-TURN-004 is open (memproto explain MP-TURN-004)",
    )


def test_a_run_that_was_narrowed_and_passed_needs_nothing():
    assert built(judged(only=("MP-TURN",)), narrowed=True)["reports"][0]["next"] is None


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_stranger_ends_the_line_or_makes_another(text):
    for need in (Setting("env", that=text, value=text), Install(text), Machine(text), Driver(text)):
        said = step(open_("MP-FAULT-001", need))
        values = [value for value in said.as_dict().values() if isinstance(value, str)]
        assert [value for value in values if not value.isprintable()] == []


def test_a_merged_report_has_the_step_of_all_its_rows():
    one = built(judged(only=("MP-TURN",), MP_TURN_001=red("MP-TURN-001")), narrowed=True)
    late = open_("MP-RECALL-004", *depends_on("MP-TURN-001"), *needs.LATER)
    other = built(judged(only=("MP-RECALL",), MP_RECALL_004=late), narrowed=True)
    merged = merging.merge([("one", one), ("other", other)]).document
    assert merged["reports"][0]["next"]["waiting"] == 1
