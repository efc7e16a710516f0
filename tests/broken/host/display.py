"""Agents that put recall where it does not belong, or do not put it where it does."""

from memproto.fence import OPEN_TAG, strip_memory_context
from memproto.testing.agent import Agent, RegistryDriver
from memproto.testing.driver import Turn
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
