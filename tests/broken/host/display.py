"""Agents that put recall where it does not belong, or do not put it where it does."""

import itertools
import re

from memproto.fence import (
    CLOSE_TAG,
    NOTE,
    OPEN_TAG,
    build_memory_context_block,
    inject_memory_context,
    parse_memory_context,
    strip_memory_context,
)
from memproto.fence.scrubber import StreamingContextScrubber
from memproto.testing.agent import Agent, RegistryDriver
from memproto.testing.driver import ModelFailed, Turn
from tests.broken.host.parts import Sending
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D1")
class RecallsForTheMessageBefore(Agent):
    before = None

    def recall(self, user_message, messages):
        asked, self.before = self.before or user_message, user_message
        return super().recall(asked, messages)


@mutant(kills="MP-HOST-RECALL-006", says="it is not there", report="memU#566")
class InjectsNothing(Agent):
    def start(self, session):
        super().start(session)
        said = session.model
        self._model = lambda messages: said(
            [{**m, "content": strip_memory_context(m["content"])} for m in messages]
        )


@mutant(kills="MP-HOST-RECALL-007", says="recalled for a turn before", report="hermes#101825")
class KeepsTheEnrichedMessage(Agent):
    def start(self, session):
        super().start(session)

        def said(messages):
            self.sent = messages[-1]["content"]
            return session.model(messages)

        self._model = said

    def _finish(self, user_message, shown):
        super()._finish(user_message, shown)
        self._history[-2]["content"] = self.sent


@mutant(kills="MP-HOST-SHOW-001", says="an answer without", report="hermes#12237")
class ScrubsStreamsOnly(Agent):
    def turn(self, user_message):
        whole = "".join(self._answered(user_message))
        self._finish(user_message, "".join(self._shown(iter([whole]))))
        return Turn(whole)

    def stream(self, user_message):
        return RegistryDriver.turn(self, user_message)


@mutant(kills="MP-HOST-SHOW-002", says="out of pieces of", report="hermes#13672")
class ScrubsEachPieceByItself(Agent):
    def stream(self, user_message):
        pieces = list(self._answered(user_message))
        self._finish(user_message, "".join(self._shown(iter(pieces))))
        return Turn("".join("".join(self._shown(iter([piece]))) for piece in pieces))


@mutant(kills="MP-HOST-SHOW-003", says="'Before.'", report="hermes#18383")
class HidesTheWholeAnswer(Agent):
    def _shown(self, pieces):
        whole = "".join(pieces)
        return iter(["" if OPEN_TAG in whole else whole])


def _user(words, block):
    return {"role": "user", "content": f"{words}\n\n{block}"}


@mutant(kills="MP-HOST-RECALL-009", says="one context block", report="F3")
class JoinsTextsAsTheyCame(Sending):
    def request(self, before, words, content):
        if not self.recalled:
            return super().request(before, words, content)
        texts = [f"### {label} memory\n{text.strip()}" for label, text in self.recalled]
        return [*before, _user(words, "\n".join([OPEN_TAG, NOTE, *texts, CLOSE_TAG]))]


@mutant(kills="MP-HOST-RECALL-009", says="one context block", report="F3")
class SendsABlockForEachProvider(Sending):
    def request(self, before, words, content):
        blocks = [build_memory_context_block([one]) for one in self.recalled]
        return [*before, _user(words, "\n".join(filter(None, blocks)))]


@mutant(kills="MP-HOST-RECALL-009", says="below its own heading", report="E7")
class PutsTextsUnderTheNextHeading(Sending):
    def request(self, before, words, content):
        labels, texts = zip(*self.recalled, strict=True) if self.recalled else ((), ())
        turned = list(zip(labels, (*texts[1:], *texts[:1]), strict=True))
        return [*before, _user(words, build_memory_context_block(turned))]


@mutant(kills="MP-HOST-RECALL-009", says="in no other", report="F4")
class TellsTheSystemPromptAsWell(Sending):
    def request(self, before, words, content):
        system = {"role": "system", "content": content.partition(NOTE)[2]}
        return [system, *before, {"role": "user", "content": content}]


@mutant(
    kills="MP-HOST-RECALL-009",
    says="one context block",
    report="D6",
    also={"MP-HOST-SHOW-003": "a block that has no end hides what the model says behind it"},
)
class CutsTheBlockThroughItsEnd(Sending):
    def request(self, before, words, content):
        return [*before, {"role": "user", "content": content[: -len(CLOSE_TAG) // 2]}]


_TAKEN_OUT = (OPEN_TAG, CLOSE_TAG, "[System note:")


@mutant(kills="MP-HOST-RECALL-009", says="its closing tag, around", report="F3")
class TakesOutThePlainTagsAlone(Sending):
    def request(self, before, words, content):
        texts = []
        for label, text in self.recalled:
            parts = re.split("|".join(map(re.escape, _TAKEN_OUT)), text)
            texts.append(f"### {label} memory\n{''.join(parts)}")
        block = "\n".join([OPEN_TAG, NOTE, *texts, CLOSE_TAG])
        return [*before, _user(words, block) if texts else {"role": "user", "content": content}]


@mutant(kills="MP-HOST-RECALL-009", says="whose end is", report="D6")
class CutsALongRequest(Sending):
    def request(self, before, words, content):
        return [*before, {"role": "user", "content": content[:16_000]}]


class _Sent(Sending):
    def start(self, session):
        super().start(session)
        self.sent, said = [], self._model

        def model(messages):
            self.sent.append(messages[-1])
            return said(messages)

        self._model = model


@mutant(kills="MP-HOST-RECALL-007", says="the conversation in enrich_turn", report="hermes#101825")
class HandsOverTheRequestsAsTheConversation(_Sent):
    def recall(self, user_message, messages):
        return super().recall(user_message, [*self.sent] if messages == self._history else messages)


@mutant(kills="MP-HOST-RECALL-007", says="the conversation in on_session_end", report="F2")
class EndsWithTheRequests(_Sent):
    def end(self):
        self._do("on_session_end", self.sent)


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D4")
class AnswersAQuestionOnceOnly(Agent):
    kept = None

    def recall(self, user_message, messages):
        self.kept = self.kept or {}
        if user_message not in self.kept:
            self.kept[user_message] = super().recall(user_message, messages)
        return self.kept[user_message]

    def switch(self, kind, new_session_id):
        super().switch(kind, new_session_id)
        self.kept = None


@mutant(kills="MP-HOST-RECALL-006", says="in the request of turn 2", report="A3")
class InjectsAtEveryThirdTurn(Sending):
    def request(self, before, words, content):
        is_due = len(before) // 2 % 3 == 0
        return [*before, {"role": "user", "content": content if is_due else words}]


@mutant(kills="MP-HOST-RECALL-009", says="in the order", report="F7")
class SortsTheSections(Agent):
    def recall(self, user_message, messages):
        return sorted(super().recall(user_message, messages))


@mutant(kills="MP-HOST-SHOW-003", says="behind a turn that was broken off", report="F1")
class ScrubsAllAnswersByOneScrubber(Agent):
    scrubber = None

    def _shown(self, pieces):
        self.scrubber = self.scrubber or StreamingContextScrubber()
        yield from map(self.scrubber.feed, pieces)
        yield self.scrubber.flush()

    def interrupt(self, user_message):
        self.scrubber = StreamingContextScrubber()
        return Turn(self.scrubber.feed(next(iter(self._answered(user_message)))))


@mutant(kills="MP-HOST-RECALL-009", says="at the end of a long message", report="F4")
class PutsTheBlockBeforeALongMessage(Sending):
    def request(self, before, words, content):
        block = build_memory_context_block(self.recalled)
        if block and len(words) > 1_000:
            content = f"{block}\n\n{words}"
        return super().request(before, words, content)


@mutant(kills="MP-HOST-SHOW-002", says="an answer without", report="F1")
class FiltersEachParagraphByItself(Agent):
    def stream(self, user_message):
        texts = "".join(self._answered(user_message)).split("\n\n")
        shown = "\n\n".join("".join(self._shown(iter([text]))) for text in texts)
        self._finish(user_message, shown)
        return Turn(shown)


@mutant(kills="MP-HOST-RECALL-007", says="recalled for a turn before", report="I2")
class KeepsWhatItSentInALongConversation(Sending):
    def request(self, before, words, content):
        self.sent = content
        return super().request(before, words, content)

    def _finish(self, user_message, shown):
        super()._finish(user_message, shown)
        if len(self._history) > 16:
            self._history[-2]["content"] = self.sent


@mutant(kills="MP-HOST-SHOW-003", says="if a <", report="F1")
class KeepsTheEndOfAnAnswerToItself(Agent):
    def _shown(self, pieces):
        return map(StreamingContextScrubber().feed, pieces)


class _Retrying(Agent):
    """An agent that asks its model again where it fails at once."""

    def start(self, session):
        super().start(session)

        def said(messages):
            try:
                first = next(pieces := session.model(messages))
            except ModelFailed:
                return session.model([*messages[:-1], self.again(messages[-1])])
            return itertools.chain([first], pieces)

        self._model = said


@mutant(kills="MP-HOST-RECALL-009", says="one context block", report="F3")
class SendsPlainTextsTheSecondTime(_Retrying):
    def again(self, message):
        words = strip_memory_context(message["content"])
        texts = [text for _, text in parse_memory_context(message["content"])]
        return {**message, "content": "\n\n".join([words, *texts])}


@mutant(kills="MP-HOST-RECALL-009", says="one context block", report="F3")
class SendsTwoBlocksTheSecondTime(_Retrying):
    def again(self, message):
        texts = parse_memory_context(message["content"])
        return {**message, "content": inject_memory_context(message["content"], texts)}


@mutant(kills="MP-HOST-RECALL-009", says="in no other", report="D3")
class TellsTheSystemWhereASessionIsResumed(Sending):
    is_resumed = False

    def switch(self, kind, new_session_id):
        super().switch(kind, new_session_id)
        self.is_resumed = kind == "resume"

    def request(self, before, words, content):
        if not self.is_resumed:
            return super().request(before, words, content)
        self.is_resumed = False
        known = "\n".join(text for _, text in self.recalled)
        return [{"role": "system", "content": known}, {"role": "user", "content": words}]


@mutant(kills="MP-HOST-RECALL-007", says="recalled for a turn before", report="I2")
class LeavesWhatItSentWhereATurnIsBrokenOff(Sending):
    def request(self, before, words, content):
        self.sent = {"role": "user", "content": content}
        return [*before, self.sent]

    def interrupt(self, user_message):
        turn = super().interrupt(user_message)
        self._history.append(self.sent)
        return turn


@mutant(kills="MP-HOST-RECALL-007", says="recalled for a turn before", report="I2")
class LeavesWhatItSentWhereTheModelFails(Sending):
    def request(self, before, words, content):
        self.sent = {"role": "user", "content": content}
        return [*before, self.sent]

    def turn(self, user_message):
        try:
            return super().turn(user_message)
        except ModelFailed:
            self._history.append(self.sent)
            raise


@mutant(kills="MP-HOST-SHOW-003", says="if a <", report="F1")
class KeepsTheEndOfAStreamToItself(Agent):
    def stream(self, user_message):
        scrubber = StreamingContextScrubber()
        shown = "".join(map(scrubber.feed, self._answered(user_message)))
        self._finish(user_message, shown)
        return Turn(shown)


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D1")
class StreamsWithTheRecallOfTheTurnBefore(Agent):
    before, is_streaming = "", False

    def stream(self, user_message):
        self.is_streaming = True
        try:
            return super().stream(user_message)
        finally:
            self.is_streaming, self.before = False, user_message

    def recall(self, user_message, messages):
        asked = self.before if self.is_streaming and self.before else user_message
        return super().recall(asked, messages)


class _Choosing(Agent):
    """An agent that makes something else of what was recalled."""

    def _answered(self, user_message):
        recalled, self.recall = self.recall, lambda *args: self.chosen(recalled(*args))
        try:
            return super()._answered(user_message)
        finally:
            del self.recall


@mutant(kills="MP-HOST-RECALL-009", says="below its own heading", report="F3")
class SendsEqualTextsOnce(_Choosing):
    def chosen(self, recalled):
        texts = [text for _, text in recalled]
        return [one for n, one in enumerate(recalled) if one[1] not in texts[:n]]


@mutant(kills="MP-HOST-RECALL-009", says="below its own heading", report="F3")
class CountsTheSilentAmongTheNames(_Choosing):
    def chosen(self, recalled):
        return list(zip(self.registry.providers, [text for _, text in recalled], strict=False))


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D1")
class RecallsNothingForAWord(Agent):
    def _answered(self, user_message):
        if len(user_message.split()) > 1:
            return super()._answered(user_message)
        return self._model([*self._history, {"role": "user", "content": user_message}])


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D1")
class RecallsForTheBeginningOfAMessage(Agent):
    def recall(self, user_message, messages):
        return super().recall(user_message[:2000], messages)


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D1")
class RecallsForLatinLettersOnly(Agent):
    def recall(self, user_message, messages):
        is_latin = re.search("[A-Za-z]", user_message)
        return super().recall(user_message, messages) if is_latin else []


@mutant(kills="MP-HOST-RECALL-006", says="it is not there", report="D1")
class TakesATagForABlock(Agent):
    def recall(self, user_message, messages):
        return [] if OPEN_TAG in user_message else super().recall(user_message, messages)


@mutant(kills="MP-HOST-RECALL-006", says="it is not there", report="D1")
class SendsNothingInATurnThatIsBrokenOff(Agent):
    def interrupt(self, user_message):
        self.recall(user_message, self._history)
        asked = [*self._history, {"role": "user", "content": user_message}]
        return Turn("".join(self._shown(itertools.islice(self._model(asked), 1))))


@mutant(kills="MP-HOST-RECALL-009", says="as it is", report="J5")
class FillsInATemplate(Sending):
    def request(self, before, words, content):
        block = content[len(words) :].strip()
        filled = "{words}\n\n{memory}".replace("{words}", words).replace("{memory}", block)
        return [*before, {"role": "user", "content": filled if block else words}]


@mutant(kills="MP-HOST-RECALL-005", says="a recall for", report="D4")
class RecallsOnceForARepeatedQuestion(Agent):
    last = None, None

    def recall(self, user_message, messages):
        if self.last[0] != user_message:
            self.last = user_message, super().recall(user_message, messages)
        return self.last[1]


@mutant(kills="MP-HOST-SHOW-003", says="who broke off an answer", report="C6")
class ScrubsAllUsersByOneScrubber(Agent):
    last = StreamingContextScrubber()

    def start(self, session):
        super().start(session)
        self.scrubber = self.last

    def _shown(self, pieces):
        for piece in pieces:
            yield self.scrubber.feed(piece)
        self.scrubber = StreamingContextScrubber()

    def turn(self, user_message):
        scrubber = self.scrubber
        shown = "".join(self._shown(self._answered(user_message))) + scrubber.flush()
        self._finish(user_message, shown)
        return Turn(shown)


@mutant(kills="MP-HOST-RECALL-009", says="in the request that is made again", report="D1")
class AsksAgainWithoutTheBlock(Agent):
    def start(self, session):
        super().start(session)

        def answered(messages):
            *before, last = messages
            try:
                yield from session.model(messages)
            except ModelFailed:
                words = strip_memory_context(last["content"])
                yield from session.model([*before, {**last, "content": words}])

        self._model = answered


@mutant(kills="MP-HOST-RECALL-009", says="in the request", report="F3")
class PutsARecalledTextOnOneLine(Agent):
    def recall(self, user_message, messages):
        found = super().recall(user_message, messages)
        return [(name, " ".join(text.split())) for name, text in found]


@mutant(kills="MP-HOST-RECALL-009", says="in the request that is made again", report="D1")
class AsksAgainWithoutTheBlockInAStream(AsksAgainWithoutTheBlock):
    def turn(self, user_message):
        model, self._model = self._model, self.plain
        try:
            return super().turn(user_message)
        finally:
            self._model = model

    def stream(self, user_message):
        shown = "".join(self._shown(self._answered(user_message)))
        self._finish(user_message, shown)
        return Turn(shown)

    def start(self, session):
        super().start(session)
        self.plain = session.model


@mutant(kills="MP-HOST-RECALL-006", says="is not in the request", report="J8")
class SharesOneBoundAmongAll(Agent):
    def recall(self, user_message, messages):
        found, room = [], 8_000
        for name, text in super().recall(user_message, messages):
            if found and len(text) > room:
                break
            found.append((name, text))
            room -= len(text)
        return found


@mutant(kills="MP-HOST-RECALL-009", says="in the order in which", report="F3")
class ShowsThemAsTheyAnswer(Agent):
    def register(self, provider):
        super().register(provider)
        recall, name = provider.enrich_turn, provider.name

        def noted(user_message, messages):
            answer = recall(user_message, messages)
            self.__dict__.setdefault("order", []).append(name)
            return answer

        provider.enrich_turn = noted

    def recall(self, user_message, messages):
        self.order = []
        found = super().recall(user_message, messages)
        return sorted(found, key=lambda pair: self.order.index(pair[0]))
