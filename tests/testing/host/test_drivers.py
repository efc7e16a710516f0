"""Own tests of drivers: how they are found, what they may lack, and the kit's own agent."""

import contextlib
import dataclasses
import re
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from memproto import AsyncMemoryProviderRegistry, MemoryProviderRegistry
from memproto.bindings import NATIVE
from memproto.deadlines import Deadlines
from memproto.errors import MissingPackage, NoSuchTarget
from memproto.fence import OPEN_TAG
from memproto.testing import clauses
from memproto.testing.agent import Agent, RegistryDriver
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.driver import STEPS, HostDriver, ModelFailed, Start, Turn, has_step
from memproto.testing.host import loading, probes
from memproto.testing.host.host import SLACK_S
from memproto.testing.host.model import ScriptedModel, failing_model, saying
from memproto.testing.host.probes import answering, tool
from memproto.testing.host.run import HostRun
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire

DOCS = Path(__file__).parents[3] / "docs" / "hosts.md"


class Bare(HostDriver):
    """A driver with nothing but what every driver has."""

    def register(self, provider):
        pass

    def start(self, session):
        pass

    def exit(self):
        pass


class Merging(Agent):
    """An agent that keeps no names of who recalled what."""

    def recall(self, user_message, messages):
        return "\n".join(text for _, text in super().recall(user_message, messages))


class Lazy(Agent):
    """An agent that opens its memories when something first needs them."""

    waiting = None

    def start(self, session):
        self.waiting = session

    def _do(self, method, *args, **kwargs):
        session = self.waiting
        if session and method not in ("register", "on_session_end", "shutdown_all"):
            self.waiting = None
            super().start(session)
        return super()._do(method, *args, **kwargs)


def _saying(without):
    """The beginning of an agent that lacks something."""

    def begin(self, *, deadlines=None, on_event=None):
        Agent.__init__(self, deadlines=deadlines, on_event=on_event)
        self.without = without

    return begin


@pytest.fixture
def run_of(drained):
    """Builds runs of drivers or registries, with budgets of a tenth, and finishes them."""
    runs = []

    def make(build, accepts=("deadlines", "on_event"), scale=0.1):
        is_driver = isinstance(build, type) and issubclass(build, HostDriver)
        most = getattr(build, "most_providers", None)
        loaded = loading.LoadedHost(
            "t", build, NATIVE, "t", {}, frozenset(accepts), is_driver, most
        )
        runs.append(HostRun(loaded, Watch(Wire(drained)), Context(scale=scale)))
        return runs[-1]

    yield make
    for run in runs:
        run.finish()


@pytest.fixture
def documented(tmp_path, monkeypatch):
    """The driver of docs/hosts.md, as a module."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    (tmp_path / "documented_host.py").write_text(textwrap.dedent(code), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield loading.load("documented_host:MyDriver")
    sys.modules.pop("documented_host", None)


# -- finding --------------------------------------------------------------------------------------


def test_a_driver_is_told_from_a_registry():
    assert loading.load("memproto.testing.agent:Agent").is_driver
    assert not loading.load("memproto:AsyncMemoryProviderRegistry").is_driver


def test_a_driver_that_lacks_a_needed_step_is_refused_with_its_name():
    with pytest.raises(NoSuchTarget, match="lacks the steps register, start, exit of a driver"):
        loading.load("memproto.testing.driver:HostDriver")


def test_the_name_of_a_framework_leads_to_the_driver_of_the_kit(monkeypatch):
    assert loading.SHIPPED["hermes"] == "memproto.testing.host.hermes:Driver"
    monkeypatch.setitem(loading.SHIPPED, "hermes", "memproto.testing.agent:Agent")
    assert loading.load("hermes").origin == "memproto.testing.agent:Agent"


def test_a_framework_that_is_not_installed_is_a_missing_package(monkeypatch):
    monkeypatch.setitem(loading.SHIPPED, "hermes", "tests.no_such_package:Driver")
    with pytest.raises(MissingPackage):
        loading.load("hermes")


# -- what a driver may lack -----------------------------------------------------------------------


def test_a_missing_step_is_untestable_and_named(run_of):
    with pytest.raises(Untestable, match="the driver lacks the step `turn`"):
        run_of(Bare, ()).opened().turn("Hello.")


def test_providers_are_asked_by_a_turn_where_there_is_no_recall(run_of):
    class Turning(Bare):
        said = ()

        def turn(self, user_message):
            self.said = (*self.said, user_message)
            return Turn("Noted.")

    host = run_of(Turning, ()).opened()
    host.ask("Which berth?")
    assert host.driver.said == ("Which berth?",)
    with pytest.raises(Untestable, match="the driver lacks the step `recall`"):
        run_of(Bare, ()).opened().ask("Which berth?")


def test_a_host_may_keep_the_compression_of_the_same_messages(run_of):
    class Skipping(MemoryProviderRegistry):
        before = None

        def on_compress(self, messages, compression_count):
            is_again, self.before = messages == self.before, list(messages)
            return None if is_again else super().on_compress(messages, compression_count)

    clauses.checks("host")["MP-HOST-ISO-002"].function(run_of(Skipping, scale=1.0))


class Silenced(Bare):
    """An agent without compression; what one provider raises ends the loop over all of them."""

    def __init__(self):
        self.providers = []

    def register(self, provider):
        self.providers.append(provider)

    def _all(self, hook, *args):
        with contextlib.suppress(Exception):
            return [(one.name, getattr(one, hook)(*args)) for one in self.providers]
        return []

    def recall(self, user_message, messages):
        found = self._all("enrich_turn", user_message, [])
        return [(name, text) for name, text in found if text]

    def record(self, user_message, answer):
        self._all("on_turn_complete", user_message, answer)

    def write_memory(self, action, target, content, old_text=None):
        self._all("on_memory_write", action, target, content, old_text)


def test_what_can_be_seen_without_a_missing_step_is_seen(run_of):
    with pytest.raises(Violation, match="raises ValueError in enrich_turn"):
        clauses.checks("host")["MP-HOST-ISO-001"].function(run_of(Silenced, (), scale=1.0))


def test_a_step_that_is_not_implemented_is_missing(run_of):
    def unwritten(self):
        raise NotImplementedError

    odd = type("Odd", (Bare,), {"prompt": unwritten})
    with pytest.raises(Untestable, match="the driver does not take the step `prompt`"):
        run_of(odd, ()).opened().prompt()


def test_what_a_registry_does_not_implement_is_its_fault(run_of):
    def unwritten(self, *args):
        raise NotImplementedError

    odd = type("Odd", (MemoryProviderRegistry,), {"on_turn_complete": unwritten})
    with pytest.raises(Violation, match="NotImplementedError"):
        run_of(odd).opened().record("Hello.")


def test_what_the_framework_does_not_have_is_not_applicable(run_of):
    odd = type("Odd", (Bare,), {"without": {"delegate": "there are no subagents"}})
    with pytest.raises(NotApplicable, match="no step `delegate`: there are no subagents"):
        run_of(odd, ()).opened(steps=("delegate",))


def test_one_kind_of_switch_may_be_what_the_framework_does_not_have(run_of):
    class Straight(Agent):
        def switch(self, kind, new_session_id):
            if kind == "rewind":
                raise NotImplementedError
            super().switch(kind, new_session_id)

    check = clauses.checks("host")["MP-HOST-SESS-005"].function
    with pytest.raises(Untestable, match="the step `switch`"):
        check(run_of(Straight))
    said = {"switch rewind": "a turn stays said"}
    told = type("Told", (Straight,), {"__init__": _saying(said)})
    check(run_of(told))


def test_a_framework_in_which_no_tool_can_be_forbidden_says_so(run_of):
    said = {"denied_tools": "there is no operator"}
    check = clauses.checks("host")["MP-HOST-TOOL-005"].function
    with pytest.raises(NotApplicable, match="there is no operator"):
        check(run_of(type("Free", (Agent,), {"__init__": _saying(said)})))


def test_a_registry_without_the_method_of_an_extension_does_not_serve_it(run_of):
    plain = type("Plain", (MemoryProviderRegistry,), {"on_session_switch": None})
    with pytest.raises(NotApplicable, match="Plain has no `on_session_switch`"):
        run_of(plain).opened(steps=("switch",))


def test_what_an_agent_decides_is_not_asked_of_a_registry(run_of):
    with pytest.raises(NotApplicable, match="judge its driver"):
        run_of(MemoryProviderRegistry).needs_agent()
    run_of(Agent).needs_agent()


def test_a_host_of_one_provider_is_given_one(run_of):
    run = run_of(type("One", (Bare,), {"most_providers": 1}), ())
    probes = [run.probe() for _ in range(3)]
    assert run.beside(*probes) == ()
    assert run.groups(probes) == [[probe] for probe in probes]
    with pytest.raises(NotApplicable, match="takes 1 of the 2 providers"):
        run.host(*probes[:2])


def test_the_budgets_that_a_driver_has_count_and_not_those_it_was_given(run_of):
    class Fixed(Bare):
        def __init__(self, *, deadlines):
            self.deadlines = Deadlines(enrich_s=deadlines.enrich_s, shutdown_s=12.0)

    host = run_of(Fixed, ("deadlines",)).opened(deadlines=Deadlines(enrich_s=0.5, shutdown_s=1.0))
    assert (host.deadlines.enrich_s, host.deadlines.shutdown_s) == (0.5, 12.0)


@pytest.mark.parametrize("requirement", ["MP-HOST-INIT-003", "MP-HOST-INIT-004"])
def test_providers_may_be_opened_as_late_as_the_first_turn(run_of, requirement):
    clauses.checks("host")[requirement].function(run_of(Lazy))


def test_a_turn_that_gives_no_turn_is_a_violation(run_of):
    odd = type("Odd", (Agent,), {"turn": lambda self, user_message: "Noted."})
    with pytest.raises(Violation, match="a Turn with the text that was shown"):
        run_of(odd).opened().turn("Hello.")


def test_who_said_what_is_told_by_the_texts_where_there_are_no_names(run_of):
    run = run_of(Merging)
    first, second = (run.probe(enrich_turn=answering(text)) for text in ("Noted.", "Noted."))
    silent = run.probe(enrich_turn=lambda *args: None)
    host = run.opened(first, silent, second)
    assert host.recall("What?") == {first.name: "Noted.", second.name: "Noted."}


# -- the kit's own agent --------------------------------------------------------------------------


def test_the_kits_agent_has_every_step():
    assert [step for step in STEPS if not has_step(Agent(), step)] == []
    assert [step for step in STEPS if has_step(HostDriver(), step)] == []


def test_a_registry_of_coroutines_runs_on_a_loop_that_ends_with_the_run(run_of):
    run = run_of(AsyncMemoryProviderRegistry)
    probe = run.serving("sessions", "tools", schemas=[tool("find_berth")])
    host = run.opened(probe)
    host.turn("Which berth is free?")
    assert host.call_tool("find_berth", {"text": "x"}) == '{"success": true}'
    host.end()
    host.close()
    hooks = [call.hook for call in probe.named("enrich_turn", "on_turn_complete", "on_session_end")]
    assert hooks == ["enrich_turn", "on_turn_complete", "on_session_end"]
    assert "kit-loop" in {thread.name for thread in threading.enumerate()}
    run.finish()
    assert "kit-loop" not in {thread.name for thread in threading.enumerate()}


def test_the_model_of_the_kit_notes_what_it_was_sent():
    model = ScriptedModel()
    model.answer = saying("Berth ", "7.")
    messages = [{"role": "user", "content": [{"type": "text", "text": "Which?"}]}]
    assert list(model(messages)) == ["Berth ", "7."]
    messages[0]["content"] = "changed"
    assert model.sent() == "Which?"
    model.answer = failing_model
    with pytest.raises(ModelFailed):
        model(messages)


def test_the_agent_sends_recall_shows_none_of_it_and_keeps_the_users_words():
    agent, model = Agent(), ScriptedModel()
    agent.recall = lambda *args: [("notes", "The tug is the Ondine.")]
    agent._model = model
    model.answer = lambda request: ["You said: ", request[-1]["content"], "."]
    assert "Ondine" not in agent.turn("Which tug?").shown
    assert OPEN_TAG in model.sent()
    model.answer = saying("Aye.")
    agent.turn("And now?")
    assert model.requests[-1][0] == {"role": "user", "content": "Which tug?"}
    agent.exit()


def test_a_registry_driver_without_our_policy_has_no_tool_of_its_own():
    assert RegistryDriver(MemoryProviderRegistry()).own_tool == ""


# -- the driver of the documentation --------------------------------------------------------------


@pytest.mark.parametrize(
    "requirement",
    ["MP-HOST-RECALL-006", "MP-HOST-SHOW-002", "MP-HOST-SESS-001", "MP-HOST-TURN-007"],
)
def test_the_driver_of_the_documentation_holds(documented, run_of, requirement):
    run = run_of(documented.build)
    clauses.checks("host")[requirement].function(run)


@pytest.mark.parametrize(
    ("requirement", "outcome", "said"),
    [
        ("MP-HOST-TURN-005", NotApplicable, "there are no guardrails"),
        ("MP-HOST-TURN-004", Untestable, "the step `interrupt`"),
        ("MP-HOST-ISO-002", Untestable, "the step `compress`"),
        ("MP-HOST-CAP-001", Untestable, "the step `compress`"),
    ],
)
def test_what_the_documented_driver_lacks_is_said(documented, run_of, requirement, outcome, said):
    with pytest.raises(outcome, match=said):
        clauses.checks("host")[requirement].function(run_of(documented.build, scale=1.0))


def test_a_session_starts_with_a_model_that_answers(documented):
    driver = documented.build()
    driver.start(Start("s", "/nowhere", {"home": "/nowhere"}, lambda messages: iter(["Aye."])))
    assert driver.turn("Hello.") == Turn("Aye.")
    driver.exit()


# -- frameworks of another interface --------------------------------------------------------------


APART = {
    "fence": "its block is another one",
    "MP-HOST-INIT-001": "it does not ask for that",
}


class Apart(Bare):
    """A driver of a framework with a block of its own, which asks nobody who is available."""

    without = APART


def apart_run(run_of):
    run = run_of(Agent)
    run.loaded = dataclasses.replace(run.loaded, without=APART)
    return run


def test_a_requirement_that_no_call_could_keep_is_not_applicable_with_its_reason(run_of):
    with pytest.raises(NotApplicable, match="it does not ask for that"):
        clauses.checks("host")["MP-HOST-INIT-001"].decide(apart_run(run_of))


@pytest.mark.parametrize("rule", ["MP-HOST-RECALL-009", "MP-HOST-FENCE-008", "MP-HOST-FENCE-001"])
def test_a_block_of_another_form_is_not_judged_by_this_one(run_of, rule):
    with pytest.raises(NotApplicable, match="its block is another one"):
        clauses.checks("host")[rule].decide(apart_run(run_of))


class Pasting(Agent):
    """It records what the user wrote, with a block that was pasted."""

    def register(self, provider):
        self.provider = provider
        super().register(provider)

    def record(self, user_message, answer):
        self.provider.on_turn_complete(user_message, answer)


def test_a_pasted_block_is_text_as_any_other_for_a_framework_of_another_block(run_of):
    run = run_of(Pasting)
    check = clauses.checks("host")["MP-HOST-TURN-003"]
    with pytest.raises(Violation):
        check.decide(run)
    run.loaded = dataclasses.replace(run.loaded, without=APART)
    check.decide(run)


def test_what_a_driver_is_without_is_known_when_it_is_loaded():
    loaded = loading.load(f"{__name__}:Apart")
    assert loaded.without == APART


class Misspelt(Bare):
    without = {"MP-HOST-INIT-01": "it does not ask for that"}  # noqa: RUF012 - as its base says


def test_a_requirement_that_is_none_on_hosts_is_refused():
    with pytest.raises(NoSuchTarget, match="names MP-HOST-INIT-01, which is no requirement"):
        loading.load(f"{__name__}:Misspelt")


def test_no_hang_of_the_kit_ends_before_the_deadline_that_it_is_to_outlast():
    assert Deadlines().tool_s + SLACK_S < probes.LONGEST_HANG_S


@pytest.mark.parametrize(
    ("target", "package"),
    [("strands", "strands-agents"), ("agent-framework", "agent-framework-core")],
)
def test_a_driver_without_its_framework_names_the_package(monkeypatch, target, package):
    module = package.removesuffix("-core").removesuffix("-agents").replace("-", "_")
    monkeypatch.setitem(sys.modules, module, None)
    sys.modules.pop(loading.SHIPPED[target].partition(":")[0], None)
    with pytest.raises(MissingPackage, match=f"pip install {package}"):
        loading.load(target)


class Unguarded(Agent):
    """Its turn asks its provider with nothing around it."""

    def register(self, provider):
        self.provider = provider
        super().register(provider)

    def turn(self, user_message):
        return Turn(self.provider.enrich_turn(user_message, []))


@pytest.mark.parametrize("rule", ["MP-HOST-ISO-004", "MP-HOST-ISO-005"])
def test_a_turn_that_raises_what_its_provider_raised_says_nothing_of_texts(run_of, rule):
    with pytest.raises(Untestable, match="the turn raises what its provider raised"):
        clauses.checks("host")[rule].decide(run_of(Unguarded))


def test_a_step_that_raises_is_named_as_the_driver_has_it(run_of):
    driver = type("Broken", (Bare,), {"turn": lambda self, user_message: self.missing})
    with pytest.raises(Violation, match=r"expected turn returns; .* no attribute 'missing'"):
        run_of(driver, ()).opened().turn("q")
