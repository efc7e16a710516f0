"""An exception of a hook is booked under the rule that forbids it."""

from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.testing import booking
from memproto.testing.hostprobes import raising
from memproto.testing.outcomes import Outcome
from memproto.testing.subject import HookRaised


def run_of(binding: str, *extensions: str) -> SimpleNamespace:
    return SimpleNamespace(
        binding=binding,
        watch=SimpleNamespace(deaths={}),
        hook=lambda operation: f"the hook of {operation}",
        where=lambda operation: f"where {operation} is",
        declared=lambda key, default: list(extensions) if key == "extensions" else default,
    )


@pytest.mark.parametrize(
    ("run", "operation", "rule"),
    [
        (run_of("native"), "compress", "MP-COMP-001"),
        (run_of("native", "prompt"), "compress", "MP-COMP-001"),
        (run_of("native", "checkpoint"), "compress", "MP-CHECK-002"),
        (run_of("native", "checkpoint"), "record", "MP-TURN-002"),
        (run_of("hermes", "checkpoint"), "compress", "MP-COMP-001"),
    ],
)
def test_a_checkpoint_that_raises_is_judged_by_the_rule_of_checkpoints(run, operation, rule):
    asked = spec.requirement("MP-LIFE-001")
    failure = HookRaised(operation, KeyError("text"))
    own, found = booking.judge(asked, raising(lambda: failure), run)
    assert (own.id, own.outcome) == (asked.id, Outcome.UNTESTABLE)
    assert (found.id, found.outcome, found.seen_in) == (rule, Outcome.FAIL, asked.id)
