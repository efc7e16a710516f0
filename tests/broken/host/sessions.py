"""Registries that end and switch sessions wrongly."""

import threading
import types

from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.lanes import ProviderLane
from memproto.testing.agent import Agent
from tests.broken.host.writes import OtherLane
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-SESS-001", says="0 ends where the agent is left", report="hermes#11205")
class LeavesWithoutAnEnd(MemoryProviderRegistry):
    def shutdown_all(self):
        self._core.session.claim_end()
        super().shutdown_all()


@mutant(kills="MP-HOST-SESS-001", says="2 ends", report="hermes#64284")
class EndsAgainAtTheExit(MemoryProviderRegistry):
    def shutdown_all(self):
        if self._core.lanes:
            self._core.session.ends = iter((True,))
        super().shutdown_all()


@mutant(kills="MP-HOST-SESS-002", says="an end by `end`", report="hermes#16571")
class EndsWithNoMessages(MemoryProviderRegistry):
    def on_session_end(self, messages):
        super().on_session_end([])


@mutant(kills="MP-HOST-SESS-002", says="an end by `interrupt and exit`", report="A1")
class LeavesInHasteOnceATurnWasBrokenOff(Agent):
    def interrupt(self, user_message):
        self.end = lambda: None
        return super().interrupt(user_message)


@mutant(kills="MP-HOST-SESS-002", says="as in message.schema.json", report="A2")
class EndsWithAnswersOfNobody(MemoryProviderRegistry):
    def on_session_end(self, messages):
        said = [m if m["role"] == "user" else {"content": m["content"]} for m in messages]
        super().on_session_end(said)


@mutant(kills="MP-HOST-SESS-003", says="beside the write", report="hermes#61139")
class EndsOnAThreadOfItsOwn(MemoryProviderRegistry):
    def on_session_end(self, messages):
        if self._core.writes_are_called and self._core.lanes and self._core.session.claim_end():
            for lane in self._core.serving("sessions"):
                args = "on_session_end", list(messages)
                threading.Thread(target=lane.attempt, args=args, daemon=True).start()


@mutant(kills="MP-HOST-SESS-004", says="had not returned", report="hermes#61139")
class WaitsForTheEnd(MemoryProviderRegistry):
    def on_session_end(self, messages):
        super().on_session_end(messages)
        self.flush()


@mutant(kills="MP-HOST-SESS-005", says="rewound=True", report="hermes#37051")
class TellsNobodyOfARewind(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, rewound=False, **kwargs):
        super().on_session_switch(new_session_id, **kwargs)


@mutant(kills="MP-HOST-SESS-005", says="reset=False", report="hermes#16306")
class TakesACompressionForANewOne(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, rewound=False, **kwargs):
        kwargs["reset"] = not rewound
        super().on_session_switch(new_session_id, rewound=rewound, **kwargs)


class _Hasty(ProviderLane):
    def await_switches(self):
        """Go on at once."""


@mutant(kills="MP-HOST-SESS-006", says="has not switched yet", report="D3")
class RecallsBeforeTheSwitch(OtherLane):
    lane = _Hasty


@mutant(kills="MP-HOST-DELEG-001", says="with the session", report="A3")
class ForgetsTheChild(MemoryProviderRegistry):
    def on_delegation(self, task, result, *, child_session_id="", **kwargs):
        super().on_delegation(task, result, **kwargs)


@mutant(kills="MP-HOST-SESS-002", says="an end by", report="A2")
class EndsWithTheLastMessages(MemoryProviderRegistry):
    def on_session_end(self, messages):
        super().on_session_end(messages[-20:])


@mutant(kills="MP-HOST-SESS-002", says="an end by", report="A2")
class EndsWithShortenedMessages(MemoryProviderRegistry):
    def on_session_end(self, messages):
        super().on_session_end([{**m, "content": m["content"][:500]} for m in messages])


@mutant(kills="MP-HOST-SESS-003", says="then on_session_end", report="A6")
class DropsWhatWaitsAtASwitch(MemoryProviderRegistry):
    def on_session_end(self, messages):
        for lane in self._core.lanes:
            for number in sorted(lane._accepted)[8:]:
                del lane._accepted[number]
        super().on_session_end(messages)


@mutant(kills="MP-HOST-SESS-007", says="a new conversation", report="D3")
class GoesOnWithTheFormerConversation(Agent):
    def switch(self, kind, new_session_id):
        history = self._history
        super().switch(kind, new_session_id)
        self._history = [*history] if kind == "new" else self._history


@mutant(kills="MP-HOST-SESS-007", says="nothing of the session before", report="C6")
class KeepsAnswersForAllSessions(Agent):
    kept = types.MappingProxyType({})

    def recall(self, user_message, messages):
        answer = super().recall(user_message, messages)
        type(self).kept = {user_message: answer, **self.kept}
        return self.kept[user_message]


@mutant(kills="MP-HOST-SESS-001", says="for the second provider", report="A1")
class EndsForTheFirstProviderOnly(MemoryProviderRegistry):
    def on_session_end(self, messages):
        lanes, self._core.lanes = self._core.lanes, self._core.lanes[:1]
        super().on_session_end(messages)
        self._core.lanes = lanes


@mutant(kills="MP-HOST-SESS-003", says="between the two turns", report="A6")
class RecordsATurnAtTheNext(Agent):
    waiting = None

    def record_turn(self, turn):
        waiting, self.waiting = self.waiting, turn
        if waiting:
            super().record_turn(waiting)

    def end(self):
        self.record_turn(None)
        super().end()

    def exit(self):
        self.record_turn(None)
        super().exit()


@mutant(
    kills="MP-HOST-SESS-005",
    says="to each of 2",
    report="A3",
    also={
        "MP-HOST-SESS-001": "a switch to a new session ends the one that is left",
        "MP-HOST-SESS-008": "the second one is neither told nor reported",
    },
)
class SwitchesTheFirstProviderOnly(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, **kwargs):
        lanes, self._core.lanes = self._core.lanes, self._core.lanes[:1]
        super().on_session_switch(new_session_id, **kwargs)
        self._core.lanes = lanes


@mutant(kills="MP-HOST-SESS-007", says="a resumed one", report="D3")
class ResumesWithTheWordsOfTheOneThatWasLeft(Agent):
    def switch(self, kind, new_session_id):
        history = self._history
        super().switch(kind, new_session_id)
        self._history = [*history] if kind == "resume" else self._history


@mutant(kills="MP-HOST-SESS-007", says="a new conversation", report="D3")
class KeepsAnswersAcrossASwitch(Agent):
    kept = types.MappingProxyType({})

    def recall(self, user_message, messages):
        key = user_message, str(messages)
        answer = self.kept.get(key) or super().recall(user_message, messages)
        self.kept = {**self.kept, key: answer} if answer else self.kept
        return answer


@mutant(kills="MP-HOST-DELEG-001", says="one delegation of each of 3", report="A3")
class TakesEqualTasksForOne(MemoryProviderRegistry):
    known = ()

    def on_delegation(self, task, result, **kwargs):
        if task not in self.known:
            super().on_delegation(task, result, **kwargs)
        self.known = (*self.known, task)


@mutant(kills="MP-HOST-DELEG-001", says="and not as a turn", report="F5")
class RecordsADelegationAsATurn(Agent):
    def delegate(self, task, result, child_session_id):
        super().delegate(task, result, child_session_id)
        self._finish(task, result)


@mutant(kills="MP-HOST-SESS-005", says="the parent", report="hermes#57146")
class BranchesFromTheFirstSession(Agent):
    def start(self, session):
        super().start(session)
        self.first = session.session_id

    def switch(self, kind, new_session_id):
        if kind == "branch":
            self._key = self.first
        super().switch(kind, new_session_id)


@mutant(kills="MP-HOST-DELEG-001", says="one delegation of each", report="J8")
class CutsTheResultOfADelegation(Agent):
    def delegate(self, task, result, child_session_id):
        super().delegate(task, result[:1_000], child_session_id)


@mutant(kills="MP-HOST-SESS-007", says="the result of a tool", report="C6")
class KeepsResultsOfToolsForAll(Agent):
    kept = types.MappingProxyType({})

    def call_tool(self, name, args):
        key = name, str(args)
        if key not in self.kept:
            type(self).kept = {**self.kept, key: super().call_tool(name, args)}
        return self.kept[key]


@mutant(kills="MP-HOST-SESS-007", says="the prompt", report="C6")
class KeepsThePromptOfEachProviderForAll(Agent):
    kept = types.MappingProxyType({})

    def prompt(self):
        key = self.registry.providers
        if key not in self.kept:
            type(self).kept = {**self.kept, key: super().prompt()}
        return self.kept[key]


@mutant(kills="MP-HOST-SESS-003", says="a switch behind 300 turns", report="A6")
class DropsASwitchWhereManyWritesWait(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, **kwargs):
        if all(lane.queued < 200 for lane in self._core.lanes):
            super().on_session_switch(new_session_id, **kwargs)


@mutant(kills="MP-HOST-SESS-007", says="that is open beside it", report="C6")
class TellsADelegationToTheLastSession(Agent):
    last = None

    def start(self, session):
        super().start(session)
        TellsADelegationToTheLastSession.last = self.registry

    def delegate(self, task, result, child_session_id):
        self.last.on_delegation(task, result, child_session_id=child_session_id)


@mutant(kills="MP-HOST-SESS-001", says="another one is resumed", report="A1")
class EndsNoSessionThatWasResumed(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, reset=False, **kwargs):
        has_ended = not reset and not self._core.session.claim_end()
        super().on_session_switch(new_session_id, reset=reset, **kwargs)
        if has_ended:
            self._core.session.claim_end()


@mutant(kills="MP-HOST-SESS-005", says="two keys for the sessions", report="E6")
class TidiesTheKeyOfASwitch(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, **keywords):
        super().on_session_switch(new_session_id.strip()[:64], **keywords)


_OWNERS = {}


@mutant(kills="MP-HOST-SESS-007", says="`handle_tool_call`", report="C6")
class FindsToolsByNameInTheProcess(Agent):
    def start(self, session):
        super().start(session)
        _OWNERS.update({schema["name"]: self for schema in self.tools()})

    def call_tool(self, name, args):
        owner = _OWNERS.get(name, self) if isinstance(name, str) else self
        return super(FindsToolsByNameInTheProcess, owner).call_tool(name, args)


@mutant(kills="MP-HOST-SESS-002", says="an end behind a rewind", report="A11")
class EndsAtARewind(Agent):
    def switch(self, kind, new_session_id):
        if kind == "rewind":
            self.end()
        super().switch(kind, new_session_id)


@mutant(kills="MP-HOST-SESS-008", says="of the kind `new`", report="C6")
class SwitchesWithoutAReport(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if event.hook != "on_session_switch":
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-SESS-008", says="of the kind `resume`", report="C6")
class ReportsAStayInANewConversationOnly(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        self.reset = False

        def hear(event):
            if event.hook != "on_session_switch" or self.reset:
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)

    def on_session_switch(self, new_session_id, *, reset=False, **kwargs):
        self.reset = reset
        super().on_session_switch(new_session_id, reset=reset, **kwargs)


@mutant(kills="MP-HOST-SESS-001", says="where it ends, a turn is undone", report="A8")
class EndsOnceMoreBehindARewind(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, rewound=False, **kwargs):
        super().on_session_switch(new_session_id, rewound=rewound, **kwargs)
        if rewound:
            self._core.session.ends = iter((True,))


@mutant(kills="MP-HOST-SESS-001", says="opened under its key", report="A1")
class EndsEachKeyOnceInTheProcess(MemoryProviderRegistry):
    over = types.SimpleNamespace(keys=frozenset())

    def on_session_end(self, messages):
        key = self._core.session.key
        if key not in self.over.keys:
            self.over.keys |= {key}
            super().on_session_end(messages)


@mutant(kills="MP-HOST-SESS-002", says="an end by `reject and exit`", report="A2")
class TakesATurnMoreBack(Agent):
    def reject(self, user_message):
        shown = super().reject(user_message)
        del self._history[-2:]
        return shown


@mutant(kills="MP-HOST-SESS-002", says="Once more for", report="A2")
class EndsWithoutRepetitions(MemoryProviderRegistry):
    def on_session_end(self, messages):
        super().on_session_end([m for n, m in enumerate(messages) if m not in messages[:n]])


@mutant(kills="MP-HOST-SESS-003", says="no rewind beside the turn", report="A6")
class TellsARewindAtOnce(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, rewound=False, **kwargs):
        if not rewound:
            super().on_session_switch(new_session_id, **kwargs)
        told = {"parent_session_id": "", "reset": False, "rewound": True}
        for lane in self._core.serving("sessions") if rewound else ():
            lane.attempt("on_session_switch", new_session_id, keywords=told)


@mutant(kills="MP-HOST-SESS-004", says="on_session_switch", report="B4")
class DeliversBeforeItResumes(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, reset=False, **kwargs):
        if not reset:
            self.flush()
        super().on_session_switch(new_session_id, reset=reset, **kwargs)


class _OneGate(ProviderLane):
    def _serve(self, number):
        super()._serve(number)
        if number not in self.switching and self._once_switched(number):
            self.switching.clear()

    def _once_switched(self, number):
        return number in self.__dict__.setdefault("gated", set())

    def accept(self, hook, args, *more, **kwargs):
        super().accept(hook, args, *more, **kwargs)
        self.__dict__.setdefault("gated", set()).update(self.switching)


@mutant(kills="MP-HOST-SESS-006", says="has not switched yet", report="D3")
class RecallsBehindTheFirstOfTwoSwitches(OtherLane):
    lane = _OneGate


@mutant(kills="MP-HOST-SESS-006", says="has not switched yet", report="D3")
class RecallsAmidARewind(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, *, rewound=False, **kwargs):
        super().on_session_switch(new_session_id, rewound=rewound, **kwargs)
        for lane in self._core.lanes if rewound else ():
            lane.switching.clear()


@mutant(kills="MP-HOST-SESS-008", says="which stays in its session", report="A9")
class ReportsTheFirstStayOnly(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        told = set()

        def hear(event):
            if event.hook != "on_session_switch" or event.provider not in told:
                on_event(event)
            if event.hook == "on_session_switch":
                told.add(event.provider)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-DELEG-001", says="one delegation of each", report="A3")
class HearsEachChildOnce(MemoryProviderRegistry):
    def on_delegation(self, task, result, *, child_session_id="", **kwargs):
        heard = self.__dict__.setdefault("heard", set())
        if child_session_id not in heard:
            heard.add(child_session_id)
            super().on_delegation(task, result, child_session_id=child_session_id, **kwargs)


@mutant(kills="MP-HOST-SESS-007", says="of another session nothing", report="C6")
class GoesOnWithTheUsersConversation(Agent):
    said = types.MappingProxyType({})

    def start(self, session):
        super().start(session)
        self.user = session.config["user_id"]
        self._history = list(self.said.get(self.user, ()))

    def turn(self, user_message):
        shown = super().turn(user_message)
        said = [*self.said.get(self.user, ()), *self._history[-2:]]
        type(self).said = {**self.said, self.user: said}
        return shown


@mutant(kills="MP-HOST-SESS-002", says="an end by", report="J8")
class EndsWithTheLastTurns(Agent):
    def end(self):
        self._do("on_session_end", self._history[-40:])


@mutant(kills="MP-HOST-SESS-001", says="one is branched off", report="A3")
class TellsNoEndOfABranch(Agent):
    def switch(self, kind, new_session_id):
        before = self.registry._core.session
        super().switch(kind, new_session_id)
        if kind == "branch":
            self.registry._core.session.ends = before.ends
