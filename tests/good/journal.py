"""
A small good provider that stores turns and writes: one JSON line each, searched by words.

The builtin provider stores no turns; this one gives the rules on turns something good to pass,
and most broken providers are it with one hook changed.
"""

import contextlib
import fcntl
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto import fence
from memproto.errors import WriteRefused

_WORD = re.compile(r"\w{3,}")


class Journal:
    """Keeps a list of entries in memory and in `journal.jsonl` below the home."""

    name = "journal"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._path: Path | None = None
        self._entries: list[dict[str, str]] = []
        self._recall_chars: int | None = None
        self._is_kept = True

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        home = Path(config["home"])
        home.mkdir(parents=True, exist_ok=True)
        self._path = home / "journal.jsonl"
        self._recall_chars = config.get("limits", {}).get("recall_chars")
        kept = config.get("protocol", {}).get("contexts", ["primary"])
        self._is_kept = config.get("agent_context", "primary") in kept
        self._entries = self._load()

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "isolates": ["profile"],
            "mirrors": {target: ["add", "replace", "remove"] for target in ("memory", "user")},
            "spec_version": "1.0",
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        wanted = words(user_message)
        with self._lock:
            ranked = [
                (len(wanted & words(entry["text"])), self._shown(entry)) for entry in self._entries
            ]
        best = max((score for score, _ in ranked), default=0)
        found = [text for score, text in ranked if score and score == best]
        return "\n".join(within(found, self._recall_chars)) or None

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with self._changing():
            if action in ("replace", "remove"):
                self._entries = self._left(target, old_text)
            if action in ("add", "replace"):
                self._entries.append({"kind": target, "text": content or ""})
            self._save()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        with self._changing():
            said = self._own_words(user_message)
            self._entries.append({"kind": "turn", "text": f"{said}\n{assistant_response}"})
            self._save()

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn is stored already."""

    def shutdown(self) -> None:
        """Every write is on disk already."""

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Stored entries, read again: other sessions and processes may have written meanwhile."""
        assert self._path is not None
        with self._lock, self._path.with_suffix(".lock").open("ab") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            self._entries = self._load()
            yield

    @staticmethod
    def _own_words(user_message: str) -> str:
        """The message without a context block that a host left in it."""
        return fence.strip_memory_context(user_message)

    @staticmethod
    def _shown(entry: dict[str, str]) -> str:
        """An entry as recall gives it."""
        return entry["text"]

    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        """
        Entries that stay when the one is taken out that an old text names.

        Raises:
            WriteRefused: It names several.

        """
        fitting = [e for e in self._entries if self._is_old(e, target, old_text)]
        meant = [e for e in fitting if e["text"] == old_text] or fitting
        if len({entry["text"] for entry in meant}) > 1:
            raise WriteRefused(f"old_text fits {len(meant)} entries")
        return [entry for entry in self._entries if entry not in meant]

    @staticmethod
    def _is_old(entry: dict[str, str], target: str, old_text: str | None) -> bool:
        return entry["kind"] == target and bool(old_text) and str(old_text) in entry["text"]

    def _load(self) -> list[dict[str, str]]:
        assert self._path is not None
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text("ascii").splitlines()]

    def _save(self) -> None:
        assert self._path is not None
        if not self._is_kept:
            # A job or a subagent: what it says is not the user's.
            return
        lines = "".join(json.dumps(entry) + "\n" for entry in self._entries)
        fresh = self._fresh(self._path)
        fresh.write_text(lines, "ascii")
        fresh.replace(self._path)

    def _fresh(self, path: Path) -> Path:
        """The file that is written before it takes the place of another one."""
        return path.with_suffix(".new")


def within(texts: list[str], limit: int | None) -> list[str]:
    """
    As many of the texts as a recall of `limit` characters has room for.

    One that is longer by itself is shortened.
    """
    if limit is None:
        return texts
    kept: list[str] = []
    for text in (text[:limit] for text in texts):
        if len("\n".join([*kept, text])) <= limit:
            kept.append(text)
    return kept


def words(text: str) -> set[str]:
    """The words of a text that are worth a search."""
    return {word.casefold() for word in _WORD.findall(text)}
