"""An exception of a hook is booked under the rule that forbids it."""

import contextlib
from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.bindings import HERMES, NATIVE, Binding
from memproto.testing.clauses import Violation
from memproto.testing.host.probes import raising
from memproto.testing.judging import attribution
from memproto.testing.judging.judge import judge
from memproto.testing.outcomes import Outcome
from memproto.testing.provider.subject import HookRaised, Subject, Watch
from memproto.testing.settings.order import Order
from tests.good.journal import Journal
from tests.kit_runs import ROOT, write


def run_of(binding: Binding, *extensions: str) -> SimpleNamespace:
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
        (run_of(NATIVE), "compress", "MP-COMP-001"),
        (run_of(NATIVE, "prompt"), "compress", "MP-COMP-001"),
        (run_of(NATIVE, "checkpoint"), "compress", "MP-CHECK-002"),
        (run_of(NATIVE, "checkpoint"), "record", "MP-TURN-002"),
        (run_of(HERMES, "checkpoint"), "record", "MP-TURN-002"),
        (run_of(HERMES), "compress", "MP-COMP-001"),
    ],
)
def test_a_checkpoint_that_raises_is_judged_by_the_rule_of_checkpoints(run, operation, rule):
    asked = spec.requirement("MP-LIFE-001")
    failure = HookRaised(operation, KeyError("text"))
    own, found = attribution.judge(asked, raising(lambda: failure), run)
    assert (own.id, own.outcome) == (asked.id, Outcome.UNTESTABLE)
    assert (found.id, found.outcome, found.seen_in) == (rule, Outcome.FAIL, asked.id)


@pytest.mark.parametrize("operation", ["compress", "compress_notes"])
def test_whatever_a_checkpoint_of_the_hermes_binding_raises_is_a_refusal(operation):
    asked, failure = spec.requirement("MP-LIFE-001"), HookRaised(operation, KeyError("text"))
    (own,) = attribution.judge(asked, raising(lambda: failure), run_of(HERMES, "checkpoint"))
    assert (own.id, own.outcome) == (asked.id, Outcome.UNTESTABLE)
    assert "refused the messages: KeyError('text')" in own.reason


SHELF = """
from tests.good.plugged import Plugged
from tests.good.journal import Journal

class Checkpoint(Plugged):
    pre_compress_checkpoint_api_version = 2
    def on_pre_compress(self, messages, require_checkpoint=False):
        raise ValueError("the archive is closed")

class NoCheckpoint(Checkpoint):
    pre_compress_checkpoint_api_version = 1

class NoHooks(Journal):
    def capabilities(self):
        return {**super().capabilities(), "extensions": ["sessions", "turns", "privacy"]}
"""


def red_of(directory, name, *areas):
    """The rules that a provider of the shelf violates, of those areas."""
    write(directory, shelf__py=SHELF)
    (directory / "tests").symlink_to(ROOT / "tests")
    wanted = spec.select([f"MP-{area}" for area in areas], "provider")
    found = judge(Order(f"shelf:{name}", directory=directory), wanted)
    return {result.id for result in found if result.outcome is Outcome.FAIL}


def test_the_refusal_of_a_hermes_checkpoint_is_red_in_no_check(tmp_path):
    areas = ("LIFE", "COMP", "CHECK", "NOTES", "THR-001", "DATA", "TIME-001", "SHUT-006")
    assert red_of(tmp_path, "Checkpoint", *areas) == set()


def test_a_hermes_provider_without_a_checkpoint_may_not_raise(tmp_path):
    assert red_of(tmp_path, "NoCheckpoint", "COMP-001", "LIFE") == {"MP-COMP-001"}


def test_a_missing_hook_of_a_declared_extension_is_told_once(tmp_path):
    areas = ("CAP-002", "SESS", "TSTART", "PRIV", "TURN-001", "LIFE")
    assert red_of(tmp_path, "NoHooks", *areas) == {"MP-CAP-002"}


def test_a_missing_hook_is_told_as_such_where_its_own_rule_is_not_asked_for(tmp_path):
    assert red_of(tmp_path, "NoHooks", "SESS-006") == {"MP-CAP-002"}


@pytest.mark.parametrize(
    ("before", "asked", "is_booked"),
    [
        (None, False, False),
        ((), False, False),
        (("turns",), False, False),
        (("prewarm",), False, True),
        (("prewarm",), True, False),
    ],
)
def test_a_missing_hook_is_booked_only_where_somebody_declared_it(before, asked, is_booked):
    """Journal has no `queue_prefetch` and declares none."""
    watch = Watch(type("Wire", (), {"hook": lambda *_: contextlib.nullcontext()})())
    subject = Subject(Journal(), NATIVE, watch)
    subject.declared = before
    if asked:
        subject.declare()
    with pytest.raises(Violation if is_booked else HookRaised) as raised:
        subject.prewarm("What is known?")
    if is_booked:
        assert raised.value.requirement == "MP-CAP-002"
