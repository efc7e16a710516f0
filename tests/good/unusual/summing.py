"""
A good provider that keeps a summary of each session, made when the session ends.

Until then its turns wait in the database, so that a process that dies leaves them for the next
session. A summary has the sentences that name somebody or something.
"""

import json
import re
import sqlite3
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from memproto import errors

SCHEMA = """
CREATE TABLE IF NOT EXISTS waiting (n INTEGER PRIMARY KEY, session TEXT, said TEXT);
CREATE TABLE IF NOT EXISTS summaries (n INTEGER PRIMARY KEY, day TEXT, summary TEXT);
"""


def summary(turns):
    """The sentences in which a word behind the first one has a capital, or no case at all."""
    lines = []
    for said in turns:
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", said):
            words = re.findall(r"\w+", sentence)
            if any(word[0].isupper() or not word.isascii() for word in words[1:]):
                lines.append(sentence.strip()[:400])
    return "\n".join(dict.fromkeys(lines))


class Summing:
    name = "summing"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.session = session_key
        self.limit = config["limits"].get("recall_chars")
        self.is_heard = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        self.path = Path(config["home"], "summaries.db")
        try:
            with self.base(10) as base:
                base.executescript(SCHEMA)
        except errors.Unavailable as error:
            if not self.path.exists():
                raise errors.Misconfigured(f"no file can be made in the home: {error}") from error

    def capabilities(self):
        return {
            "retention": "selective",
            "stores": ["turns"],
            "mirrors": {"memory": [], "user": []},
            "extensions": ["sessions"],
        }

    def enrich_turn(self, user_message, messages):
        asked = {word for word in re.findall(r"\w+", user_message.lower()) if len(word) > 3}
        try:
            with self.base(3) as base:
                rows = base.execute("SELECT day, summary FROM summaries ORDER BY n DESC").fetchall()
        except errors.Unavailable:
            return None
        shown = []
        for day, kept in rows:
            lines = [
                line
                for line in json.loads(kept).splitlines()
                if asked & set(re.findall(r"\w+", line.lower()))
            ]
            if lines:
                shown.append(f"On {day}:\n" + "\n".join(lines[:10]))
        return "\n".join(shown[:10])[: self.limit] or None

    def on_turn_complete(self, user_message, assistant_response):
        if self.is_heard:
            said = re.sub(r"(?s)<memory-context>\s*\[System.*?</memory-context>", "", user_message)
            with self.base(8) as base:
                base.execute(
                    "INSERT INTO waiting (session, said) VALUES (?, ?)",
                    (ascii(self.session), json.dumps(said)),
                )

    def on_memory_write(self, action, target, content, old_text=None):
        pass

    def on_compress(self, messages, compression_count):
        pass

    def on_session_end(self, messages):
        self.sum_up()

    def on_session_switch(self, new_session_id, **kwargs):
        self.sum_up()
        self.session = new_session_id

    def shutdown(self):
        if hasattr(self, "session"):
            # If the store fails, the turns wait in the database for the next end.
            with suppress(errors.Unavailable):
                self.sum_up()

    def sum_up(self):
        """Make one summary of all that waits, of dead sessions too."""
        with self.base(6) as base:
            base.execute("BEGIN IMMEDIATE")
            rows = base.execute("SELECT n, session, said FROM waiting ORDER BY n").fetchall()
            by_session = {}
            for _, session, said in rows:
                by_session.setdefault(session, []).append(json.loads(said))
            for turns in by_session.values():
                if text := summary(turns):
                    base.execute(
                        "INSERT INTO summaries (day, summary) VALUES (?, ?)",
                        (datetime.now(UTC).date().isoformat(), json.dumps(text)),
                    )
            base.executemany("DELETE FROM waiting WHERE n = ?", [row[:1] for row in rows])

    @contextmanager
    def base(self, seconds):
        try:
            with closing(sqlite3.connect(self.path, timeout=seconds)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise errors.Unavailable(f"summaries.db: {error}") from error
