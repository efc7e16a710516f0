"""Hosts that are broken in recall."""

import dataclasses
import time
import types

from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.gather import Gather, fly
from memproto.registry.calls.recall import Recall, recall
from memproto.registry.calls.workers import Worker
from memproto.registry.messages import copied_messages
from memproto.testing.agent import Agent
from tests.broken.host.parts import (
    LateLane,
    OtherLane,
    Through,
    Wrapping,
    by_the_wall_clock,
    leaving_out,
    sliding,
)
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-RECALL-001", says="had not returned", report="B2")
class WaitsForEveryAnswer(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        patient = dataclasses.replace(deadlines or Deadlines(), enrich_s=3600)
        super().__init__(deadlines=patient, on_event=on_event)


@mutant(kills="MP-HOST-RECALL-001", says="had not returned", report="B2")
class WaitsForOneAfterTheOther(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        answers = []
        for lane in self._core.lanes:
            gather = Gather(self._core.clock, self._core.deadlines.enrich_s)
            answers += recall([lane], user_message, messages, gather)
        return answers


@mutant(kills="MP-HOST-RECALL-001", says="the answers of those that kept it", report="B2")
class GivesUpTheTurnWithTheDeadline(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        lanes = self._core.lanes
        answers = super().enrich_turn(user_message, messages)
        hung = [lane for lane in lanes if len(lane.late["enrich_turn"])]
        return [] if len(hung) > len(lanes) / 2 else answers


class _Late(Through):
    kept = None

    def enrich_turn(self, user_message, messages):
        kept, self.kept = self.kept, None
        began = time.monotonic()
        answer = self.inner.enrich_turn(user_message, messages)
        if time.monotonic() - began > self.registry._core.deadlines.enrich_s:
            self.kept = answer
        return kept or answer


@mutant(kills="MP-HOST-RECALL-002", says="An answer to the first question.", report="D1")
class ShowsLateAnswersOnTheNextTurn(Wrapping):
    through = _Late


class _Joined(Through):
    kept = ""

    def enrich_turn(self, user_message, messages):
        kept, self.kept = self.kept, ""
        began = time.monotonic()
        answer = self.inner.enrich_turn(user_message, messages)
        if time.monotonic() - began > self.registry._core.deadlines.enrich_s:
            self.kept = f"{answer}\n"
        return kept + answer if kept and answer else answer


@mutant(kills="MP-HOST-RECALL-002", says="An answer to the first question.", report="D1")
class JoinsLateAnswersToTheNext(Wrapping):
    through = _Joined


class _Spare(Through):
    kept = None

    def enrich_turn(self, user_message, messages):
        began = time.monotonic()
        answer = self.inner.enrich_turn(user_message, messages)
        if time.monotonic() - began > self.registry._core.deadlines.enrich_s:
            self.kept = answer
        return self.kept if answer is None else answer


@mutant(kills="MP-HOST-RECALL-002", says="An answer to the first question.", report="D1")
class ShowsLateAnswersWhereThereIsNoOther(Wrapping):
    through = _Spare


class _ByQuestion(Through):
    kept = types.MappingProxyType({})

    def enrich_turn(self, user_message, messages):
        began = time.monotonic()
        answer = self.inner.enrich_turn(user_message, messages)
        if time.monotonic() - began > self.registry._core.deadlines.enrich_s:
            self.kept = {**self.kept, user_message: answer}
        return self.kept.get(user_message, answer)


@mutant(kills="MP-HOST-RECALL-002", says="An answer to the first question.", report="D1")
class ShowsALateAnswerToTheSameQuestion(Wrapping):
    through = _ByQuestion


class _Resigned(Through):
    has_failed = False

    def enrich_turn(self, user_message, messages):
        if self.has_failed:
            return None
        try:
            return self.inner.enrich_turn(user_message, messages)
        except Exception:
            self.has_failed = True
            raise


@mutant(kills="MP-HOST-RECALL-003", says="in which it raised", report="L2")
class AsksNoMoreWhatRaisedOnce(Wrapping):
    through = _Resigned


class _Ended(Through):
    has_ended = False

    def enrich_turn(self, user_message, messages):
        if self.has_ended:
            return None
        try:
            return self.inner.enrich_turn(user_message, messages)
        except (SystemExit, GeneratorExit):
            self.has_ended = True
            raise


@mutant(kills="MP-HOST-RECALL-003", says="in which it raised SystemExit", report="L2")
class AnExitEndsTheThreadOfRecall(Wrapping):
    through = _Ended


class _Breaking(Through):
    failures = 0

    def enrich_turn(self, user_message, messages):
        if self.failures == 3:
            return None
        try:
            return self.inner.enrich_turn(user_message, messages)
        except Exception:
            self.failures += 1
            raise


@mutant(kills="MP-HOST-RECALL-003", says="in which it raised OSError", report="B3")
class AsksNoMoreAfterThreeErrors(Wrapping):
    through = _Breaking


@mutant(kills="MP-HOST-RECALL-003", says="2 calls after 2 turns", report="C4")
class StartsAThreadForEachRecall(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        gather = Gather(self._core.clock, self._core.deadlines.enrich_s)
        calls = []
        for lane in self._core.lanes:
            worker = Worker("recall")
            worker.start()
            args = (user_message, copied_messages(messages))
            call = Recall(lane, args, gather)
            call.worker = worker
            calls.append(call)
        fly(calls, gather)
        return [(c.lane.label, c.answer) for c in calls if c.done and (c.answer or "").strip()]


class _Shown(Through):
    def enrich_turn(self, user_message, messages):
        answer = self.inner.enrich_turn(user_message, messages)
        return answer if answer is None else str(answer)


@mutant(kills="MP-HOST-RECALL-004", says="'7'", report="J1")
class ShowsWhateverItGets(Wrapping):
    through = _Shown


@mutant(kills="MP-HOST-RECALL-008", says="recall that was given up", report="B3")
class SaysNothingOfLateAnswers(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if event.outcome not in ("late", "stuck"):
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-RECALL-001", says="had not returned", report="B2")
class AsksInPairs(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        found, lanes = [], self._core.lanes
        for first in range(0, len(lanes), 2):
            self._core.lanes = lanes[first : first + 2]
            found += super().enrich_turn(user_message, messages)
        self._core.lanes = lanes
        return found


@mutant(kills="MP-HOST-RECALL-010", says="the clock jumps", report="J4")
class MeasuresDeadlinesOnTheWallClock(MemoryProviderRegistry):
    enrich_turn = by_the_wall_clock("enrich_turn")


@mutant(kills="MP-HOST-RECALL-001", says="had not returned", report="B2")
class WaitsForEveryAnswerInAStream(Agent):
    is_streaming = False

    def stream(self, user_message):
        self.is_streaming = True
        try:
            return super().stream(user_message)
        finally:
            self.is_streaming = False

    def recall(self, user_message, messages):
        found = super().recall(user_message, messages)
        lanes = self.registry._core.lanes if self.is_streaming else ()
        while any(lane.late["enrich_turn"] for lane in lanes):
            time.sleep(0.05)
        return found


@mutant(kills="MP-HOST-RECALL-003", says="after a switch", report="C4")
class ForgetsAtASwitchWhoHangs(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, **keywords):
        super().on_session_switch(new_session_id, **keywords)
        for lane in self._core.lanes:
            lane.late.clear()
            lane._recalls = Worker("another")
            lane._recalls.start()


@mutant(kills="MP-HOST-RECALL-001", says="had not returned", report="B2")
class CountsTheTimeFromTheLastAnswer(MemoryProviderRegistry):
    enrich_turn = sliding("enrich_turn")


class _LateOnce(Through):
    has_raised = False

    def enrich_turn(self, user_message, messages):
        if self.has_raised:
            return None
        began = time.monotonic()
        try:
            return self.inner.enrich_turn(user_message, messages)
        except OSError:
            self.has_raised = time.monotonic() - began > self.registry._core.deadlines.enrich_s
            raise


@mutant(kills="MP-HOST-RECALL-003", says="that was given up has raised", report="L2")
class AsksNoMoreWhatRaisedLate(Wrapping):
    through = _LateOnce


@mutant(kills="MP-HOST-RECALL-003", says="late calls has returned", report="L2")
class LeavesOutWhoWasLateThreeTimes(OtherLane):
    lane = LateLane
    enrich_turn = leaving_out("enrich_turn", 3)
