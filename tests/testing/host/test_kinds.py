"""Sensible hosts of other kinds than ours violate nothing."""

import pytest

from memproto.bindings import NATIVE
from memproto.fence import inject_memory_context
from memproto.testing import clauses
from memproto.testing.agent import Agent
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.context import Context
from memproto.testing.host import loading
from memproto.testing.host.run import HostRun
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests import places

pytestmark = pytest.mark.once

#: Checks that decide without waiting for a deadline, and without the fence.
CHECKS = {
    name: check
    for name, check in clauses.checks("host").items()
    if "-FENCE-" not in name and "-LOOP-" not in name
    if name.removeprefix("MP-HOST-")
    not in ("SHUT-003", "SHUT-004", "TOOL-006", "ISO-001", "RECALL-001", "RECALL-008")
}


class Lean(Agent):
    """It talks and remembers, has no tools, and tells the model how often it was asked."""

    prompts = 0

    def __init__(self, *, deadlines=None, on_event=None):
        super().__init__(deadlines=deadlines, on_event=on_event)
        lacks = ("write_memory", "refuse_write", "compress", "delegate", "tools", "call_tool")
        self.without = dict.fromkeys(lacks, "this agent talks and remembers")

    def prompt(self):
        self.prompts += 1
        return f"You are asked for the {self.prompts}th time.\n\n{super().prompt()}"


class One(Agent):
    """One provider at a time, and no names in what it recalls."""

    most_providers = 1

    def recall(self, user_message, messages):
        return "\n\n".join(text for _, text in super().recall(user_message, messages))

    def _answered(self, user_message):
        recall, self.recall = self.recall, super().recall
        try:
            return super()._answered(user_message)
        finally:
            self.recall = recall


class Signed(Agent):
    """It signs what it shows, and records what it showed."""

    def _shown(self, pieces):
        yield from super()._shown(pieces)
        yield "\n\n-- the agent of the harbour"


class Middle(Agent):
    """It recalls twice, sends what it found as a message of its own, and asks for a title."""

    def _answered(self, user_message):
        self._do("on_turn_start", next(self._numbers), user_message)
        recalled = [self.recall(user_message, self._history) for _ in range(2)][-1]
        block = inject_memory_context("", recalled)
        context = [{"role": "user", "content": block}] if block else []
        asked = {"role": "user", "content": f"[09:26] {user_message}"}
        return self._model([*self._history, *context, asked])

    def _finish(self, user_message, shown):
        super()._finish(user_message, shown)
        list(self._model([{"role": "user", "content": "Give this conversation a title."}]))


@pytest.fixture
def watch(drained):
    return Watch(Wire(drained))


@pytest.mark.parametrize("kind", [Lean, places.nightly(One), places.nightly(Signed)])
def test_a_host_of_another_kind_violates_nothing(kind, watch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert decided(kind, CHECKS, watch) > len(CHECKS) / 2


def test_a_framework_with_a_layer_between_violates_nothing_by_its_turns(
    watch, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    areas = ("RECALL-005", "RECALL-006", "RECALL-007", "-SHOW-", "-TURN-00", "-TSTART-")
    checks = {name: CHECKS[name] for name in CHECKS if any(area in name for area in areas)}
    assert decided(Middle, checks, watch) == len(checks) > 10


class Partial(Agent):
    """Its driver has steps that it does not take, and a switch of which it lacks a kind."""

    def interrupt(self, user_message):
        raise NotImplementedError

    def reject(self, user_message):
        raise NotImplementedError("the guardrail is one of the model's service")

    def switch(self, kind, new_session_id):
        if kind == "rewind":
            raise NotImplementedError
        super().switch(kind, new_session_id)


#: Requirements that other scenes decide, and those that are about such a step.
DECIDED = ("RECALL-006", "RECALL-009", "TURN-007", "TSTART-001", "SHOW-003", "ISO-001")
DECIDED += ("SESS-001", "SESS-002", "SESS-003", "SESS-004", "SESS-006", "SESS-008")
NEEDED = ("TURN-004", "TURN-005", "SESS-005")


def test_a_step_that_is_not_taken_leaves_what_other_scenes_decide(watch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    every = clauses.checks("host")
    assert decided(
        Partial, {f"MP-HOST-{name}": every[f"MP-HOST-{name}"] for name in DECIDED}, watch
    ) == len(DECIDED)
    for name in NEEDED:
        with pytest.raises(Untestable, match="does not take the step"):
            decided(Partial, {name: every[f"MP-HOST-{name}"]}, watch)


def decided(kind, checks, watch):
    """Number of the checks that apply to a host, which violates none of them."""
    accepts = frozenset({"deadlines", "on_event"})
    loaded = loading.LoadedHost("t", kind, NATIVE, "t", {}, accepts, True, kind.most_providers)
    count = 0
    for name, check in checks.items():
        run = HostRun(loaded, watch, Context(), salt=len(name))
        try:
            run.decide(check.function)
            count += 1
        except NotApplicable:
            pass
        finally:
            run.finish()
    return count
