"""Hosts that are broken in writes, in compression and at the end."""

import asyncio
import copy
import functools
import math
import re
import threading
import unicodedata

from memproto.fence import inject_memory_context, strip_memory_context
from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.lanes import ProviderLane
from memproto.testing.agent import Agent
from tests.broken.host.parts import OtherLane, Through, Wrapping
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-WRITE-001", says="'replace'", report="hermes#25526")
class MirrorsAdditionsOnly(MemoryProviderRegistry):
    def on_memory_write(self, action, target, content, old_text=None, **kwargs):
        if action == "add":
            super().on_memory_write(action, target, content, old_text, **kwargs)


@mutant(kills="MP-HOST-WRITE-002", says="that were refused", report="hermes#50833")
class MirrorsWhatWasRefused(Agent):
    def refuse_write(self, action, target, content, old_text=None):
        self.write_memory(action, target, content, old_text)


class _NewestFirst(ProviderLane):
    piled = ("on_turn_complete", "on_memory_write")

    def accept(self, hook, args, *rest, **more):
        if hook in self.piled:
            self.__dict__.setdefault("pile", []).append((hook, args))
        super().accept(hook, args, *rest, **more)

    def _deliver(self, hook, args):
        super()._deliver(*(self.pile.pop() if hook in self.piled else (hook, args)))


@mutant(kills="MP-HOST-TURN-001", says="instead of", report="B1")
class DeliversTheNewestFirst(OtherLane):
    lane = _NewestFirst


class _EndsWithAnExit(Through):
    is_over = False

    def on_turn_complete(self, user_message, assistant_response):
        if self.is_over:
            return
        try:
            self.inner.on_turn_complete(user_message, assistant_response)
        except Exception:
            raise
        except BaseException:
            self.is_over = True
            raise


@mutant(kills="MP-HOST-TURN-001", says="of 4 writes came", report="B7")
class ItsWriterEndsWithAnExit(Wrapping):
    through = _EndsWithAnExit


class _StopsForCtrlC(Through):
    is_over = False

    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_over:
            try:
                self.inner.on_turn_complete(user_message, assistant_response)
            except KeyboardInterrupt:
                self.is_over = True


@mutant(kills="MP-HOST-TURN-001", says="of 4 writes came", report="B7")
class ItsWriterStopsForCtrlC(Wrapping):
    through = _StopsForCtrlC


@mutant(kills="MP-HOST-TURN-002", says="had not returned", report="B4")
class WritesOnTheCallersThread(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        said = strip_memory_context(user_message)
        self._write("on_turn_complete", (said, assistant_response))

    def on_memory_write(self, *write, served_by=None):
        self._write("on_memory_write", write)

    def _write(self, hook, args):
        for lane in self._core.lanes if self._core.writes_are_called else ():
            _, error = lane.attempt(hook, *args)
            lane.tell(hook, "raised" if error else "ok", detail=error)


@mutant(kills="MP-HOST-TURN-003", says="memory-context", report="F2")
class RecordsTheEnrichedMessage(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        for lane in self._core.writable():
            lane.accept("on_turn_complete", (user_message, assistant_response))


@mutant(kills="MP-HOST-TURN-003", says="memory-context", report="F2")
class TheWholeTurnKeepsItsBlock(MemoryProviderRegistry):
    def record(self, turn):
        message, answer = turn["user_message"], turn["assistant_response"]
        whole = {"session_id": self._core.session.key, **turn}
        for lane in self._core.writable():
            if "record" in lane.extensions:
                self._turns._hand_over(lane, "record", (copy.deepcopy(whole),), message)
            else:
                once = {"once": turn["turn_id"]}
                self._turns._hand_over(lane, "on_turn_complete", (message, answer), message, **once)


class _Raw(Through):
    def on_compress(self, messages, compression_count):
        self.inner.on_compress(copy.deepcopy(self.registry.raw), compression_count)


@mutant(kills="MP-HOST-COMP-001", says="'type': 'text'", report="J1")
class HandsOverListsOfParts(Wrapping):
    through = _Raw

    def on_compress(self, messages, compression_count):
        self.raw = messages
        return super().on_compress(messages, compression_count)


class _EndsWithAMirroredExit(Through):
    is_over = False

    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_over:
            self.inner.on_turn_complete(user_message, assistant_response)

    def on_memory_write(self, *write):
        try:
            self.inner.on_memory_write(*write)
        except (SystemExit, KeyboardInterrupt):
            self.is_over = True
            raise


@mutant(kills="MP-HOST-TURN-001", says="of 4 writes came", report="B7")
class ItsWriterEndsWithAMirroredExit(Wrapping):
    through = _EndsWithAMirroredExit


class _Bounded(ProviderLane):
    def accept(self, hook, *args, **more):
        if self.queued < 100:
            super().accept(hook, *args, **more)


@mutant(kills="MP-HOST-TURN-001", says="neither event nor log says so", report="B7")
class LeavesOutWritesBeyondABound(OtherLane):
    lane = _Bounded


class _Brief(Through):
    def on_turn_complete(self, user_message, assistant_response):
        self.inner.on_turn_complete(user_message[:20_000], assistant_response)


@mutant(kills="MP-HOST-TURN-003", says="the whole message", report="J8")
class CutsLongMessages(Wrapping):
    through = _Brief


@mutant(kills="MP-HOST-WRITE-001", says="one mirrored write", report="J8")
class CutsLongEntries(MemoryProviderRegistry):
    def on_memory_write(self, action, target, content, old_text=None, **kwargs):
        super().on_memory_write(action, target, content and content[:500], old_text, **kwargs)


@mutant(kills="MP-HOST-COMP-001", says="a list of", report="I2")
class CompressesTheLastMessagesAlone(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        return super().on_compress(messages[-50:], compression_count)


@mutant(kills="MP-HOST-TURN-001", says="writes came", report="H4")
class TakesARepetitionForACopy(MemoryProviderRegistry):
    before = None

    def on_turn_complete(self, user_message, assistant_response):
        turn = user_message, assistant_response
        if turn != self.before:
            super().on_turn_complete(*turn)
        self.before = turn


class _EndsItsQueue(Through):
    is_over = False

    def _ends(self, hook, *args, **keywords):
        try:
            getattr(self.inner, hook)(*args, **keywords)
        except (SystemExit, KeyboardInterrupt):
            self.is_over = True
            raise

    def on_session_end(self, messages):
        self._ends("on_session_end", messages)

    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_over:
            self.inner.on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-TURN-001", says="the turn behind an end", report="A8")
class LetsAnEndEndTheQueue(Wrapping):
    through = _EndsItsQueue


@mutant(kills="MP-HOST-TURN-003", says="the message as it was", report="J1")
class RecordsInOtherLetters(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        told = unicodedata.normalize("NFKC", user_message)
        super().on_turn_complete(told, assistant_response)


@mutant(kills="MP-HOST-TURN-003", says="without", report="F2")
class StripsWhatAStepRecordsOnly(Agent):
    def _finish(self, user_message, shown):
        self._history.append({"role": "user", "content": user_message})
        self._history.append({"role": "assistant", "content": shown})
        for lane in self.registry._core.writable():
            lane.accept("on_turn_complete", (user_message, shown))


@mutant(kills="MP-HOST-WRITE-002", says="that were refused", report="hermes#50833")
class MirrorsARemovalThatWasRefused(Agent):
    def refuse_write(self, action, target, content, old_text=None):
        if action == "remove":
            self.write_memory(action, target, content, old_text)


@mutant(kills="MP-HOST-COMP-001", says="a list of", report="I2")
class AsksForNotesOfTheLastMessages(MemoryProviderRegistry):
    def compress_notes(self, messages):
        return super().compress_notes(messages[-10:])


@mutant(kills="MP-HOST-TURN-001", says="beside the turn", report="C1")
class TellsADelegationAtOnce(MemoryProviderRegistry):
    def on_delegation(self, task, result, *, child_session_id="", **keywords):
        told = {"child_session_id": child_session_id, **keywords}
        for lane in self._core.writable():
            if "delegation" in lane.extensions:
                args = "on_delegation", task, result
                call = functools.partial(lane.attempt, *args, keywords=told)
                threading.Thread(target=call, daemon=True).start()


class _Tripping(Through):
    failures = 0

    def on_turn_complete(self, user_message, assistant_response):
        if self.failures == 3:
            return
        try:
            self.inner.on_turn_complete(user_message, assistant_response)
        except OSError:
            self.failures += 1
            raise


@mutant(kills="MP-HOST-TURN-001", says="that raised OSError", report="L1")
class WritesNoMoreAfterThreeErrors(Wrapping):
    through = _Tripping


class _Leaving(Through):
    has_left = False

    def record(self, turn):
        if self.has_left:
            return
        try:
            self.inner.record(turn)
        except (SystemExit, KeyboardInterrupt):
            self.has_left = True
            raise


@mutant(kills="MP-HOST-TURN-001", says="whose `record` raised", report="B7")
class AnExitEndsTheWholeTurns(Wrapping):
    through = _Leaving


class _EndsWithACancellation(Through):
    is_over = False

    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_over:
            try:
                self.inner.on_turn_complete(user_message, assistant_response)
            except asyncio.CancelledError:
                self.is_over = True
                raise


@mutant(kills="MP-HOST-TURN-001", says="that raised CancelledError", report="B7")
class ItsWriterEndsWithACancellation(Wrapping):
    through = _EndsWithACancellation


@mutant(kills="MP-HOST-WRITE-001", says="one mirrored write", report="I3")
class MirrorsEachWriteOnceForAll(MemoryProviderRegistry):
    def on_memory_write(self, action, target, content, old_text=None, **kwargs):
        mirrored = vars(self).setdefault("mirrored", set())
        if (action, target, content, old_text) not in mirrored:
            mirrored.add((action, target, content, old_text))
            super().on_memory_write(action, target, content, old_text, **kwargs)


class _Glancing(Through):
    def on_compress(self, messages, compression_count):
        glanced = [{**message, "content": message["content"][:20_000]} for message in messages]
        self.inner.on_compress(glanced, compression_count)


@mutant(kills="MP-HOST-COMP-001", says="The ferry leaves at six.", report="J8")
class CutsLongMessagesForCompression(Wrapping):
    through = _Glancing


_ONE = threading.Lock()


class _OverOneThread(Through):
    def on_delegation(self, task, result, **keywords):
        with _ONE:
            self.inner.on_delegation(task, result, **keywords)


@mutant(kills="MP-HOST-TURN-002", says="that hangs in `on_delegation`", report="B1")
class DelegatesOverOneThread(Wrapping):
    through = _OverOneThread


class _EndsAtOnce(Through):
    def on_session_end(self, messages):
        with _ONE:
            self.inner.on_session_end(messages)


@mutant(kills="MP-HOST-TURN-002", says="that hangs in `on_session_end`", report="B4")
class EndsOverOneThread(Wrapping):
    through = _EndsAtOnce


class _Unsettled(Through):
    is_over = False

    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_over:
            try:
                self.inner.on_turn_complete(user_message, assistant_response)
            except StopIteration:
                self.is_over = True
                raise


@mutant(kills="MP-HOST-TURN-001", says="one that raised StopIteration", report="C3")
class ItsFutureTakesNoStopIteration(Wrapping):
    through = _Unsettled


@mutant(
    kills="MP-HOST-RECALL-001",
    says="had not returned",
    report="B1",
    scale=0.5,
    found_by="MP-HOST-TURN-002",
)
class FlushesBeforeEachRecall(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        for lane in self._core.lanes:
            lane.await_writes(math.inf)
        return super().enrich_turn(user_message, messages)


class _Hasty(Through):
    def on_turn_complete(self, user_message, assistant_response):
        turn = user_message, assistant_response
        threading.Thread(target=self.inner.on_turn_complete, args=turn, daemon=True).start()


@mutant(kills="MP-HOST-TURN-001", says="a second one ran beside the first", report="B1")
class DeliversSeveralAtATime(Wrapping):
    through = _Hasty


@mutant(kills="MP-HOST-TURN-003", says="two pasted blocks", report="F2")
class TakesOutWhatStandsBetweenTwoBlocks(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        own = re.sub(r"<memory-context>\n.*</memory-context>", "", user_message, flags=re.DOTALL)
        super().on_turn_complete(own, assistant_response)


@mutant(kills="MP-HOST-WRITE-001", says="one mirrored write", report="A3")
class MirrorsNothingToWhoHoldsTheMemory(MemoryProviderRegistry):
    def on_memory_write(self, action, target, content, old_text=None):
        lanes, key = self._core.lanes, "suppresses_local_writes"
        self._core.lanes = tuple(lane for lane in lanes if not lane.capabilities.get(key))
        super().on_memory_write(action, target, content, old_text)
        self._core.lanes = lanes


@mutant(kills="MP-HOST-COMP-001", says="Three.", report="J1")
class TakesAnImageForTheWholeMessage(MemoryProviderRegistry):
    def on_compress(self, messages, compression_count):
        def text(content):
            is_image = isinstance(content, list) and content[0]["type"] != "text"
            return "" if is_image else content

        said = [{**m, "content": text(m["content"])} for m in messages]
        return super().on_compress(said, compression_count)


@mutant(kills="MP-HOST-TURN-002", says="on_delegation returns at once", report="B1")
class WaitsForADelegation(MemoryProviderRegistry):
    def on_delegation(self, task, result, **kwargs):
        super().on_delegation(task, result, **kwargs)
        self.flush()


@mutant(kills="MP-HOST-WRITE-002", says="nothing of the writes that were refused", report="H2")
class MirrorsAtTheExitWhatWasRefused(Agent):
    def refuse_write(self, *write):
        self.waiting = [*self.__dict__.get("waiting", ()), write]

    def exit(self):
        for write in self.__dict__.pop("waiting", ()):
            self.write_memory(*write)
        super().exit()


@mutant(kills="MP-HOST-WRITE-001", says="one mirrored write", report="H1")
class TrimsTheOldText(MemoryProviderRegistry):
    def on_memory_write(self, action, target, content, old_text=None, **kwargs):
        old_text = None if old_text is None else old_text.strip()
        super().on_memory_write(action, target, content, old_text, **kwargs)


@mutant(kills="MP-HOST-WRITE-001", says="one mirrored write", report="H1")
class MirrorsAnEmptyTextAsNone(MemoryProviderRegistry):
    def on_memory_write(self, action, target, content, old_text=None, **kwargs):
        super().on_memory_write(action, target, content or None, old_text or None, **kwargs)


@mutant(kills="MP-HOST-WRITE-001", says="one mirrored write", report="A8")
class MirrorsNoWriteTwiceInARow(MemoryProviderRegistry):
    last = None

    def on_memory_write(self, *write, served_by=None):
        self.last, before = write, self.last
        if write != before:
            super().on_memory_write(*write, served_by=served_by)


class _GivesUpASlowOne(ProviderLane):
    def attempt(self, hook, *args, **more):
        if hook not in ("on_turn_complete", "on_memory_write"):
            return super().attempt(hook, *args, **more)
        done = []
        write = functools.partial(super().attempt, hook, *args, **more)
        thread = threading.Thread(target=lambda: done.append(write()), daemon=True)
        thread.start()
        thread.join(1.5)
        return done[0] if done else (None, "TimeoutError")


@mutant(kills="MP-HOST-TURN-001", says="however long it takes", report="B3")
class GivesASlowWriteUp(OtherLane):
    lane = _GivesUpASlowOne


class _WaitsForItsWrites(ProviderLane):
    def attempt(self, hook, *args, **more):
        if hook == "enrich_turn":
            self.await_writes(math.inf)
        return super().attempt(hook, *args, **more)


@mutant(kills="MP-HOST-TURN-002", says="while the hook of a write hung", report="B1")
class RecallsBehindTheWrites(OtherLane):
    lane = _WaitsForItsWrites


@mutant(kills="MP-HOST-TURN-003", says="without what was recalled for it", report="F2")
class RecordsTheMessagesThatWereSent(Agent):
    def recall(self, user_message, messages):
        self.recalled = super().recall(user_message, messages)
        return self.recalled

    def _described(self, user_message, shown):
        sent = {"role": "user", "content": inject_memory_context(user_message, self.recalled)}
        messages = [sent, {"role": "assistant", "content": shown}]
        return {**super()._described(user_message, shown), "messages": messages}


class _Ring(ProviderLane):
    def accept(self, hook, args, *rest, **more):
        if len(self._accepted) < 1_000 or hook == "on_session_switch":
            super().accept(hook, args, *rest, **more)


@mutant(kills="MP-HOST-TURN-001", says="1200 writes", report="B5")
class DropsWhatIsBeyondAThousand(OtherLane):
    lane = _Ring
