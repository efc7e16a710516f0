"""
A good provider that is a dict of its notes: empty it is false, and nobody can hash it.

It holds a lock from its first need to `shutdown`, and declares that one process at a time may.
"""

import fcntl
import json
import os
import re
from collections import UserDict
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

ACTIONS = ["add", "replace", "remove"]
BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


class Dictlike(UserDict):
    name = "dictlike"
    lock = None

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.path = Path(config["home"], "notes.json")
        if not self.path.parent.is_dir():
            raise Misconfigured("the home is no directory")
        self.user = json.dumps(config.get("user_id"))
        self.room = config["limits"].get("recall_chars")
        contexts = config["protocol"]["contexts"]
        self.is_open = config.get("agent_context", "primary") in contexts

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user"],
            "mirrors": {"memory": ACTIONS, "user": ACTIONS},
            "single_writer": True,
        }

    def shutdown(self):
        lock, self.lock = self.lock, None
        if lock:
            os.close(lock)
        self.data = {}

    def _load(self):
        """Take the lock and read the notes, if that was not done yet."""
        if self.lock:
            return
        lock = None
        try:
            lock = os.open(self.path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.data = json.loads(self.path.read_text()) if self.path.exists() else {}
        except (OSError, ValueError) as error:
            if lock:
                os.close(lock)
            raise Unavailable(f"the notes cannot be had now: {error}", retry_after_s=5) from error
        self.lock = lock

    def _save(self, notes):
        part = self.path.with_suffix(".part")
        try:
            with part.open("w") as file:
                json.dump(notes, file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)
        except OSError as error:
            raise Unavailable(f"the notes were not written: {error.strerror}") from error
        self.data = notes

    def on_turn_complete(self, user_message, assistant_response):
        if self.is_open:
            self._load()
            self._save(self.data | self._note("turn", BLOCK.sub("", user_message)))

    def on_memory_write(self, action, target, content, old_text=None):
        if action not in ACTIONS:
            raise Rejected(f"the actions are {ACTIONS}")
        self._load()
        gone = set() if action == "add" else self._meant(target, old_text)
        notes = {key: note for key, note in self.data.items() if key not in gone}
        self._save(notes if action == "remove" else notes | self._note(target, content))

    def _note(self, kind, text):
        return {os.urandom(8).hex(): [self.user, kind, text]}

    def _meant(self, target, old):
        mine = {key: note[2] for key, note in self.items() if note[:2] == [self.user, target]}
        held = {key for key, text in mine.items() if old and old in text}
        held = {key for key in held if mine[key] == old} or held
        if len({mine[key] for key in held}) != 1:
            raise WriteRefused("old_text fits no note, or several")
        return held

    def on_compress(self, messages, compression_count):
        """The turns are written already."""

    def enrich_turn(self, user_message, messages):
        try:
            self._load()
        except Unavailable:
            return None
        asked = set(re.findall(r"\w+", user_message.casefold()))
        hits = []
        for user, _, text in tuple(self.data.values()):
            shared = asked.intersection(re.findall(r"\w+", text.casefold()))
            if user == self.user and len("".join(shared)) > 2:
                hits.append((len("".join(shared)), text))
        shown = [text for _, text in sorted(hits, reverse=True)[:10]]
        while len(shown) > 1 and self.room and len("\n".join(shown)) > self.room:
            shown.pop()
        return "\n".join(shown)[: self.room] or None
