"""An exception of a hook is booked under the rule that forbids it."""

import contextlib
from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.bindings import HERMES, NATIVE, Binding
from memproto.errors import Misconfigured, Unavailable
from memproto.report import needs as words
from memproto.testing import needs
from memproto.testing.clauses import Lost, Untestable, Violation
from memproto.testing.host.probes import raising
from memproto.testing.judging import attribution
from memproto.testing.judging.judge import judge
from memproto.testing.judging.redaction import Outlet
from memproto.testing.needs import (
    KEEPING,
    LATER,
    NO_REFUSAL,
    SET_UP,
    DependsOn,
    Setting,
    depends_on,
)
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject, Watch
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings
from tests.good.journal import Journal
from tests.kit_runs import ROOT, write

pytestmark = pytest.mark.once


def run_of(binding: Binding, *extensions: str) -> SimpleNamespace:
    return SimpleNamespace(
        binding=binding,
        route="",
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
    watch = Watch(type("Wire", (), {"hook": lambda *_: contextlib.nullcontext(0.0)})())
    subject = Subject(Journal(), NATIVE, watch)
    subject.declared = before
    if asked:
        subject.declare()
    with pytest.raises(Violation if is_booked else HookRaised) as raised:
        subject.prewarm("What is known?")
    if is_booked:
        assert raised.value.requirement == "MP-CAP-002"


class Away(Journal):
    """It reports itself unavailable."""

    def is_available(self):
        return False


# -- what an open result needs ---------------------------------------------------------------------


def opened(error, *functions, run=None, check="MP-LIFE-001"):
    """The one open result of a check that raised `error`."""
    run = run or run_of(NATIVE)
    run.freshness = SimpleNamespace(functions=functions)
    (own,) = attribution.judge(spec.requirement(check), raising(lambda: error), run)
    assert own.outcome is Outcome.UNTESTABLE
    return own


STORING = depends_on("MP-TURN-001", "MP-TURN-003", "MP-WRITE-001", "MP-TOOL-001")


def test_a_lost_fact_rests_on_the_rules_of_storing_and_may_be_fresh_only_later():
    assert opened(Lost("a fact was lost")).needs == (*STORING, *LATER)
    assert opened(Lost("a fact was lost"), "settle").needs == STORING
    assert opened(Untestable("it did not come back")).needs == ()


def test_a_fact_that_was_lost_by_a_route_rests_on_the_rules_of_that_route():
    run = run_of(NATIVE)
    run.route = "writes"
    lost = Lost("a fact was lost")
    assert opened(lost, "settle", run=run).needs == depends_on("MP-WRITE-001")
    run.route = "turns"
    said = opened(lost, "settle", run=run, check="MP-TURN-003")
    assert said.needs == depends_on("MP-TURN-001")


def test_the_setting_is_told_beside_the_rules_to_look_at_and_beside_no_other_need():
    see = depends_on("MP-TURN-001")
    assert opened(Lost("a fact was lost", see)).needs == (*see, *LATER)
    assert opened(Lost("a fact was lost", KEEPING)).needs == KEEPING


def test_a_backend_that_is_away_needs_settings():
    error = BackendAway("record", ConnectionError("refused"))
    assert opened(error).needs == SET_UP
    assert "the backend of record does not answer" in opened(error).reason


def test_a_provider_that_refuses_needs_settings():
    assert opened(HookRaised("record", Misconfigured("no key"))).needs == SET_UP
    assert opened(HookRaised("record", Unavailable("later"))).needs == NO_REFUSAL


def test_a_requirement_behind_another_says_so_as_data_and_takes_over_its_needs():
    found = Result("MP-INIT-001", Outcome.UNTESTABLE, reason="no key", needs=SET_UP)
    own, beside = attribution.depending("MP-LIFE-001", found)
    assert own.needs == (DependsOn("MP-INIT-001", "untestable"), *SET_UP)
    assert beside is found
    assert attribution.depending("MP-INIT-001", found) == [found]


def test_a_closed_gate_is_a_need_of_what_stands_behind_it():
    order = Order("tests.testing.judging.test_attribution:Away", directory=ROOT)
    found = {item.id: item for item in judge(order, [spec.requirement("MP-TURN-001")])}
    gate, behind = found["MP-INIT-001"], found["MP-TURN-001"]
    assert needs.settings(gate.needs) == ["env", "factory"]
    assert behind.needs == (DependsOn("MP-INIT-001", "untestable"), *gate.needs)
    assert words.reason(behind).count("; needs: ") == 1


def test_no_credential_is_in_a_need(tmp_path):
    order = Order("mine", settings=Settings(config={"api_key": "sesame-open-the-door"}))
    need = Setting("env", value='{KEY = "sesame-open-the-door"}')
    result = Result("MP-TURN-001", Outcome.UNTESTABLE, reason="no", needs=(need,))
    (told,) = Outlet(order, Contact(), tmp_path)([result])
    assert "sesame" not in str(told.as_dict())
    assert told.needs[0].name == "env"
