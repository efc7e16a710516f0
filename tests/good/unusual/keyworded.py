"""A good provider whose recall takes keywords: a text is found if it has all of them."""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from memproto import errors

#: Words of a question that say nothing about its subject.
_QUESTION = """
who what where when why how which whose is are was were do does did has have had can could
will would should the a an of to in on at for from with by about tell me please you your i
my we our it its and or
"""
QUESTION = frozenset(_QUESTION.split())


class Keyworded:
    name = "keyworded"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.room = config["limits"].get("recall_chars")
        self.keeps = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        self.path = Path(config["home"], "keywords.db")
        try:
            with self.opened(10) as base:
                base.execute("CREATE TABLE IF NOT EXISTS texts (n INTEGER PRIMARY KEY, text TEXT)")
                base.execute("CREATE TABLE IF NOT EXISTS words (word TEXT, n INTEGER)")
                base.execute("CREATE INDEX IF NOT EXISTS by_word ON words (word)")
        except errors.Unavailable as error:
            if not self.path.exists():
                raise errors.Misconfigured(str(error)) from error

    def capabilities(self):
        return {
            "stores": {"turns", "writes"},
            "recall_basis": "query",
            "mirrors": {"memory": {"add"}, "user": {"add"}},
        }

    def enrich_turn(self, user_message, messages):
        asked = self.words(user_message) - QUESTION
        if not asked or len(asked) > 200:
            return None
        try:
            with self.opened(3) as base:
                numbers = None
                for word in asked:
                    rows = base.execute("SELECT n FROM words WHERE word = ?", (word,))
                    having = {n for (n,) in rows}
                    numbers = having if numbers is None else numbers & having
                    if not numbers:
                        return None
                texts = [
                    base.execute("SELECT text FROM texts WHERE n = ?", (n,)).fetchone()[0]
                    for n in sorted(numbers, reverse=True)[:20]
                ]
        except errors.Unavailable:
            return None
        return "\n".join(json.loads(text) for text in texts)[: self.room]

    def on_turn_complete(self, user_message, assistant_response):
        said = re.sub(
            r"<memory-context>\s*\[System note:.*</memory-context>",
            "",
            user_message,
            flags=re.DOTALL,
        )
        self.add(f"{said}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self.add(content)

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def add(self, text):
        if self.keeps:
            with self.opened(8) as base:
                made = base.execute("INSERT INTO texts (text) VALUES (?)", (json.dumps(text),))
                rows = [(word, made.lastrowid) for word in self.words(text)]
                base.executemany("INSERT INTO words VALUES (?, ?)", rows)

    @staticmethod
    def words(text):
        found = re.findall(r"\w+", text.casefold())
        return {word.encode("utf-8", "replace").decode() for word in found}

    @contextmanager
    def opened(self, seconds):
        try:
            with closing(sqlite3.connect(self.path, timeout=seconds)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise errors.Unavailable(f"keywords.db: {error}") from error
