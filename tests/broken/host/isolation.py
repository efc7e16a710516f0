"""Hosts in which one provider reaches the others, or the agent."""

import asyncio
import contextlib
import dataclasses
import json
import logging
import types

from memproto.deadlines import Deadlines
from memproto.errors import ProviderError, Unavailable
from memproto.registry import MemoryProviderRegistry
from memproto.registry.answers import Answer
from memproto.registry.calls.compression import compress
from memproto.registry.calls.gather import Gather, fly
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.questions import ask
from memproto.registry.calls.recall import Recall
from memproto.registry.messages import copied_messages
from memproto.testing.agent import Agent
from memproto.testing.driver import Turn
from tests.broken.host.parts import OtherLane, Through, Wrapping, by_the_wall_clock, sliding
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-ISO-002", says="the agent's messages as they were", report="J5")
class HandsOutTheAgentsOwnMessages(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        gather = Gather(self._core.clock, self._core.deadlines.enrich_s)
        asked = [lane for lane in self._core.lanes if not lane.late["enrich_turn"]]
        calls = [Recall(lane, (user_message, messages), gather) for lane in asked]
        fly(calls, gather)
        return [(c.lane.label, c.answer) for c in calls if c.done and (c.answer or "").strip()]


@mutant(kills="MP-HOST-ISO-002", says="the other provider gets", report="J5")
class SharesOneCopy(HandsOutTheAgentsOwnMessages):
    def enrich_turn(self, user_message, messages):
        return super().enrich_turn(user_message, copied_messages(messages))


class _Exiting(Through):
    def on_compress(self, messages, compression_count):
        try:
            self.inner.on_compress(messages, compression_count)
        except SystemExit as error:
            self.registry.exiting = error


@mutant(kills="MP-HOST-ISO-001", says="SystemExit in on_compress", report="H4")
class LetsAProviderExit(Wrapping):
    through = _Exiting
    exiting = None

    def on_compress(self, messages, compression_count):
        answer = super().on_compress(messages, compression_count)
        if self.exiting:
            raise self.exiting
        return answer


class _StopsAtTheFirst(Through):
    def on_turn_complete(self, user_message, assistant_response):
        if not self.registry.failed:
            self.inner.on_turn_complete(user_message, assistant_response)

    def on_memory_write(self, *args):
        try:
            self.inner.on_memory_write(*args)
        except ValueError:
            self.registry.failed = True
            raise


@mutant(kills="MP-HOST-ISO-001", says="on_turn_complete of", report="H4")
class OneFailureEndsTheWritesOfAll(Wrapping):
    through = _StopsAtTheFirst
    failed = False


class _Quiet(Through):
    def on_turn_complete(self, user_message, assistant_response):
        with contextlib.suppress(BaseException):
            self.inner.on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-ISO-003", says="on_turn_complete", report="H4")
class SwallowsWhatAWriteRaises(Wrapping):
    through = _Quiet


class _Explaining(Through):
    def enrich_turn(self, user_message, messages):
        try:
            return self.inner.enrich_turn(user_message, messages)
        except ConnectionError as error:
            return f"The memory cannot be reached: {error}"


@mutant(kills="MP-HOST-ISO-004", says="in the request to the model", report="F9")
class TellsTheModelWhyRecallFailed(Wrapping):
    through = _Explaining


class _Answering(Through):
    def handle_tool_call(self, tool_name, args, **kwargs):
        try:
            return self.inner.handle_tool_call(tool_name, args, **kwargs)
        except ConnectionError as error:
            return json.dumps({"success": False, "error": repr(error)})


@mutant(kills="MP-HOST-ISO-004", says="in the result of a tool", report="F9")
class AnswersWithTheExceptionOfATool(Wrapping):
    through = _Answering


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class LogsTheTurnThatFailed(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None):
        super().__init__(deadlines=deadlines)

    def on_turn_complete(self, user_message, assistant_response):
        logging.getLogger("agent").warning("recording %r", user_message)
        super().on_turn_complete(user_message, assistant_response)

    def record(self, turn):
        logging.getLogger("agent").warning("recording %r", turn)
        super().record(turn)


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class ReportsTheArgumentsOfAWrite(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            failed = event.hook == "on_memory_write" and event.outcome == "raised"
            detail = f"{event.detail} for {self.written}" if failed else event.detail
            on_event(dataclasses.replace(event, detail=detail))

        super().__init__(deadlines=deadlines, on_event=hear)

    def on_memory_write(self, *write, **more):
        self.written = write
        super().on_memory_write(*write, **more)


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class LogsTheArgumentsOfAToolThatFailed(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None):
        super().__init__(deadlines=deadlines)

    def handle_tool_call(self, tool_name, args, **kwargs):
        result = super().handle_tool_call(tool_name, args, **kwargs)
        if not json.loads(result).get("success"):
            logging.getLogger("agent").warning("%s failed with %r", tool_name, args)
        return result


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class ReportsTheQuestionOfALateRecall(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            was_late = event.hook == "enrich_turn" and event.outcome == "late"
            detail = f"asked {self.asked}" if was_late else event.detail
            on_event(dataclasses.replace(event, detail=detail))

        super().__init__(deadlines=deadlines, on_event=hear)

    def enrich_turn(self, user_message, messages):
        self.asked = user_message
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-HOST-ISO-001", says="in get_tool_schemas", report="H4")
class OffersNoToolsWhereOneCannotSay(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        told = [event for lane in self._core.lanes for event in self._told_of(lane)]
        if "raised" in told:
            self._tools.table = {}

    def _told_of(self, lane):
        return self._core.sink.counts(lane.label).get("get_tool_schemas", ())


class _Explained(Through):
    def handle_tool_call(self, tool_name, args, **keywords):
        try:
            return self.inner.handle_tool_call(tool_name, args, **keywords)
        except ValueError as error:
            return json.dumps({"success": False, "error": str(error)})


@mutant(kills="MP-HOST-ISO-004", says="the result of a tool", report="F9")
class TellsTheModelOfItsMistake(Wrapping):
    through = _Explained


class _Quoting(Through):
    def on_memory_write(self, *args):
        try:
            self.inner.on_memory_write(*args)
        except Exception as error:
            self.registry.hear(types.SimpleNamespace(provider=self.name, detail=str(error)))
            raise


@mutant(kills="MP-HOST-ISO-005", says="without the words of the user", report="F9")
class ReportsWhatAnExceptionQuotes(Wrapping):
    through = _Quoting

    def __init__(self, *, deadlines=None, on_event=print):
        self.hear = on_event
        super().__init__(deadlines=deadlines, on_event=on_event)


class _Asked(Through):
    def initialize(self, session_key, config):
        try:
            self.inner.initialize(session_key, config)
        except Exception as error:
            self.registry.reasons.append(f"\n[A memory is off: {error!r}]")
            raise


@mutant(kills="MP-HOST-ISO-004", says="in the answer", report="F9")
class TellsTheUserWhyAMemoryIsOff(Agent):
    def register(self, provider):
        self.reasons = []
        super().register(provider)
        lane = self.registry._core.registered[provider.name]
        lane.provider = _Asked(provider, self)

    def turn(self, user_message):
        return Turn(super().turn(user_message).shown + "".join(self.reasons))


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class LogsTheTaskOfADelegationThatFailed(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            failed = event.hook == "on_delegation" and event.outcome == "raised"
            detail = f"{event.detail} for {self.told}" if failed else event.detail
            on_event(dataclasses.replace(event, detail=detail))

        super().__init__(deadlines=deadlines, on_event=hear)

    def on_delegation(self, *told, **more):
        self.told = told
        super().on_delegation(*told, **more)


class _Mourning(ProviderLane):
    def give_up_writes(self):
        lost = [args for _, args in tuple(self._accepted.values())]
        super().give_up_writes()
        if lost:
            self.tell("shutdown", "abandoned", detail=repr(lost))


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class ReportsTheWordsThatItGaveUp(OtherLane):
    lane = _Mourning


@mutant(kills="MP-HOST-ISO-002", says="by `on_session_end`", report="J5")
class EndsForAllWithOneList(MemoryProviderRegistry):
    def on_session_end(self, messages):
        if self._core.session.claim_end():
            one = copied_messages(messages)
            for lane in self._core.serving("sessions"):
                lane.accept("on_session_end", (one,))


class _Rereading(Through):
    def on_compress(self, messages, compression_count):
        self.registry.read = messages
        self.inner.on_compress(messages, compression_count)

    def compress_notes(self, messages):
        return self.inner.compress_notes(self.registry.read)


@mutant(kills="MP-HOST-ISO-002", says="by `compress_notes`", report="J5")
class AsksForNotesByTheListOfTheCompression(Wrapping):
    through = _Rereading
    read = ()


@mutant(kills="MP-HOST-ISO-006", says="hang in `get_tool_schemas`", report="B2")
class ReadsTheToolsWithoutADeadline(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        for lane in self._core.serving("tools"):
            lane.attempt("get_tool_schemas")


@mutant(kills="MP-HOST-ISO-006", says="hang in `backup_paths`", report="B4")
class AsksForPathsOneAfterTheOther(MemoryProviderRegistry):
    def backup_paths(self):
        for lane in self._core.serving("backup"):
            ask([lane], "backup_paths", self._core.gather(self._core.deadlines.ask_s), list)
        return super().backup_paths()


@mutant(kills="MP-HOST-ISO-006", says="hang in `forget`", report="B4")
class ForgetsWithoutADeadline(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        patient = dataclasses.replace(deadlines or Deadlines(), privacy_s=3600)
        super().__init__(deadlines=patient, on_event=on_event)


@mutant(kills="MP-HOST-ISO-006", says="hang in `on_compress`", report="B1")
class CompressesOneAfterTheOther(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        if not self._core.writes_are_called:
            return super().on_compress(messages, compression_count)
        refused = [
            compress([lane], messages, compression_count, self._core.gather(self.each_s()))
            for lane in self._core.lanes
        ]
        return next(filter(None, refused), None)

    def each_s(self):
        return self._core.deadlines.compress_s


@mutant(kills="MP-HOST-ISO-006", says="hang in `compress_notes`", report="B1")
class AsksForNotesWithoutADeadline(MemoryProviderRegistry):
    def compress_notes(self, messages):
        kept = self._core.deadlines
        self._core.deadlines = dataclasses.replace(kept, compress_s=3600)
        notes = super().compress_notes(messages)
        self._core.deadlines = kept
        return notes


@mutant(kills="MP-HOST-ISO-006", says="a provider that does not hang", report="B2")
class AsksForPathsUpToTheFirstSilence(MemoryProviderRegistry):
    def backup_paths(self):
        for lane in self._core.serving("backup"):
            (call,) = ask([lane], "backup_paths", self._core.gather(0.5), list) or (None,)
            if call is None or call.outcome == "late":
                return []
        return super().backup_paths()


class _Traced(Through):
    def on_turn_complete(self, user_message, assistant_response):
        try:
            self.inner.on_turn_complete(user_message, assistant_response)
        except Exception:
            logging.getLogger("agent").exception("%s could not record a turn", self.inner.name)
            raise


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class LogsTheTraceOfAFailure(Wrapping):
    through = _Traced

    def __init__(self, *, deadlines=None):
        super().__init__(deadlines=deadlines)


class _Failure:
    """An event with the error that it is about."""

    def __init__(self, provider, error):
        self.provider, self.error = provider, error

    def __str__(self):
        return f"{self.provider} could not record a turn"


class _Catching(Through):
    def on_turn_complete(self, user_message, assistant_response):
        try:
            self.inner.on_turn_complete(user_message, assistant_response)
        except Exception as error:
            self.registry.hear(_Failure(self.inner.name, error))
            raise


@mutant(kills="MP-HOST-ISO-005", says="a report without", report="F9")
class ReportsTheErrorItself(ReportsWhatAnExceptionQuotes):
    through = _Catching


class _Explained(Through):
    def handle_tool_call(self, tool_name, args, **kwargs):
        try:
            return self.inner.handle_tool_call(tool_name, args, **kwargs)
        except ProviderError as error:
            reason = f"{error} ({error.__cause__})" if error.__cause__ else str(error)
            return json.dumps({"success": False, "error": reason})


@mutant(kills="MP-HOST-ISO-004", says="in the result of a tool", report="F9")
class TellsWhatANamedErrorComesFrom(Wrapping):
    through = _Explained


class _Cancelled(Through):
    def enrich_turn(self, user_message, messages):
        try:
            return self.inner.enrich_turn(user_message, messages)
        except asyncio.CancelledError:
            self.registry.is_cancelled = True


@mutant(kills="MP-HOST-ISO-001", says="CancelledError in enrich_turn", report="H4")
class ACancelledRecallCancelsTheTurn(Wrapping):
    through = _Cancelled
    is_cancelled = False

    def enrich_turn(self, user_message, messages):
        found = super().enrich_turn(user_message, messages)
        return [] if self.is_cancelled else found


@mutant(kills="MP-HOST-ISO-002", says="the messages of a turn", report="J5")
class HandsOneTurnToAll(MemoryProviderRegistry):
    def record(self, turn):
        if "messages" not in turn:
            super().record(turn)
            return
        for lane in self._core.writable():
            if "record" in lane.extensions:
                lane.accept("record", ({"session_id": self.session_key, **turn},))


class _BeginningAnExit(Through):
    def on_turn_start(self, turn_number, message, **kwargs):
        try:
            self.inner.on_turn_start(turn_number, message, **kwargs)
        except SystemExit as error:
            self.registry.exiting = error


@mutant(kills="MP-HOST-ISO-001", says="in the hooks of its extensions", report="H4")
class AnExitEndsTheBeginningOfATurn(Wrapping):
    through = _BeginningAnExit
    exiting = None

    def on_turn_start(self, turn_number, message, **kwargs):
        super().on_turn_start(turn_number, message, **kwargs)
        if self.exiting:
            raise self.exiting


@mutant(kills="MP-HOST-ISO-002", says="the agent's conversation", report="J5")
class LendsItsConversationInATurn(Agent):
    def recall(self, user_message, messages):
        if messages is not self._history:
            return super().recall(user_message, messages)
        lend = HandsOutTheAgentsOwnMessages.enrich_turn
        return lend(self.registry, user_message, messages)


_TOLD = set()


@mutant(kills="MP-HOST-ISO-003", says="which raised", report="H4")
class WarnsOnceInTheProcess(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            what = event.provider, event.hook, event.outcome
            if event.outcome != "raised" or what not in _TOLD:
                on_event(event)
            _TOLD.add(what)

        super().__init__(deadlines=deadlines, on_event=hear)


class _Excused(Through):
    def initialize(self, session_key, config):
        try:
            self.inner.initialize(session_key, config)
        except Exception as error:
            self.registry.excuse = f"\n[A memory is missing: {error}]"
            raise


@mutant(kills="MP-HOST-ISO-004", says="in the prompt", report="F9")
class TellsThePromptWhyAMemoryIsMissing(Wrapping):
    through = _Excused
    excuse = ""

    def system_prompt_block(self):
        return super().system_prompt_block() + self.excuse


class _Behindhand(Through):
    said = ()

    def enrich_turn(self, user_message, messages):
        before, self.said = list(self.said), messages
        return self.inner.enrich_turn(user_message, before)


@mutant(kills="MP-HOST-ISO-002", says="messages became", report="D1")
class HandsOverTheConversationOfTheTurnBefore(Agent):
    def register(self, provider):
        super().register(provider)
        lane = self.registry._core.registered[provider.name]
        lane.provider = _Behindhand(provider, self.registry)

    def switch(self, kind, new_session_id):
        super().switch(kind, new_session_id)
        for lane in self.registry._core.lanes:
            lane.provider.said = ()


@mutant(kills="MP-HOST-ISO-005", says="once more", report="F9")
class ReportsTheFirstWordsOfALateQuestion(MemoryProviderRegistry):
    asked = ""

    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            is_recall = event.hook == "enrich_turn" and event.outcome != "ok"
            words = f"{event.provider}: no answer to {self.asked[:40]}..."
            on_event(words if is_recall else event)

        super().__init__(deadlines=deadlines, on_event=hear)

    def enrich_turn(self, user_message, messages):
        self.asked = str(user_message)
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-HOST-ISO-006", says="had not returned", report="B2")
class CountsCompressionFromTheLastAnswer(MemoryProviderRegistry):
    on_compress = sliding("on_compress")


@mutant(kills="MP-HOST-ISO-006", says="before a session", report="B4")
class WaitsForABackupBeforeASession(MemoryProviderRegistry):
    def backup_paths(self):
        if self._core.lanes:
            return super().backup_paths()
        asked = [
            (name, lane.attempt("backup_paths")) for name, lane in self._core.registered.items()
        ]
        return [Answer(name, "ok", paths) for name, (paths, error) in asked if not error]


class _Quoting(Through):
    def enrich_turn(self, user_message, messages):
        answer = self.inner.enrich_turn(user_message, messages)
        if not isinstance(answer, str | None):
            self.registry._core.sink.emit(
                "enrich_turn", self.inner.name, "wrong_type", 0.0, f"{answer}"
            )
        return answer


@mutant(kills="MP-HOST-ISO-005", says="without the words of the user", report="F9")
class ReportsWhatItWasAnswered(Wrapping):
    through = _Quoting


class _Contextual(Through):
    def handle_tool_call(self, name, args):
        try:
            return self.inner.handle_tool_call(name, args)
        except Unavailable as error:
            return json.dumps({"success": False, "error": f"{error} ({error.__context__})"})


@mutant(kills="MP-HOST-ISO-004", says="no word of an exception", report="F9")
class TellsInWhatAnErrorCame(Wrapping):
    through = _Contextual


@mutant(kills="MP-HOST-ISO-003", says="which raised", report="H4")
class SaysNothingOfADelegationThatFailed(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if event.hook not in ("on_delegation", "on_session_end", "record"):
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


@mutant(kills="MP-HOST-ISO-006", says="while the wall clock stands still", report="J4")
class WaitsToForgetByTheWallClock(MemoryProviderRegistry):
    forget = by_the_wall_clock("forget")


@mutant(kills="MP-HOST-ISO-003", says="as another hook of it had before", report="H4")
class ReportsAProviderThatFailsOnce(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        failing = set()

        def tell(event):
            is_old = event.outcome == "raised" and event.provider in failing
            if event.outcome == "raised":
                failing.add(event.provider)
            if on_event is not None and not is_old:
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=tell)
