"""A host's report: the steps that unlock most come first, and a fix names the class to change."""

import dataclasses

import pytest

from memproto.report import message, steps
from memproto.testing.evidence import Differs, Raised
from memproto.testing.needs import Driver, Install, depends_on
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Order
from tests.kit_runs import kit, write
from tests.made_reports import built, judged

SEEN = Differs(wanted="x", seen="y")

#: A driver of three steps, of which two are inherited: from a class of the author, and of the kit.
AGENT = """
from memproto import MemoryProviderRegistry
from memproto.testing.driver import HostDriver


class Base(HostDriver):
    def start(self, session):
        self.memory.initialize_all(session.session_id, session.config)


class MyDriver(Base):
    def __init__(self):
        self.memory = MemoryProviderRegistry()

    def register(self, provider):
        try:
            self.memory.register(provider)
        except Exception:
            pass

    def exit(self):
        self.memory.shutdown_all()
"""


def waits(key, *wanted):
    return {key.replace("-", "_"): Result(key, Outcome.UNTESTABLE, SEEN, needs=tuple(wanted))}


def test_steps_are_counted_with_what_waits_behind_their_rules():
    rows = {
        **waits("MP-HOST-TURN-001", Driver("record")),
        **waits("MP-HOST-TURN-002", Driver("turn")),
        **waits("MP-HOST-TURN-003", Driver("turn")),
        **waits("MP-HOST-TURN-004", Driver("sanitize_context", "the function")),
        **waits("MP-HOST-TURN-005", Install("acme")),
    }
    (found,) = built(judged("a:B", side="host", **rows))["reports"]
    assert list(steps.lacking(found).items()) == [("turn", 2), ("record", 1)]
    told = "steps that the driver lacks: `turn` unlocks 2 requirements, `record` 1"
    assert steps.line(found) == told
    (found,) = built(judged("a:B", side="host"))["reports"]
    assert steps.line(found) == ""


def test_what_waits_for_a_violated_rule_is_unlocked_by_no_step():
    rows = {
        "MP_HOST_TURN_001": Result("MP-HOST-TURN-001", Outcome.FAIL, SEEN),
        **waits("MP-HOST-TURN-002", Driver("turn"), *depends_on("MP-HOST-TURN-001")),
    }
    (found,) = built(judged("a:B", side="host", **rows))["reports"]
    assert steps.lacking(found) == {}


@pytest.mark.parametrize(
    ("side", "where", "begins"),
    [
        ("host", "agent.py:9 in MyDriver.register", "In MyDriver: Keep "),
        ("host", "agent.py:9 in make", "Keep "),
        ("host", "", "Keep "),
    ],
)
def test_the_fix_of_a_host_names_the_class(side, where, begins):
    order = Order("agent:MyDriver", side)
    result = Result("MP-HOST-REG-002", Outcome.FAIL, SEEN, where)
    assert message.fix(result, order).startswith(begins)
    assert f"  fix       {begins}" in message.render(result, order)
    of_provider = Result("MP-TURN-003", Outcome.FAIL, SEEN, "a.py:3 in Memory.record")
    assert message.fix(of_provider, Order("a")).startswith("Flush ")


def test_the_advice_for_a_step_that_raised_tells_whose_exception_is_meant():
    raised = Raised(hook="turn", error="AttributeError", shown="AttributeError('x')")
    result = Result("MP-HOST-FENCE-002", Outcome.FAIL, raised, "agent.py:9 in MyDriver.turn")
    assert message.advice(result).startswith("If that exception is the host's own, mend it first")
    refused = dataclasses.replace(raised, wanted="a named error for a list")
    assert not message.advice(dataclasses.replace(result, evidence=refused))
    assert not message.advice(dataclasses.replace(result, id="MP-TURN-002"))


@pytest.mark.once
def test_a_run_says_the_steps_first_and_the_authors_line(tmp_path):
    write(tmp_path, agent__py=AGENT)
    words = ("--memproto-host=agent:MyDriver", "--memproto-clause=MP-HOST-REG-002")
    done = kit(tmp_path, *words, "--memproto-clause=MP-HOST-TURN-006")
    line = 1 + AGENT.splitlines().index("    def register(self, provider):")
    assert f"  where     agent.py:{line} in MyDriver.register\n" in done.stdout
    assert "  fix       In MyDriver: Keep the registered names" in done.stdout
    _, _, block = done.stdout.rpartition("- host agent:MyDriver -")
    first = block.splitlines()[1]
    assert first == "  steps that the driver lacks: `turn` unlocks 1 requirement"
