"""Providers that a session's end, or its change, leads astray."""

import threading
import time
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.private import Private
from tests.good.switching import Switching

Messages = list[dict[str, Any]]


@mutant(kills="MP-SESS-001", says="IndexError", report="A2")
class TheEndLooksAtTheLastMessage(Switching):
    def on_session_end(self, messages: Messages) -> None:
        self._last = messages[-1]["content"]
        super().on_session_end(messages)


@mutant(kills="MP-SESS-002", says="ended with no messages", report="A2")
class AnEmptyTranscriptReplacesTheSession(Switching):
    def on_session_end(self, messages: Messages) -> None:
        super().on_session_end(messages)
        if not messages:
            with self._lock:
                self._entries = []
                self._save()


@mutant(kills="MP-SESS-002", says="did not come back", report="A7")
class TheEndClearsTheBatch(Switching):
    def on_session_end(self, messages: Messages) -> None:
        self._batch.clear()


@mutant(kills="MP-SESS-003", says="found 2-fold", report="hermes#64284")
class EachEndTakesTheTranscriptInAgain(Switching):
    def on_session_end(self, messages: Messages) -> None:
        super().on_session_end(messages)
        if self._turn_number < 0:
            said = [message["content"] for message in messages]
            Journal.on_turn_complete(self, "\n".join(said), "")
        self._turn_number = -1


@mutant(kills="MP-SESS-004", says="came back only after", report="hermes#36216")
class OnlyShutdownFlushes(Switching):
    def on_session_end(self, messages: Messages) -> None:
        self._drop_prepared()


@mutant(kills="MP-SESS-005", says="on_session_end", report="B10", scale=0.1)
class TheExtractionIsWaitedFor(Switching):
    def on_session_end(self, messages: Messages) -> None:
        super().on_session_end(messages)
        if messages:
            time.sleep(30)


@mutant(kills="MP-SESS-006", says="unexpected keyword", report="H3")
class TheSwitchKnowsItsArguments(Switching):
    def on_session_switch(  # type: ignore[override]
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
    ) -> None:
        super().on_session_switch(new_session_id, reset=reset, rewound=rewound)


@mutant(kills="MP-SESS-006", says="KeyError", report="A4")
class TheParentHasToBeKnown(Switching):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._documents = {"": "", session_key: f"document-{self._session}"}

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        self._parent = self._documents[kwargs.get("parent_session_id", "")]
        super().on_session_switch(new_session_id, **kwargs)


@mutant(kills="MP-SESS-007", says="a new conversation", report="hermes#17447")
class ResetClearsTheBatch(Switching):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        if kwargs.get("reset"):
            self._batch.clear()
        super().on_session_switch(new_session_id, **kwargs)


@mutant(
    kills="MP-SESS-007",
    says="a branch",
    report="A5",
    also={"MP-STORE-010": "the turns that wait while nothing can be written are cleared"},
)
class EachSwitchIsTakenForAReset(Switching):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        if not kwargs.get("reset"):
            self._batch.clear()
        super().on_session_switch(new_session_id, **kwargs)


@mutant(kills="MP-SESS-007", says="of the first one again", report="A10")
class AResumedSessionCountsFromOne(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._number = sum(entry["session"] == session_key for entry in self._entries)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        self._number = 0

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        with self._changing():
            self._number += 1
            key = f"{self._session} {self._number}"
            self._entries = [entry for entry in self._entries if entry.get("key") != key]
            self._entries[-1]["key"] = key
            self._save()


@mutant(kills="MP-SESS-007", says="a rewind", report="A11")
class ARewindForgetsAllSessions(Switching):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        if kwargs.get("rewound"):
            for document in (self._home / self._user).glob("*/journal.jsonl"):
                document.write_text("", "ascii")


@mutant(kills="MP-SESS-008", says="on_turn_complete of", report="A6")
class TheBatchIsWrittenToTheNewSession(Switching):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        with self._lock:
            self._drop_prepared()
            self._enter(new_session_id)
            self._flush()


@mutant(kills="MP-SESS-008", says="the messages of on_session_end", report="hermes#61139")
class TheExtractionMeetsTheNewSession(Switching):
    def on_session_end(self, messages: Messages) -> None:
        super().on_session_end(messages)
        self._told = [m["content"] for m in messages if m["role"] == "user"]

    def _enter(self, session_key: str) -> None:
        super()._enter(session_key)
        for text in getattr(self, "_told", []):
            if not any(text in entry["text"] for entry in self._entries):
                Journal.on_turn_complete(self, text, "")


@mutant(
    kills="MP-SESS-009",
    says="it is not recalled there",
    report="A4",
    also={"MP-SESS-007": "a text of the session that was switched to is in the one before"},
)
class WritesStayInTheOldSession(Switching):
    def _enter(self, session_key: str) -> None:
        first = self._path
        super()._enter(session_key)
        # Recall follows; the document to which turns are added was opened by initialize.
        self._written = getattr(self, "_written", first)

    def _save(self) -> None:
        own, self._path = self._path, getattr(self, "_written", self._path)
        super()._save()
        self._path = own


@mutant(kills="MP-SESS-009", says="it is not exported there, and is in", report="A4")
class EntriesKeepTheFirstSession(Private):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """As a provider that read the session key once."""


@mutant(kills="MP-SESS-009", says="an old conversation that is resumed", report="A4")
class ASessionIsEnteredOnce(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._known = {session_key}

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        if new_session_id not in self._known:
            super().on_session_switch(new_session_id, **kwargs)
        self._known.add(new_session_id)


@mutant(kills="MP-SESS-009", says="an old conversation that is resumed", report="C6")
class ASwitchIsForItsThread(Private):
    """The session is a variable of the thread, which another one has as it was at the start."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._first, self._local = session_key, threading.local()
        super().initialize(session_key, config)

    @property
    def _session(self) -> str:
        return getattr(self._local, "session", self._first)

    @_session.setter
    def _session(self, session_key: str) -> None:
        self._local.session = session_key


@mutant(kills="MP-SESS-009", says="an accent and a space at its end", report="A4")
class AKeyIsTrimmedAtASwitch(Private):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id.strip(), **kwargs)


@mutant(kills="MP-SESS-009", says="a branch", report="A5")
class ABranchIsItsParent(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._known = {session_key}

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        is_branch = kwargs.get("parent_session_id") and new_session_id not in self._known
        super().on_session_switch(self._session if is_branch else new_session_id, **kwargs)
        self._known.add(new_session_id)


@mutant(kills="MP-SESS-007", says="a rewind", report="A11")
class ARewindTakesTheNewestTurn(Private):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        if kwargs.get("rewound"):
            with self._changing():
                turns = [entry for entry in self._entries if entry["kind"] == "turn"]
                self._entries = [entry for entry in self._entries if entry not in turns[-1:]]
                self._save()


@mutant(kills="MP-SESS-008", says="is exported there", report="A6")
class EntriesMoveWithTheSession(Private):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        with self._lock:
            self._entries = self._load()
            for entry in self._entries:
                if entry["session"] == self._session:
                    entry["session"] = new_session_id
            self._save()
        super().on_session_switch(new_session_id, **kwargs)


@mutant(kills="MP-SESS-010", says="nothing of session key", report="A4")
class RecallStaysInTheFirstSession(Switching):
    def _enter(self, session_key: str) -> None:
        before = self._entries
        super()._enter(session_key)
        self._entries = before + self._entries


@mutant(kills="MP-SESS-003", says="by an instance each", report="A8")
class EachInstanceTakesItsTranscriptIn(Switching):
    """It knows of the ends that it was told itself."""

    def on_session_end(self, messages: Messages) -> None:
        super().on_session_end(messages)
        if self._turn_number >= 0:
            said = [message["content"] for message in messages]
            Journal.on_turn_complete(self, "\n".join(said), "")
        self._turn_number = -1


@mutant(kills="MP-SESS-003", says="found 2-fold", report="A8")
class EachEndTakesInWhatWasNotRecorded(Private):
    """It looks among the turns that it recorded, and not at what an end brought."""

    def on_session_end(self, messages: Messages) -> None:
        turns = [e["text"] for e in self._load() if e["session"] == self._session]
        said = [m["content"] for m in messages if m["role"] == "user"]
        for text in said:
            if not any(turn.startswith(f"{text}\n") for turn in turns):
                with self._changing():
                    self._entries.append({"kind": "turn", "source": "end", "text": text})
                    self._save()
