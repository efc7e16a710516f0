"""The conformance classes in the catalogue: each requirement of providers is in exactly one."""

import itertools
import json
import re
import tomllib
from collections import Counter

import pytest

from memproto import cli, explain, spec
from tests.spec.spec_files import SPEC, errors_of

pytestmark = pytest.mark.once

CATALOGUE = tomllib.loads((SPEC / "requirements.toml").read_text(encoding="utf-8"))
PROVIDERS = {item.id: item for item in spec.requirements().values() if item.side == "provider"}
#: Chapters whose requirements are about what others do to a store, a process or a backend.
FAULTS = ("81-processes.md", "82-faults.md", "83-stores.md")


def test_each_requirement_of_providers_is_in_exactly_one_class():
    rows = [row for row in CATALOGUE["requirement"] if row["side"] == "provider"]
    assert {row["id"]: row["class"] for row in rows} == {
        key: item.conformance_class for key, item in PROVIDERS.items()
    }
    assert {item.conformance_class for item in PROVIDERS.values()} == set(spec.CLASSES)


def test_hosts_have_no_classes():
    hosts = [item for item in spec.requirements().values() if item.side == "host"]
    assert {item.conformance_class for item in hosts} == {""}


def test_the_classes_and_their_promises_stand_in_one_order():
    assert tuple(row["name"] for row in CATALOGUE["class"]) == spec.CLASSES
    assert tuple(spec.promises()) == spec.CLASSES
    assert all(spec.promises().values())


def test_each_class_holds_those_before_it():
    held = [spec.up_to(name) for name in spec.CLASSES]
    assert all(less < more for less, more in itertools.pairwise(held))
    assert held[-1] == set(spec.CLASSES)
    assert [len(one) for one in held] == [1, 2, 3]


def test_a_gate_is_core_since_nothing_is_judged_behind_it():
    gates = {item.conformance_class for item in PROVIDERS.values() if item.gate}
    assert gates == {"core"}


def test_a_boundary_between_users_or_sessions_is_of_the_class_shared():
    """One user with one session cannot lose anything by it."""
    wording = re.compile(r"boundary|keeps apart|another user|`isolates`|different homes")
    found = {key: item.conformance_class for key, item in PROVIDERS.items()}
    about = {key: found[key] for key, item in PROVIDERS.items() if wording.search(item.text)}
    assert len(about) > 10
    assert set(about.values()) == {"shared"}


@pytest.mark.parametrize("chapter", FAULTS)
def test_what_survives_a_fault_is_of_the_class_durable(chapter):
    mine = [item for item in PROVIDERS.values() if item.anchor.startswith(f"{chapter}#")]
    late = {item.conformance_class for item in mine if not item.id.startswith("MP-RES")}
    assert late == {"durable"}


def test_about_a_third_of_what_each_provider_is_judged_by_is_in_each_class():
    mine = [item for item in PROVIDERS.values() if not item.extension and item.binding != "wire"]
    sizes = Counter(item.conformance_class for item in mine)
    assert all(30 <= sizes[name] <= 55 for name in spec.CLASSES), sizes


@pytest.mark.parametrize("value", [None, "tools", ["core", "durable"]])
def test_a_row_without_a_class_or_with_one_that_there_is_not_breaks_the_schema(value):
    rows = [dict(row) for row in CATALOGUE["requirement"]]
    first = next(row for row in rows if row["side"] == "provider")
    if value is None:
        del first["class"]
    else:
        first["class"] = value
    assert errors_of("requirements", {**CATALOGUE, "requirement": rows})


# -- at the terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", spec.CLASSES)
def test_the_list_of_a_class_is_its_promise_and_its_requirements(name, capsys):
    assert cli.main(["list", "--class", name]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{name}: {spec.promises()[name]}"
    mine = [key for key, item in PROVIDERS.items() if item.conformance_class == name]
    assert [line.split()[0] for line in lines] == mine
    assert {line.split()[2] for line in lines} == {name}


def test_the_list_of_hosts_has_no_class_to_choose(capsys):
    assert cli.main(["list", "--side", "host", "--class", "core"]) == 4
    assert "--class core: is of providers alone" in capsys.readouterr().err


def test_explain_names_the_class_of_a_provider_and_none_of_a_host():
    assert "class durable" in explain.explained("MP-TURN-003").splitlines()[0]
    assert "class" not in explain.explained("MP-HOST-TURN-001").splitlines()[0]
    (row,) = json.loads(explain.as_json("MP-TURN-003"))
    assert row["class"] == "durable"
    assert "class" not in json.loads(explain.as_json("MP-HOST-TURN-001"))[0]


def test_the_block_of_a_requirement_in_its_chapter_names_its_class():
    for item in PROVIDERS.values():
        chapter = (SPEC / item.anchor.partition("#")[0]).read_text(encoding="utf-8")
        head = f"**{item.id}** · {item.level} · {item.conformance_class} · since {item.since} · "
        assert chapter.count(f"\n{head}") == 1
