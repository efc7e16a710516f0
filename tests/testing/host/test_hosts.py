"""Own tests of what the host side of the kit stands on: loading, probes, budgets."""

import sys
import textwrap
import threading
from types import SimpleNamespace

import pytest

import memproto
from memproto import fence
from memproto.bindings import NATIVE
from memproto.deadlines import Deadlines
from memproto.errors import MissingPackage, NoSuchTarget, TargetDoesNotImport
from memproto.registry import MemoryProviderRegistry
from memproto.registry.aio import AsyncMemoryProviderRegistry
from memproto.testing import clauses, wording
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.evidence import Differs, Late
from memproto.testing.host import loading
from memproto.testing.host.host import HostLate
from memproto.testing.host.probes import Gate, Probe, Reports, answering
from memproto.testing.host.run import HostRun
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from memproto.types import Event

REFERENCE = "memproto:MemoryProviderRegistry"


class Plain:
    """A host of the simplest kind: no deadlines, no events, no fence."""

    def __init__(self):
        self.providers = []

    def register(self, provider):
        self.providers.append(provider)

    def initialize_all(self, session_key, config):
        pass

    def enrich_turn(self, user_message, messages):
        return [(p.name, p.enrich_turn(user_message, messages)) for p in self.providers]

    def on_memory_write(self, action, target, content, old_text=None):
        pass

    def on_turn_complete(self, user_message, assistant_response):
        raise KeyError("turn")

    def on_compress(self, messages, compression_count):
        pass

    def shutdown_all(self):
        pass


class RecallsOnTheLoop(AsyncMemoryProviderRegistry):
    """Recalls on the thread of the loop, beside a turn on another thread that began before."""

    async def enrich_turn(self, user_message, messages):
        (lane,) = self._registry._core.lanes
        turn = threading.Thread(target=lane.provider.on_turn_complete, args=("Hello.", "Noted."))
        turn.start()
        turn.join(0.02)
        lane.provider.enrich_turn(user_message, [])
        return []


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of a unique name, importable for the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written = []

    def write(text):
        name = f"host_{tmp_path.name.replace('-', '_')}_{len(written)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def run_of(drained):
    """Builds runs of hosts, with budgets of a tenth, and finishes them."""
    runs = []

    def make(build, accepts=(), scale=0.1):
        loaded = loading.LoadedHost("t", build, NATIVE, "t", {}, frozenset(accepts))
        runs.append(HostRun(loaded, Watch(Wire(drained)), Context(scale=scale)))
        return runs[-1]

    yield make
    for run in runs:
        run.finish()


# -- loading --------------------------------------------------------------------------------------


def test_the_reference_registry_is_loaded_with_its_fence_and_its_keywords():
    loaded = loading.load(REFERENCE)
    assert loaded.accepts == {"deadlines", "on_event", "policy"}
    assert not loaded.is_driver
    assert loaded.fence["sanitize_context"] is fence.sanitize_context
    assert set(loaded.fence) == set(loading.FENCE)
    assert isinstance(loaded.build(), MemoryProviderRegistry)
    assert loaded.binding is NATIVE


def test_a_factory_is_taken_in_place_of_the_target(module):
    name = module("from memproto import MemoryProviderRegistry\nmake = MemoryProviderRegistry")
    assert loading.load("whatever", f"{name}:make").origin == f"{name}:make"


def test_the_fence_of_a_class_comes_before_that_of_its_module(monkeypatch):
    own = SimpleNamespace(sanitize_context=str.upper)
    monkeypatch.setattr(MemoryProviderRegistry, "fence", own, raising=False)
    assert loading.load(REFERENCE).fence == {"sanitize_context": str.upper}


def test_a_host_without_a_fence_has_no_fence(module):
    name = module(
        """
        class Host:
            def __getattr__(self, name):
                return lambda *args: None
        """
    )
    # An attribute that answers to every name is asked for the registry's methods only.
    loaded = loading.load(f"{name}:Host")
    assert loaded.fence == {}
    assert loaded.accepts == frozenset()


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("memproto", "names no attribute"),
        ("no_such_module_here:Host", "there is no module named 'no_such_module_here'"),
        ("memproto:NoSuchHost", "has no attribute 'NoSuchHost'"),
        ("not a module:x", "is no name of a module"),
        ("memproto:__version__", "is str, and neither a class nor a factory"),
        ("builtins:dict", "dict lacks register, initialize_all"),
    ],
)
def test_a_target_that_is_no_registry_is_named_with_the_option(target, fault):
    with pytest.raises(NoSuchTarget) as found:
        loading.load(target)
    assert found.value.what == f"--memproto-host={target}"
    assert fault in found.value.fault
    assert "--memproto-host=mypkg:make_registry" in found.value.fix


def test_a_host_that_needs_a_missing_package_names_it(module):
    name = module("import no_such_package_here")
    with pytest.raises(MissingPackage, match="needs the module 'no_such_package_here'"):
        loading.load(f"{name}:Host")


def test_a_host_that_raises_names_the_error_and_the_line(module):
    name = module("\ndef make():\n    raise ValueError('no key')\n")
    with pytest.raises(TargetDoesNotImport, match=rf"ValueError: no key \(.*{name}.py:3\)"):
        loading.load(f"{name}:make")


def test_a_host_that_cannot_be_parsed_does_not_import(module):
    with pytest.raises(TargetDoesNotImport, match="SyntaxError"):
        loading.load(f"{module('def (:')}:make")


# -- probes ---------------------------------------------------------------------------------------


def test_a_probe_is_a_provider_and_notes_copies_of_its_arguments():
    probe, messages = Probe("a"), [{"role": "user", "content": "x"}]
    assert isinstance(probe, memproto.MemoryProvider)
    probe.enrich_turn("q", messages)
    messages[0]["content"] = "y"
    assert probe.named("enrich_turn")[0].args == ("q", [{"role": "user", "content": "x"}])
    assert probe.count("enrich_turn", "shutdown") == 1


def test_a_gate_holds_its_caller_until_it_is_opened():
    gate, answers = Gate("late"), []
    caller = threading.Thread(target=lambda: answers.append(gate("x")))
    caller.start()
    assert gate.entered.wait(10)
    assert not gate.left.is_set()
    gate.open()
    caller.join(10)
    assert answers == ["late"]


def test_good_news_is_no_report():
    reports = Reports(takes_events=True)
    reports.hear(Event("shutdown", "a", "ok"))
    reports.hear(Event("shutdown", "ab", "raised"))
    assert reports.about("a") == []
    reports.hear(Event("shutdown", "a", "raised"))
    reports.hear("a was dropped")
    assert len(reports.about("a")) == 2


# -- hosts under budgets --------------------------------------------------------------------------


@pytest.mark.once
def test_a_method_that_hangs_is_late_under_the_rule_of_its_operation(run_of):
    run = run_of(Plain)
    host = run.opened(run.probe(enrich_turn=run.gate()), deadlines=Deadlines(enrich_s=0.1))
    with pytest.raises(HostLate, match="enrich_turn returns within its deadline") as found:
        host.recall("q")
    assert found.value.requirement == "MP-HOST-RECALL-001"
    assert "in __call__" in wording.observed(found.value.evidence)


def test_a_method_that_raises_is_a_violation_with_the_place(run_of):
    host = run_of(Plain).opened()
    with pytest.raises(
        Violation, match=r"it raised KeyError\('turn'\) at tests/testing/host/test_hosts.py"
    ):
        host.record("x")


def test_a_recall_that_is_no_list_of_pairs_is_a_violation(run_of):
    run = run_of(type("Odd", (Plain,), {"enrich_turn": lambda *args: "abc"}))
    with pytest.raises(Violation, match="list of"):
        run.opened().recall("q")


def test_a_short_deadline_that_cost_an_answer_is_tried_again_with_a_longer_one(run_of):
    run, seen = run_of(MemoryProviderRegistry, ("deadlines",)), []

    def attempt(deadlines):
        seen.append(deadlines.enrich_s)
        if len(seen) < 2:
            run.violated(Differs(wanted="an answer", seen="none"))

    run.at_some_pace(attempt)
    assert seen == sorted(seen)
    assert len(seen) == 2


def test_a_fault_that_stays_at_every_pace_is_a_violation(run_of):
    run = run_of(MemoryProviderRegistry, ("deadlines",))
    with pytest.raises(Violation, match="expected a; observed b"):
        run.at_some_pace(lambda deadlines: run.violated(Differs(wanted="a", seen="b")))


def test_what_never_returned_is_not_tried_again(run_of):
    run, seen = run_of(Plain, ("deadlines",)), []

    def attempt(deadlines):
        seen.append(deadlines)
        raise HostLate(Late(took_s=3.0, state="running"))

    with pytest.raises(HostLate):
        run.at_some_pace(attempt)
    assert len(seen) == 1


def test_a_fence_function_that_is_missing_makes_untestable(run_of):
    with pytest.raises(Untestable, match="no `sanitize_context`"):
        run_of(Plain).fenced("sanitize_context", "x")


def test_a_host_without_events_reports_through_its_log(run_of, caplog):
    run = run_of(MemoryProviderRegistry)
    absent = run.probe(is_available=lambda: False)
    host = run.opened(absent, run.probe(enrich_turn=answering("x")))
    assert any(absent.name in line for line in host.reports.about(absent.name))


def test_after_the_end_of_a_run_nothing_of_it_is_left(run_of):
    import logging

    handlers = list(logging.getLogger().handlers)
    before = set(threading.enumerate())
    run = run_of(MemoryProviderRegistry, ("deadlines", "on_event"))
    gate = run.gate()
    run.opened(run.probe(on_turn_complete=gate)).record("x")
    assert gate.entered.wait(10)
    run.finish()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before
    assert logging.getLogger().handlers == handlers


def test_every_host_requirement_has_a_check():
    from memproto import spec

    unchecked = {item.id for item in spec.select([], "host")} - set(clauses.checks("host"))
    assert unchecked == set()


def test_two_ends_that_wait_for_each_other_are_late(run_of):
    stuck = Gate()
    run = run_of(type("Stuck", (Plain,), {"shutdown_all": lambda self: stuck()}))
    host = run.opened(deadlines=Deadlines(shutdown_s=0.1))
    host.deadlines = Deadlines(shutdown_s=0.1)
    try:
        with pytest.raises(HostLate, match="shutdown_all returns within its deadline"):
            host.close_from(2)
    finally:
        stuck.open()


def test_the_hook_that_held_the_loop_is_named_and_none_that_ran_beside_it(run_of):
    run = run_of(RecallsOnTheLoop)
    with pytest.raises(Violation) as found:
        clauses.checks("host")["MP-HOST-LOOP-002"].decide(run)
    assert "while enrich_turn works" in wording.expected(found.value.evidence)
