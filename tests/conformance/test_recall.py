"""Providers that recall by another basis than the question: which rules are asked of them."""

import pytest

from tests.kit_runs import outcomes, reported


@pytest.mark.once
def test_a_first_recall_is_not_asked_of_a_provider_that_recalls_by_the_turn_before(tmp_path):
    """The rule has no claim on it; that its recall works at all is seen beside it."""
    words = ("--memproto-clause=MP-RECALL-001", "--memproto-clause=MP-RECALL-005")
    found = reported(tmp_path, "--memproto=tests.good.behind:Behind", *words)
    (report,) = found["reports"]
    seen = outcomes(report)
    assert (seen["MP-RECALL-001"], seen["MP-RECALL-005"]) == ("pass", "not_applicable")
    (row,) = [row for row in report["results"] if row["id"] == "MP-RECALL-005"]
    assert "recall_basis is previous" in row["reason"]
