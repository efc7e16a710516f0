"""Registries that end and switch sessions wrongly."""

import threading

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
