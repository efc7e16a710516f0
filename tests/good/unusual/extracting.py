"""A good provider that keeps facts as short sentences of its own, and not what was said."""

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Unavailable

#: Words that a fact does without.
_FILLERS = """
the a an please well so very really just actually and then also that which of course i
think know as you remember want to tell by way
"""
FILLERS = frozenset(_FILLERS.split())
SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\u3002\uff01\uff1f]*")
NOTE = re.compile(r"<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


def facts(text: str) -> list[str]:
    """Each statement of a text, without its filler words; questions are left out."""
    found = []
    for sentence in SENTENCE.findall(text):
        if sentence.rstrip().endswith(("?", "\uff1f")):
            continue
        words = [
            w for w in sentence.strip(" .!\u3002\uff01").split() if w.casefold() not in FILLERS
        ]
        if len(words) > 1 or (words and not words[0].isascii()):
            found.append(" ".join(words) + ".")
    return list(dict.fromkeys(found))


class Extracting:
    """Facts in a table, each of them once."""

    name = "extracting"

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._path = Path(config["home"]) / "facts.sqlite"
        self._most = config["limits"].get("recall_chars")
        self._learns = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            with self._base(10) as base:
                base.execute("CREATE TABLE IF NOT EXISTS facts (fact TEXT PRIMARY KEY) STRICT")
        except Unavailable as error:
            if not self._path.exists():
                raise Misconfigured(str(error)) from error

    def capabilities(self) -> dict[str, Any]:
        return {
            "retention": "selective",
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "mirrors": {"memory": ["add"], "user": ["add"]},
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked = {w for w in re.findall(r"\w+", user_message.casefold()) if len(w) > 3}
        try:
            with self._base(3) as base:
                kept = [json.loads(fact) for (fact,) in base.execute("SELECT fact FROM facts")]
        except Unavailable:
            return None
        hits = [(len(asked & set(re.findall(r"\w+", f.casefold()))), f) for f in kept]
        lines = [f for n, f in sorted(hits, key=lambda hit: -hit[0]) if n][:15]
        if not lines:
            return None
        return ("Known facts:\n" + "\n".join(lines))[: self._most]

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._learn(NOTE.sub("", user_message))

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "add":
            self._learn(content or "")

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn was looked through already."""

    def shutdown(self) -> None:
        """Nothing is open."""

    def _learn(self, text: str) -> None:
        learned = [(json.dumps(fact),) for fact in facts(text)]
        if self._learns and learned:
            with self._base(8) as base:
                base.executemany("INSERT OR IGNORE INTO facts VALUES (?)", learned)

    @contextlib.contextmanager
    def _base(self, seconds: float):
        try:
            with contextlib.closing(sqlite3.connect(self._path, timeout=seconds)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise Unavailable(f"facts.sqlite cannot be used: {error}") from error
