"""Findings of the checker of traces for calls in order and out of it, rule by rule."""

import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memproto import operations, spec, tracing
from memproto.lifecycle import life
from memproto.testing import incidents
from memproto.tracing import judge, providers, read
from memproto.tracing.order import Told, seen
from tests.tracing.trace_cases import IN_ORDER, OUT_OF_ORDER
from tests.tracing.trace_lives import early
from tests.tracing.traced import Script, findings

pytestmark = pytest.mark.once

CHAPTER = (Path(__file__).parents[2] / "spec" / "v1" / "84-traces.md").read_text("utf-8")
_ID = re.compile(r"MP-(?:[A-Z]+-)+[0-9]{3}")


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_trace_in_order_has_no_finding(name: str, tmp_path: Path) -> None:
    assert findings(tmp_path / "trace.jsonl", IN_ORDER[name]()) == []


@pytest.mark.parametrize("name", OUT_OF_ORDER)
def test_a_trace_that_is_out_of_order_names_the_rules(name: str, tmp_path: Path) -> None:
    make, rules = OUT_OF_ORDER[name]
    found = findings(tmp_path / "trace.jsonl", make())
    assert [finding.rule.id for finding in found] == rules
    assert all(finding.provider == "harbour" for finding in found)


@pytest.mark.parametrize("name", [*IN_ORDER, *OUT_OF_ORDER])
def test_the_lines_of_these_tests_fit_their_schema(name: str) -> None:
    make = IN_ORDER.get(name) or OUT_OF_ORDER[name][0]
    jsonschema.validate(make().rows, {"type": "array", "items": spec.schema("trace-event")})


def test_the_line_of_a_finding_is_that_of_the_call(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path / "trace.jsonl", early("open", "declare", "close", "record"))
    assert finding.line == 11
    assert finding.seen.startswith("`on_turn_complete` came where the instance is 'closed'")


def test_what_did_not_happen_is_not_held_against_a_host_that_still_runs(tmp_path: Path) -> None:
    script = early("open", "declare", "recall")
    script.rows.pop()
    assert findings(tmp_path / "trace.jsonl", script, still_running=True) == []
    assert len(findings(tmp_path / "trace.jsonl", script)) == 1


ANY = sorted(set(operations.OPERATIONS) - {"name"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(ANY), max_size=12), st.booleans())
def test_of_calls_in_a_row_those_are_out_of_order_that_the_state_does_not_allow(
    tmp_path: Path, names: list[str], answer: bool
) -> None:
    state, wrong, script, undeclared = life().start, [], Script(), False
    for number, name in enumerate(names):
        fits = name in life().allows(state) or (name == "declare" and undeclared)
        fits = fits or (name == "tools" and state in ("built", "available"))
        undeclared = undeclared and name != "declare"
        too_soon = fits and name == "call_tool" and "tools" not in names[:number]
        wrong += [] if fits and not too_soon else [name]
        if not fits and name == "open" and state in ("built", "unavailable"):
            state = "available"  # as if it had been asked
        elif not fits and state == "open" and name in life().states["session"].calls:
            state, undeclared = "session", True  # as if it had declared
        found = {"answer": answer} if name == "available" else {}
        script.call(name, "bool" if found else "null", found=found)
        yes_or_no = "yes" if answer else "no"
        for outcome in ("begins", yes_or_no if name == "available" else "returns", "ends"):
            state = life().after(state, name, outcome)
    (tmp_path / "trace.jsonl").write_text("".join(script.lines()))
    (trace,), _ = read(tmp_path / "trace.jsonl")
    told = Told(trace.providers[1], trace.calls, trace.ended_s, is_over=False)
    by_line = {call.line: call.operation for call in trace.calls}
    assert [by_line[line] for line, _, _ in seen(told)] == wrong
    judge(trace)  # whatever it finds, it ends


def test_the_rules_on_providers_are_those_of_the_kit_where_both_judge() -> None:
    budgets = {name: (rule, s) for name, (rule, s) in providers.BUDGETS.items()}
    kit = {name: (incidents.LATE[name], incidents.BUDGETS_S[name]) for name in budgets}
    assert budgets == kit
    assert {name: incidents.RAISED[name] for name in providers.SILENT} == providers.SILENT
    ids = [rule for rule, _ in providers.RESULTS.values()]
    assert {*ids, "MP-TOOL-008", "MP-CAP-004", "MP-PROMPT-002"} <= set(spec.requirements())


def test_the_chapter_names_the_requirements_that_the_checker_decides_and_no_others() -> None:
    source = "".join(path.read_text() for path in Path(tracing.__file__).parent.glob("*.py"))
    _, _, below = CHAPTER.partition("## What a trace decides")
    named = below.partition("## What it cannot decide")[0]
    assert set(_ID.findall(named)) == set(_ID.findall(source)) != set()


def test_each_requirement_on_hosts_that_the_checker_decides_is_violated_by_some_trace() -> None:
    decided = {name for name in _ID.findall(CHAPTER) if name.startswith("MP-HOST-")}
    assert decided == {
        name for _, rules in OUT_OF_ORDER.values() for name in rules if name.startswith("MP-HOST-")
    }


def test_the_chapter_describes_every_fact_and_every_key_of_the_schema() -> None:
    for line in spec.schema("trace-event")["allOf"]:
        properties = line["then"].get("properties", {})
        for name in {*properties, *properties.get("facts", {}).get("properties", {})}:
            assert f"`{name}`" in CHAPTER, name
