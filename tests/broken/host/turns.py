"""Agents and registries that record what is no turn, or a turn as another one."""

import contextlib
import dataclasses
import datetime as dt
import itertools
import re
import threading
import unicodedata
import uuid

from memproto.registry import MemoryProviderRegistry
from memproto.registry.answers import Answer
from memproto.registry.calls.lanes import ProviderLane
from memproto.testing.agent import Agent
from memproto.testing.driver import ModelFailed, Turn
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


@mutant(kills="MP-HOST-PRIV-001", says="before that was stored", report="G8")
class ForgetsBesideTheQueue(MemoryProviderRegistry):
    def forget(self, scope):
        lanes = self._core.serving("privacy")
        given = [(lane.label, lane.attempt("forget", dict(scope))[0]) for lane in lanes]
        return [Answer(label, "ok", document) for label, document in given]


@mutant(kills="MP-HOST-TURN-004", says="was broken off", report="hermes#15218")
class RecordsWhatWasSaidSoFar(Agent):
    def interrupt(self, user_message):
        shown = super().interrupt(user_message)
        self._finish(user_message, f"{shown.shown} [Operation interrupted]")
        return shown


@mutant(kills="MP-HOST-TURN-005", says="a guardrail refused", report="openai-agents-python#1840")
class RecordsBeforeTheGuardrail(Agent):
    def reject(self, user_message):
        self.record(user_message, "".join(self._answered(user_message)))
        return Turn("I cannot answer that.")


@mutant(kills="MP-HOST-TURN-006", says="got no answer", report="hermes#15395")
class RecordsTheTextOfAnError(Agent):
    def turn(self, user_message):
        try:
            return super().turn(user_message)
        except ModelFailed as error:
            self._finish(user_message, f"Error: {error}")
            return Turn(str(error))


@mutant(kills="MP-HOST-TURN-006", says="got no answer", report="hermes#15395")
class RecordsAnApologyInAStream(Agent):
    def stream(self, user_message):
        try:
            return super().stream(user_message)
        except ModelFailed:
            self._finish(user_message, "Something went wrong.")
            return Turn("Something went wrong.")


@mutant(kills="MP-HOST-TURN-007", says="the turns", report="H4")
class RecordsNoStreamedTurn(Agent):
    def stream(self, user_message):
        return Turn("".join(self._shown(self._answered(user_message))))


@mutant(kills="MP-HOST-TURN-008", says="an answer without", report="hermes#13672")
class RecordsTheRawAnswer(Agent):
    raw = None

    def _answered(self, user_message):
        self.raw = list(super()._answered(user_message))
        return iter(self.raw)

    def record_turn(self, turn):
        raw = "".join(self.raw) if self.raw else turn["assistant_response"]
        super().record_turn({**turn, "assistant_response": raw})


@mutant(kills="MP-HOST-TSTART-001", says="on_turn_start", report="hermes#7193")
class TellsTheFirstTurnOnly(MemoryProviderRegistry):
    def on_turn_start(self, turn_number, message, **kwargs):
        if turn_number == 1:
            super().on_turn_start(turn_number, message, **kwargs)


@mutant(kills="MP-HOST-REC-001", says="by one hook", report="seed")
class RecordsByBothHooks(MemoryProviderRegistry):
    def record(self, turn):
        super().record(turn)
        for lane in self._core.serving("record"):
            texts = turn["user_message"], turn["assistant_response"]
            lane.accept("on_turn_complete", texts)


@mutant(kills="MP-HOST-REC-002", says="turn_id", report="E2")
class GivesATurnANewIdEachTime(MemoryProviderRegistry):
    def record(self, turn):
        super().record({**turn, "turn_id": uuid.uuid4().hex})


@mutant(kills="MP-HOST-REC-002", says="author", report="hermes#7781")
class TakesTheFirstAuthorForAll(MemoryProviderRegistry):
    author = None

    def record(self, turn):
        self.author = self.author or turn.get("author")
        super().record({**turn, "author": self.author} if self.author else turn)


@mutant(kills="MP-HOST-PREWARM-001", says="before its turn", report="D3")
class PreparesBeforeItDelivers(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        for lane in self._core.serving("prewarm"):
            self._turns.preparation(lane, user_message)()
        super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-TURN-007", says="the turns", report="I3")
class TakesEqualTurnsForOne(Agent):
    last = None

    def record_turn(self, turn):
        said = turn["user_message"], turn["assistant_response"]
        if said != self.last:
            super().record_turn(turn)
        self.last = said


@mutant(kills="MP-HOST-TURN-007", says="20000 long", report="J8")
class CutsLongAnswers(Agent):
    def record_turn(self, turn):
        cut = turn["assistant_response"][:20_000]
        super().record_turn({**turn, "assistant_response": cut})


@mutant(kills="MP-HOST-PRIV-002", says="{}", report="G8")
class LeavesOutKeysThatItDoesNotKnow(MemoryProviderRegistry):
    def forget(self, scope):
        return super().forget({key: scope[key] for key in scope if key == "user_id"})


@mutant(kills="MP-HOST-PRIV-002", says="the scope", report="G8")
class ForgetsForTheWholeUser(MemoryProviderRegistry):
    user = None

    def initialize_all(self, session_key, config):
        self.user = config.get("user_id")
        super().initialize_all(session_key, config)

    def forget(self, scope):
        return super().forget({"user_id": self.user})


@mutant(kills="MP-HOST-PRIV-002", says="for each of 2 providers", report="G8")
class ForgetsInTheFirstProviderOnly(MemoryProviderRegistry):
    def forget(self, scope):
        lanes, self._core.lanes = self._core.lanes, self._core.serving("privacy")[:1]
        answers = super().forget(scope)
        self._core.lanes = lanes
        return answers


@mutant(kills="MP-HOST-REC-002", says="no author of a turn that has none", report="E2")
class TakesTheLastAuthorWhereNoneIsNamed(MemoryProviderRegistry):
    author = None

    def record(self, turn):
        self.author = turn.get("author", self.author)
        super().record({**turn, "author": self.author} if self.author else turn)


@mutant(kills="MP-HOST-REC-002", says="an id of its own for each turn", report="A9")
class CountsTurnsAnewInEachSession(Agent):
    def _described(self, user_message, shown):
        number = str(len(self._history))
        return {**super()._described(user_message, shown), "turn_id": number}


@mutant(kills="MP-HOST-TURN-004", says="was broken off", report="A12")
class RecordsAPartThatReadsWhole(Agent):
    def interrupt(self, user_message):
        shown = super().interrupt(user_message)
        if shown.shown.rstrip().endswith((".", "!", "?")):
            self._finish(user_message, shown.shown)
        return shown


@mutant(kills="MP-HOST-TURN-004", says="was broken off", report="A12")
class PutsTheBrokenOffMessageBeforeTheNext(Agent):
    pending = ()

    def interrupt(self, user_message):
        self.pending = (*self.pending, user_message)
        return super().interrupt(user_message)

    def _finish(self, user_message, shown):
        said, self.pending = "\n".join([*self.pending, user_message]), ()
        super()._finish(said, shown)


@mutant(kills="MP-HOST-TURN-007", says="the turns", report="J1")
class RecordsTheAnswerInOtherLetters(Agent):
    def _finish(self, user_message, shown):
        super()._finish(user_message, unicodedata.normalize("NFKC", shown))


@mutant(kills="MP-HOST-TURN-008", says="an answer without", report="hermes#13672")
class RecordsARawStream(Agent):
    def stream(self, user_message):
        raw = "".join(self._answered(user_message))
        shown = "".join(self._shown(iter([raw])))
        self._history.append({"role": "user", "content": user_message})
        self._history.append({"role": "assistant", "content": shown})
        self.record_turn(self._described(user_message, raw))
        return Turn(shown)


@mutant(kills="MP-HOST-TURN-008", says="an answer without", report="F2")
class RecordsTheRawAnswerWhereNothingIsLeft(Agent):
    def turn(self, user_message):
        raw = "".join(self._answered(user_message))
        shown = "".join(self._shown(iter([raw])))
        self._finish(user_message, shown if shown.strip() else raw)
        return Turn(shown)


@mutant(kills="MP-HOST-TSTART-001", says="one beginning of the turn", report="A3")
class BeginsATurnAgainForASecondTry(Agent):
    def turn(self, user_message):
        try:
            return super().turn(user_message)
        except ModelFailed:
            return super().turn(user_message)


@mutant(kills="MP-HOST-TSTART-001", says="a number that grows", report="A3")
class NumbersTurnsByTheConversation(Agent):
    def _answered(self, user_message):
        self._numbers = itertools.count(len(self._history) // 2 + 1)
        return super()._answered(user_message)


@mutant(kills="MP-HOST-REC-002", says="offset from UTC", report="J4")
class RecordsTimesOfNoZone(Agent):
    def _described(self, user_message, shown):
        now = dt.datetime.now().isoformat()  # noqa: DTZ005 - the fault
        return {**super()._described(user_message, shown), "started_at": now, "ended_at": now}


class _PreparedAnew(Through):
    query = None

    def queue_prefetch(self, query, **keywords):
        self.inner.queue_prefetch(query, **keywords)

    def on_turn_complete(self, user_message, assistant_response):
        self.query = user_message
        self.inner.on_turn_complete(user_message, assistant_response)

    def on_session_switch(self, new_session_id, **keywords):
        self.inner.on_session_switch(new_session_id, **keywords)
        if self.query is not None:
            self.inner.queue_prefetch(self.query, session_id=new_session_id)


@mutant(kills="MP-HOST-PREWARM-001", says="the session that was left", report="D3")
class PreparesForTheSessionThatWasLeft(Wrapping):
    through = _PreparedAnew


@mutant(kills="MP-HOST-PRIV-001", says="before that was stored", report="G8")
class ForgetsWhenTheQueueIsSlow(MemoryProviderRegistry):
    def forget(self, scope):
        self.flush(0.3)
        lanes = self._core.serving("privacy")
        given = [(lane.label, lane.attempt("forget", dict(scope))[0]) for lane in lanes]
        return [Answer(label, "ok", document) for label, document in given]


class _TurnsFirst(ProviderLane):
    def await_writes(self, until):
        turns = [n for n, (hook, _) in tuple(self._accepted.items()) if hook == "on_turn_complete"]
        while set(turns) & set(self._accepted) and self._clock.now() < until:
            threading.Event().wait(0.005)
        return True


@mutant(kills="MP-HOST-PRIV-001", says="behind the mirrored write", report="G8")
class ForgetsBehindTheTurnsAlone(OtherLane):
    lane = _TurnsFirst


@mutant(kills="MP-HOST-PRIV-002", says="'topic'", report="G8")
class LeavesOutKeysOfALaterRelease(MemoryProviderRegistry):
    def forget(self, scope):
        known = ("user_id", "session_id")
        return super().forget({key: scope[key] for key in known if key in scope})


@mutant(kills="MP-HOST-TURN-009", says="`on_session_end` gets", report="A12")
class KeepsARefusedAnswerInTheConversation(Agent):
    def reject(self, user_message):
        answer = "".join(self._answered(user_message))
        said = (("user", user_message), ("assistant", answer))
        self._history += [{"role": role, "content": text} for role, text in said]
        return Turn("I cannot answer that.")

    def recall(self, user_message, messages):
        return super().recall(user_message, [])


@mutant(kills="MP-HOST-REC-003", says="of a bot", report="F5")
class MakesTheWordsOfABotTheUsers(MemoryProviderRegistry):
    def record(self, turn):
        author = turn.get("author") or {}
        is_bot = author.get("is_bot")
        super().record({**turn, "author": {"id": author["id"]}} if is_bot else turn)


@mutant(kills="MP-HOST-REC-003", says="This is job.", report="F6")
class RecordsATurnOfAJob(MemoryProviderRegistry):
    def record(self, turn):
        super().record({key: turn[key] for key in turn if key != "context"})


@mutant(kills="MP-HOST-REC-004", says="a turn of the session", report="A4")
class NamesTheSessionOfTheStart(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        self.key = session_key
        super().initialize_all(session_key, config)

    def record(self, turn):
        super().record({**turn, "session_id": self.key})


@mutant(kills="MP-HOST-TSTART-002", says="it had not returned", report="B2")
class BeginsATurnForOneAfterTheOther(MemoryProviderRegistry):
    def on_turn_start(self, turn_number, message, **kwargs):
        lanes = self._core.lanes
        for lane in lanes:
            self._core.lanes = (lane,)
            super().on_turn_start(turn_number, message, **kwargs)
        self._core.lanes = lanes


class _Unready(Through):
    is_busy = False

    def on_turn_start(self, turn_number, message, **kwargs):
        self.is_busy = True
        self.inner.on_turn_start(turn_number, message, **kwargs)
        self.is_busy = False

    def enrich_turn(self, user_message, messages):
        return None if self.is_busy else self.inner.enrich_turn(user_message, messages)


@mutant(kills="MP-HOST-TSTART-002", says="recall of a provider that hangs", report="B2")
class RecallsNothingOfOneThatHasNotBegun(Wrapping):
    through = _Unready


class _Slow(Through):
    def queue_prefetch(self, query, *, session_id=""):
        """Left to the turn."""

    def on_turn_complete(self, user_message, assistant_response):
        self.inner.on_turn_complete(user_message, assistant_response)
        if any(lane.provider is self for lane in self.registry._core.serving("prewarm")):
            self.inner.queue_prefetch(user_message, session_id="")


@mutant(kills="MP-HOST-PREWARM-002", says="whose preparation hangs", report="B1")
class PreparesOnTheThreadOfTheWrites(Wrapping):
    through = _Slow


class _Piling(Through):
    def queue_prefetch(self, query, *, session_id=""):
        told = {"session_id": session_id}
        thread = threading.Thread(target=self.inner.queue_prefetch, args=(query,), kwargs=told)
        thread.daemon = True
        thread.start()


@mutant(kills="MP-HOST-PREWARM-002", says="one preparation of a provider", report="C4")
class PreparesBesideWhatHangs(Wrapping):
    through = _Piling


@mutant(kills="MP-HOST-TURN-006", says="got no answer", report="A12")
class RecordsWhatCameBeforeTheModelFailed(Agent):
    def _answered(self, user_message):
        pieces = super()._answered(user_message)
        yield next(pieces)
        with contextlib.suppress(ModelFailed):
            yield from pieces


@mutant(kills="MP-HOST-PRIV-003", says="the documents", report="G8")
class TellsOnlyOfWhatIsGone(MemoryProviderRegistry):
    def forget(self, scope):
        answers = super().forget(scope)
        return [one for one in answers if (one.document or {}).get("removed")]


@mutant(kills="MP-HOST-TURN-004", says="when its session ends", report="A12")
class RecordsABrokenOffTurnAtTheExit(Agent):
    left = None

    def interrupt(self, user_message):
        turn = super().interrupt(user_message)
        self.left = user_message, turn.shown
        return turn

    def _finish(self, user_message, shown):
        self.left = None
        super()._finish(user_message, shown)

    def exit(self):
        left, self.left = self.left, None
        if left:
            self.record(*left)
        super().exit()


@mutant(kills="MP-HOST-REC-002", says="an id of its own for each turn", report="A9")
class NumbersTheTurnsOfASession(Agent):
    def _described(self, user_message, shown):
        numbered = f"{self._key}-{len(self._history)}"
        return {**super()._described(user_message, shown), "turn_id": numbered}


@mutant(kills="MP-HOST-PRIV-002", says="'session_id': ''", report="G8")
class LeavesOutKeysWithoutAValue(MemoryProviderRegistry):
    def forget(self, scope):
        return super().forget({key: value for key, value in scope.items() if value})


class _OfTheStart(Through):
    def initialize(self, session_key, config):
        self.key = session_key
        self.inner.initialize(session_key, config)

    def queue_prefetch(self, query, **keywords):
        self.inner.queue_prefetch(query, **{**keywords, "session_id": self.key})


@mutant(kills="MP-HOST-PREWARM-001", says="that was switched to", report="D3")
class PreparesUnderTheKeyOfTheStart(Wrapping):
    through = _OfTheStart


@mutant(kills="MP-HOST-TSTART-001", says="on_turn_start before enrich_turn", report="A3")
class BeginsNoStreamedTurn(Agent):
    def stream(self, user_message):
        kept, self._has = self._has, lambda method: method != "on_turn_start" and kept(method)
        try:
            return super().stream(user_message)
        finally:
            self._has = kept


class _EndsWithAPreparation(Through):
    is_over = False

    def queue_prefetch(self, query, **keywords):
        try:
            self.inner.queue_prefetch(query, **keywords)
        except SystemExit:
            self.is_over = True
            raise

    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_over:
            self.inner.on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-PREWARM-002", says="whose preparation raised", report="B7")
class ItsWriterEndsWithAPreparation(Wrapping):
    through = _EndsWithAPreparation


@mutant(kills="MP-HOST-TURN-007", says="behind an end", report="A1")
class RecordsNothingBehindAnEnd(Agent):
    is_over = False

    def end(self):
        super().end()
        self.is_over = True

    def record_turn(self, turn):
        if not self.is_over:
            super().record_turn(turn)


@mutant(kills="MP-HOST-PRIV-002", says="whatever another provider does", report="J5")
class HandsOneScopeToAll(Wrapping):
    def forget(self, scope):
        for lane in self._core.serving("privacy"):
            forget = lane.provider.inner.forget
            lane.provider.forget = lambda _, forget=forget: forget(scope)
        return super().forget(scope)


@mutant(kills="MP-HOST-TURN-007", says="that was left", report="A12")
class RecordsNothingBehindABrokenOffTurn(Agent):
    is_broken = False

    def interrupt(self, user_message):
        self.is_broken = True
        return super().interrupt(user_message)

    def record_turn(self, turn):
        if not self.is_broken:
            super().record_turn(turn)
        self.is_broken = False


@mutant(kills="MP-HOST-TSTART-001", says="a beginning of the turn", report="A3")
class TellsNoBeginningOfWhatIsBrokenOff(Agent):
    def interrupt(self, user_message):
        has, self._has = self._has, lambda method: method != "on_turn_start"
        try:
            return super().interrupt(user_message)
        finally:
            self._has = has


@mutant(kills="MP-HOST-TSTART-001", says="the messages of the turns", report="A3")
class TellsTheBeginningOfAMessage(MemoryProviderRegistry):
    def on_turn_start(self, turn_number, message, **kwargs):
        super().on_turn_start(turn_number, message[:1000], **kwargs)


@mutant(kills="MP-HOST-TSTART-002", says="one after the other", report="B2")
class CountsABeginningFromTheLastOne(MemoryProviderRegistry):
    on_turn_start = sliding("on_turn_start")


class _Older(Through):
    def record(self, turn):
        try:
            self.inner.record(turn)
        except OSError:
            self.inner.on_turn_complete(turn["user_message"], turn["assistant_response"])


@mutant(kills="MP-HOST-REC-001", says="by no other hook", report="A3")
class TriesTheOlderHookAsWell(Wrapping):
    through = _Older


@mutant(kills="MP-HOST-REC-001", says="a turn of a bot", report="E2")
class LeavesOutWhatABotSaid(MemoryProviderRegistry):
    def record(self, turn):
        if not turn.get("author", {}).get("is_bot"):
            super().record(turn)


class _Same(Through):
    def record(self, turn):
        kept = self.registry.__dict__.setdefault("kept", {})
        self.inner.record(kept.setdefault(turn["turn_id"], turn))


@mutant(kills="MP-HOST-REC-002", says="whatever another provider does", report="J5")
class HandsOneTurnToAllProviders(Wrapping):
    through = _Same


class _Delivered(Through):
    key = ""

    def initialize(self, session_key, config):
        self.key = session_key
        self.inner.initialize(session_key, config)

    def on_session_switch(self, new_session_id, **kwargs):
        self.key = new_session_id
        self.inner.on_session_switch(new_session_id, **kwargs)


@mutant(kills="MP-HOST-REC-004", says="a turn of the session", report="A4")
class NamesTheSessionThatWasDelivered(Wrapping):
    through = _Delivered

    def record(self, turn):
        providers = [lane.provider for lane in self._core.lanes]
        super().record({**turn, "session_id": providers[0].key} if providers else turn)


@mutant(kills="MP-HOST-TURN-007", says="the turns", report="J5")
class ChangesTheEndsOfLines(Agent):
    def _described(self, user_message, shown):
        told = "\n".join(user_message.splitlines())
        return super()._described(told, shown)


@mutant(kills="MP-HOST-PRIV-002", says="in the context 'cron'", report="G8")
class ForgetsNothingInAJob(MemoryProviderRegistry):
    def forget(self, scope):
        return super().forget(scope) if self._core.writes_are_called else []


@mutant(kills="MP-HOST-PRIV-003", says="midnight", report="G8")
class TellsTwoNumbersOfEach(MemoryProviderRegistry):
    def forget(self, scope):
        kept = [
            (one, {key: one.document[key] for key in ("removed", "pending")})
            for one in super().forget(scope)
            if one.document
        ]
        return [dataclasses.replace(one, document=two) for one, two in kept]


@mutant(kills="MP-HOST-PRIV-003", says="in this order", report="G8")
class SortsWhatWasForgotten(MemoryProviderRegistry):
    def forget(self, scope):
        return sorted(super().forget(scope), key=lambda answer: answer.provider)


@mutant(kills="MP-HOST-TURN-007", says="the turns", report="A3")
class LeavesOutAMereYes(Agent):
    def _finish(self, user_message, shown):
        record, self.record_turn = self.record_turn, lambda turn: None
        if user_message != "Yes":
            self.record_turn = record
        super()._finish(user_message, shown)
        self.record_turn = record


@mutant(kills="MP-HOST-REC-002", says="an id of its own", report="I3")
class NamesATurnByItsWords(Agent):
    def _described(self, user_message, shown):
        name = f"{self._key}: {user_message} {shown}"
        return super()._described(user_message, shown) | {"turn_id": name}


@mutant(kills="MP-HOST-PRIV-003", says="in this order", report="G8")
class TellsOfWhatWasRemovedAlone(MemoryProviderRegistry):
    def forget(self, scope):
        return [one for one in super().forget(scope) if any((one.document or {}).values())]


class _NamesItNow(Through):
    def record(self, turn):
        self.inner.record({**turn, "session_id": self.registry.session_key})


@mutant(kills="MP-HOST-REC-004", says="a turn of the session", report="A4")
class NamesTheSessionOfTheDelivery(Wrapping):
    through = _NamesItNow


@mutant(kills="MP-HOST-TSTART-002", says="while the wall clock stands still", report="J4")
class BeginsATurnByTheWallClock(MemoryProviderRegistry):
    on_turn_start = by_the_wall_clock("on_turn_start")


@mutant(kills="MP-HOST-REC-004", says="a turn of the session", report="A4")
class RecordsUnderTheSessionOfASubagent(Agent):
    child = ""

    def delegate(self, task, result, child_session_id):
        super().delegate(task, result, child_session_id)
        self.child = child_session_id

    def record_turn(self, turn):
        super().record_turn({**turn, "session_id": self.child} if self.child else turn)


@mutant(kills="MP-HOST-TSTART-001", says="for which it was late", report="L2")
class TellsNoTurnToWhoWasLateOnce(OtherLane):
    lane = LateLane
    on_turn_start = leaving_out("on_turn_start", 1)


@mutant(kills="MP-HOST-TURN-007", says="the turns", report="I3")
class TidiesTheMessageOfAStream(Agent):
    def stream(self, user_message):
        return self.turn(re.sub(r"\n\s*\n", "\n\n", user_message))


class _IdAlone(Through):
    def record(self, turn):
        author = turn.get("author")
        self.inner.record({**turn, "author": {"id": author["id"]}} if author else turn)


@mutant(kills="MP-HOST-REC-002", says="'is_bot': True", report="hermes#7781")
class KeepsTheIdOfAnAuthorAlone(Wrapping):
    through = _IdAlone


@mutant(kills="MP-HOST-REC-004", says="beside which another one is open", report="A4")
class NamesTheSessionThatBeganLast(Agent):
    current = ""

    def start(self, session):
        super().start(session)
        NamesTheSessionThatBeganLast.current = session.session_id

    def switch(self, kind, new_session_id):
        super().switch(kind, new_session_id)
        NamesTheSessionThatBeganLast.current = new_session_id

    def record_turn(self, turn):
        super().record_turn({"session_id": self.current, **turn})


class _WhatWaits(ProviderLane):
    def await_writes(self, until):
        # The oldest one is on its way.
        while len(self._accepted) > 1 and self._clock.now() < until:
            threading.Event().wait(0.005)
        return True


@mutant(kills="MP-HOST-PRIV-001", says="before that was stored", report="G8")
class ForgetsBesideTheWriteOnItsWay(OtherLane):
    lane = _WhatWaits


class _Patient(ProviderLane):
    def await_writes(self, until):
        super().await_writes(until - 0.2)
        return True


@mutant(kills="MP-HOST-PRIV-001", says="whenever the time is over", report="G8")
class ForgetsWhenItHasWaited(OtherLane):
    lane = _Patient
