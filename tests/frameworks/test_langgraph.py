"""LangGraph: the kit makes the operations of a real graph, and judges stores on the real base."""

import pytest

from tests.frameworks.real_runs import assert_same_calls, judged
from tests.kit_runs import outcomes


@pytest.fixture
def python(langgraph_python):
    return langgraph_python


def test_the_kit_makes_the_operations_that_a_node_makes(python, tmp_path):
    assert_same_calls(python, tmp_path, "langgraph_calls.py")


def test_a_good_store_on_the_real_base_class_conforms(python, tmp_path):
    report = judged(python, tmp_path, "langgraph_notes:Notes")
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "langgraph")
    assert set(outcomes(report).values()) == {"pass", "not_applicable"}


def test_the_framework_s_store_in_memory_conforms_and_is_asked_in_no_new_process(python, tmp_path):
    report = judged(python, tmp_path, "langgraph_notes:InMemoryStore")
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "langgraph-in-memory")
    assert outcomes(report)["MP-PROC-010"] == "not_applicable"


@pytest.mark.parametrize(
    ("kind", "rule"), [("Near", "MP-TENANT-006"), ("KeepsDeleted", "MP-WRITE-004")]
)
def test_a_broken_one_on_the_real_base_class_is_red_with_its_batch(python, tmp_path, kind, rule):
    report = judged(python, tmp_path, f"langgraph_notes:{kind}", f"--memproto-clause={rule}")
    (red,) = [row for row in report["results"] if row["outcome"] == "fail"]
    assert (red["id"], red["where"]) == (rule, f"{kind}.batch")
