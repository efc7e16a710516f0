"""
A small good provider that knows of each entry whose it is, when it was said and how it came.

It serves `record`, `items`, `privacy` and `sessions`; a user has a file, in which all of his
sessions are.
"""

import datetime as dt
import uuid
from pathlib import Path
from typing import Any

from memproto.errors import Rejected
from memproto.types import is_of_bot
from tests.good.journal import Journal, words
from tests.good.tenants import digest

#: An entry's key to the key of an item.
_SHOWN = {"id": "id", "text": "text", "created_at": "at", "source": "source"}


class Private(Journal):
    """A journal for each user, in `USER/journal.jsonl` below the home."""

    name = "private"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home = Path(config["home"])
        self._session, self._user = session_key, config.get("user_id")
        super().initialize(session_key, {**config, "home": str(self._home / digest(self._user))})

    def capabilities(self) -> dict[str, Any]:
        return {
            **super().capabilities(),
            "extensions": ["record", "items", "privacy", "sessions"],
            "isolates": ["profile", "user"],
        }

    # -- sessions --------------------------------------------------------------------------------

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Every turn is written already."""

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        with self._lock:
            self._session = new_session_id

    # -- record ----------------------------------------------------------------------------------

    def record(self, turn: dict[str, Any]) -> None:
        with self._changing():
            # A turn of a bot holds no words of the user.
            if self._is_kept and not is_of_bot(turn) and not self._is_known(turn):
                self._entries.append(self._entry(turn))
                self._save()

    def _is_known(self, turn: dict[str, Any]) -> bool:
        return any(entry.get("turn_id") == turn["turn_id"] for entry in self._entries)

    def _entry(self, turn: dict[str, Any]) -> dict[str, Any]:
        text = f"{self._own_words(turn['user_message'])}\n{turn['assistant_response']}"
        kept = {key: turn[key] for key in ("turn_id", "author") if key in turn}
        when = {"at": turn["started_at"], "session": turn["session_id"]}
        return {"kind": "turn", "text": text, **when, **kept}

    def _save(self) -> None:
        """Add to each new entry what `on_turn_complete` and `on_memory_write` do not say."""
        now = dt.datetime.now(dt.UTC).isoformat()
        for entry in self._entries:
            entry.setdefault("id", uuid.uuid4().hex)
            entry.setdefault("at", now)
            entry.setdefault("session", self._session)
            entry.setdefault("source", "turns" if entry["kind"] == "turn" else "writes")
        super()._save()

    # -- recall ----------------------------------------------------------------------------------

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self._look_again()
        return super().enrich_turn(user_message, messages)

    def _look_again(self) -> None:
        """Read what is stored now: another instance may have been told to forget meanwhile."""
        with self._lock:
            self._entries = self._load()

    # -- items -----------------------------------------------------------------------------------

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        self._look_again()
        wanted = words(request["query"])
        with self._lock:
            found = [(len(wanted & words(entry["text"])), entry) for entry in self._entries]
        found.sort(key=lambda pair: pair[0], reverse=True)
        items = [{**self._item(entry), "score": score} for score, entry in found if score]
        return {"items": self._affordable(items, request.get("budget_chars")), "status": "ok"}

    def _item(self, entry: dict[str, Any]) -> dict[str, Any]:
        scope = {"user_id": self._user, "session_id": entry["session"]}
        return {**{key: entry[name] for key, name in _SHOWN.items()}, "scope": scope}

    @staticmethod
    def _affordable(items: list[dict[str, Any]], budget: int | None) -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = []
        for item in items:
            length = sum(len(one["text"]) for one in [*kept, item])
            if budget is None or length <= budget:
                kept.append(item)
        return kept

    # -- privacy ---------------------------------------------------------------------------------

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            found = [entry for entry in self._load() if self._is_within(entry, scope)]
        return {"items": [{**self._item(entry), **self._told_of(entry)} for entry in found]}

    @staticmethod
    def _told_of(entry: dict[str, Any]) -> dict[str, Any]:
        return {key: entry[key] for key in ("turn_id", "author") if key in entry}

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        with self._changing():
            before = self._entries
            self._entries = [entry for entry in before if not self._is_within(entry, scope)]
            self._save()
        return {"removed": len(before) - len(self._entries), "pending": 0}

    def _is_within(self, entry: dict[str, Any], scope: dict[str, Any]) -> bool:
        mine = {"user_id": self._user, "session_id": entry["session"]}
        if unknown := set(scope) - set(mine):
            raise Rejected(f"the scope has keys that are not known: {sorted(unknown)}")
        return all(mine[key] == value for key, value in scope.items())


class Apart(Private):
    """The same, of which each session recalls its own; an export of everything has them all."""

    name = "apart"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user", "session"]}

    def _look_again(self) -> None:
        with self._lock:
            self._entries = [e for e in self._load() if e["session"] == self._session]


class Delegating(Apart):
    """The same, which keeps what a subagent answered as well."""

    name = "delegating"

    def capabilities(self) -> dict[str, Any]:
        served = super().capabilities()
        return {**served, "extensions": [*served["extensions"], "delegation"]}

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        with self._changing():
            entry = {"kind": "delegation", "text": f"{task}\n{result}", "source": "delegation"}
            self._entries.append(entry)
            self._save()
