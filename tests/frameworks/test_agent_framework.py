"""Agent Framework: the kit makes the calls of a real agent, and judges real context providers."""

import pytest

from tests.frameworks.real_runs import assert_same_calls, judged
from tests.kit_runs import outcomes, write


@pytest.fixture
def python(agent_framework_python):
    return agent_framework_python


def test_the_kit_makes_the_calls_that_an_agent_makes(python, tmp_path):
    assert_same_calls(python, tmp_path, "agent_framework_calls.py")


def test_a_good_provider_conforms_without_a_setting(python, tmp_path):
    report = judged(python, tmp_path, "agent_framework_notes:Notes")
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "agent-framework")
    assert report["operations"]["recall"]["hook"] == "before_run"
    assert set(outcomes(report).values()) == {"pass", "not_applicable"}


@pytest.mark.parametrize("kind", ["apart", "OfUsers"])
def test_good_providers_of_many_users_keep_them_apart(python, tmp_path, kind):
    write(tmp_path, memproto__toml="[declares]\nisolates = ['user']\n")
    found = outcomes(
        judged(python, tmp_path, f"agent_framework_notes:{kind}", "--memproto-clause=MP-TENANT")
    )
    tenancy = {name: outcome for name, outcome in found.items() if "-TENANT-" in name}
    assert {tenancy.pop(f"MP-TENANT-00{number}") for number in (2, 5)} == {"not_applicable"}
    assert set(tenancy.values()) == {"pass"}


@pytest.mark.parametrize(
    ("kind", "rule", "hook"),
    [
        ("LosesTheLast", "MP-TURN-003", "after_run"),
        ("AddsAscii", "MP-TURN-002", "store"),
        ("Hangs", "MP-RECALL-002", "before_run"),
        ("together", "MP-TENANT-001", "before_run"),
    ],
)
def test_a_broken_one_is_red_with_the_hook_that_its_author_wrote(
    python, tmp_path, kind, rule, hook
):
    write(tmp_path, memproto__toml="[declares]\nisolates = ['user']\n")
    report = judged(python, tmp_path, f"agent_framework_notes:{kind}", f"--memproto-clause={rule}")
    (red,) = [row for row in report["results"] if row["outcome"] == "fail"]
    assert red["id"] == rule
    assert red["where"].endswith(hook)
