"""A run of one rule does what that rule needs, and no more."""

import pytest

from tests.kit_runs import reported, write

pytestmark = pytest.mark.once

PROVIDER = """
from pathlib import Path

from memproto.reference_providers.builtin import BuiltinMemoryProvider

CALLS = Path(__file__).with_name("calls.txt")


def noted(name):
    def hook(self, *given, **keywords):
        with CALLS.open("a", encoding="utf-8") as file:
            file.write(f"{name} ")
        return getattr(super(Provider, self), name)(*given, **keywords)

    return hook


class Provider(BuiltinMemoryProvider):
    initialize = noted("initialize")
    enrich_turn = noted("enrich_turn")
    on_memory_write = noted("on_memory_write")
"""


@pytest.mark.parametrize(
    ("rule", "stores"), [("MP-NAME-002", False), ("MP-LOAD-004", False), ("MP-RECALL-001", True)]
)
def test_a_rule_without_a_session_is_judged_without_a_survey(tmp_path, rule, stores):
    write(tmp_path, **{"mine.py": PROVIDER})
    found = reported(tmp_path, "--memproto=mine", f"--memproto-clause={rule}")
    outcomes = {row["id"]: row["outcome"] for row in found["reports"][0]["results"]}
    assert outcomes[rule] == "pass"
    assert found["run"].returncode == 0
    made = (tmp_path / "calls.txt").read_text("utf-8").split()
    # A session begins at the gates, each time.
    assert "initialize" in made
    assert (set(made) > {"initialize"}) is stores
