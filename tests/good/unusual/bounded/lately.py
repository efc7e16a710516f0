"""
A good provider whose recall is what was told last: the newest sixty texts, whatever is asked.

Older ones stay in the file, and nothing shows them; so it declares that it is selective.
"""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable

MOST = 60

BLOCK = re.compile(r"(?s)<memory-context>\s*\[System note:.*?</memory-context>")


class Lately:
    name = "lately"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._file = Path(config["home"], "lately.db")
        self._user = ascii(config.get("user_id"))
        self._room = config["limits"].get("recall_chars", 20_000)
        self._listens = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            with self._open() as base:
                base.execute("CREATE TABLE IF NOT EXISTS told (user, text)")
        except Unavailable as error:
            raise Misconfigured(f"the home cannot be used: {error}") from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "retention": "selective",
            "isolates": ["profile", "user"],
        }

    def enrich_turn(self, user_message, messages):
        newest = "SELECT text FROM told WHERE user = ? ORDER BY rowid DESC LIMIT ?"
        try:
            with self._open() as base:
                rows = base.execute(newest, (self._user, MOST)).fetchall()
        except Unavailable:
            return None
        lines, room = [], self._room
        for (stored,) in rows:
            line = f"- {json.loads(stored)}"
            if len(line) < room:
                lines.append(line)
                room -= len(line) + 1
        return "\n".join(lines) or None

    def on_turn_complete(self, user_message, assistant_response):
        self._keep(f"{BLOCK.sub('', user_message)}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._keep(content)

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def _keep(self, text):
        if self._listens:
            with self._open() as base:
                base.execute("INSERT INTO told VALUES (?, ?)", (self._user, json.dumps(text)))

    @contextmanager
    def _open(self):
        try:
            with closing(sqlite3.connect(self._file, timeout=4)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise Unavailable(f"lately.db: {error}") from error
