"""Strands Agents: the kit makes the calls of a real agent, and judges stores on the real base."""

import pytest

from tests.frameworks.real_runs import assert_same_calls, judged
from tests.kit_runs import outcomes


@pytest.fixture
def python(strands_python):
    return strands_python


def test_the_kit_makes_the_calls_that_an_agent_makes(python, tmp_path):
    assert_same_calls(python, tmp_path, "strands_calls.py")


def test_a_good_store_on_the_real_base_class_conforms(python, tmp_path):
    report = judged(python, tmp_path, "strands_notes:Notes")
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "strands")
    assert set(outcomes(report).values()) == {"pass", "not_applicable"}


@pytest.mark.parametrize(
    ("kind", "rule"), [("LosesTheLast", "MP-TURN-003"), ("Hangs", "MP-RECALL-002")]
)
def test_a_broken_one_on_the_real_base_class_is_red(python, tmp_path, kind, rule):
    report = judged(python, tmp_path, f"strands_notes:{kind}", f"--memproto-clause={rule}")
    assert outcomes(report)[rule] == "fail"
