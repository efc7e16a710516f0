"""A good provider whose recall is a quotation: lines of 60 characters, with a mark before each."""

import contextlib
import json
import os
import re
import textwrap
import uuid
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


class Quoting:
    name = "quoting"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.folder = Path(config["home"], "quoted")
        self.user = json.dumps(config.get("user_id"))
        self.room = config["limits"].get("recall_chars", float("inf"))
        contexts = config["protocol"]["contexts"]
        self.is_open = config.get("agent_context", "primary") in contexts
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise Misconfigured(f"the home takes no folder: {error.strerror}") from error

    def capabilities(self):
        return {
            "extensions": ["sessions"],
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user"],
            "mirrors": {"memory": ["add", "remove"], "user": ["add", "remove"]},
        }

    def _put(self, kind, text):
        part = self.folder / f"{uuid.uuid4().hex}.part"
        try:
            with part.open("w") as file:
                json.dump([self.user, kind, text], file)
                file.flush()
                os.fsync(file.fileno())
            part.rename(part.with_suffix(".json"))
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise Unavailable(f"nothing was written: {error.strerror}") from error

    def _mine(self):
        for path in sorted(self.folder.glob("*.json")):
            with contextlib.suppress(ValueError, FileNotFoundError):
                user, kind, text = json.loads(path.read_text())
                if user == self.user:
                    yield path, kind, text

    def on_turn_complete(self, user_message, assistant_response):
        if self.is_open:
            self._put("turn", BLOCK.sub("", user_message))

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._put(target, content)
            return
        if action != "remove":
            raise Rejected("entries are added and removed here")
        try:
            held = [e for e in self._mine() if e[1] == target and old_text and old_text in e[2]]
            held = [entry for entry in held if entry[2] == old_text] or held
            if len({text for *_, text in held}) != 1:
                raise WriteRefused("old_text fits no entry, or several")
            for path, *_ in held:
                path.unlink()
        except OSError as error:
            raise Unavailable(f"nothing was removed: {error.strerror}") from error

    def on_session_end(self, messages):
        """The turns are written already."""

    def on_session_switch(self, new_session_id, **kwargs):
        """An entry belongs to its user, whatever the session."""

    def on_compress(self, messages, compression_count):
        """The turns are written already."""

    def enrich_turn(self, user_message, messages):
        asked = set(re.findall(r"\w+", user_message.casefold()))
        hits = []
        with contextlib.suppress(OSError):
            for *_, text in self._mine():
                shared = "".join(asked.intersection(re.findall(r"\w+", text.casefold())))
                if len(shared) > 2:
                    hits.append((len(shared), text))
        texts = [text for _, text in sorted(hits, reverse=True)[:8]]
        shown, room = [], self.room
        for quoted in map(_quoted, texts):
            if len(quoted) + 2 <= room:
                shown.append(quoted)
                room -= len(quoted) + 2
        if texts and not shown:
            return texts[0][: int(self.room)]
        return "\n\n".join(shown) or None

    def shutdown(self):
        """Every hook wrote before it returned."""


def _quoted(text):
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, 60) or [""]]
    return "\n".join(f"> {line}" for line in lines)
