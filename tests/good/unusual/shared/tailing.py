"""
A good provider that holds an index in memory, and follows one log that all processes append to.

Before each question it reads what was appended since the last one. A change is a line; a removal
names the line that it takes away, so that nothing is ever written anew.
"""

import fcntl
import json
import os
import re
import threading
import time
from collections import defaultdict
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused


class Tailing:
    name = "tailing"

    def __init__(self):
        self._guard = threading.RLock()
        self._clear()

    def _clear(self):
        self._at, self._entries, self._index = 0, {}, defaultdict(set)

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._me = config.get("user_id")
        self._room = config["limits"].get("recall_chars", 1 << 40)
        self._off = config.get("agent_context", "primary") not in config["protocol"]["contexts"]
        self._log = Path(config["home"], "tail.log")
        try:
            self._log.touch()
        except OSError as error:
            if not self._log.is_file():
                raise Misconfigured("tail.log cannot be made in the home") from error
        with self._guard:
            self._clear()

    def shutdown(self):
        with self._guard:
            self._clear()

    def capabilities(self):
        return {
            "extensions": ["tools"],
            "tool_names": ["tailing_note", "tailing_forget", "tailing_list"],
            "stores": ["turns", "writes", "tools"],
            "isolates": ["profile", "user"],
            "mirrors": {one: ["add", "replace", "remove"] for one in ("memory", "user")},
        }

    # -- the log -----------------------------------------------------------------------------------

    def _follow(self, file):
        """Take in what stands behind the last line that was read; a torn one waits."""
        if os.fstat(file.fileno()).st_size < self._at:
            self._clear()
        file.seek(self._at)
        for line in file:
            if not line.endswith(b"\n"):
                break
            place, self._at = self._at, self._at + len(line)
            try:
                change = json.loads(line)
            except ValueError:
                continue
            for gone in change["drop"]:
                entry = self._entries.pop(gone, None)
                for word in _words(entry["text"]) if entry else ():
                    self._index[word].discard(gone)
            for at, entry in enumerate(change["add"]):
                key = f"{place}.{at}"
                self._entries[key] = entry
                for word in _words(entry["text"]):
                    self._index[word].add(key)

    def _lock(self, file, within_s):
        end = time.monotonic() + within_s
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _append(self, meant, kind, text):
        """Append a change without the keys that `meant` gives, and give the key of the new one."""
        try:
            with self._guard, self._log.open("r+b") as file:
                self._lock(file, 5)
                self._follow(file)
                drop = meant()
                add = [] if text is None else [{"user": self._me, "kind": kind, "text": text}]
                if not drop and not add:
                    return None
                size = file.seek(0, os.SEEK_END)
                line = b"\n" * (size != self._at) + json.dumps({"drop": drop, "add": add}).encode()
                start = size + (size != self._at)
                try:
                    file.write(line + b"\n")
                    file.flush()
                except OSError:
                    os.ftruncate(file.fileno(), size)
                    raise
                return f"{start}.0"
        except OSError as error:
            raise Unavailable("the log cannot be used now") from error

    # -- hooks -------------------------------------------------------------------------------------

    def enrich_turn(self, user_message, messages):
        with self._guard:
            try:
                with self._log.open("rb") as file:
                    self._follow(file)
            except OSError:
                return None
            hits = defaultdict(int)
            for word in _words(user_message):
                for key in self._index.get(word, ()):
                    if self._entries[key]["user"] == self._me:
                        hits[key] += 1
            best = sorted(hits, key=lambda key: (-hits[key], -float(key)))[:10]
            texts = [self._entries[key]["text"] for key in best]
        shown, room = [], self._room
        for text in texts:
            if len(text) < room:
                shown.append(text)
                room -= len(text) + 1
        return "\n".join(shown or [text[: self._room] for text in texts[:1]]) or None

    def on_turn_complete(self, user_message, assistant_response):
        if self._off:
            return
        said, mark, rest = user_message.partition("<memory-context>\n[System note:")
        if mark:
            said += rest.rpartition("</memory-context>")[2]
        self._append(list, "turn", f"{said}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if self._off:
            return
        if action not in ("add", "replace", "remove"):
            raise Rejected("this action is unknown")

        def meant():
            held = {
                key: one["text"]
                for key, one in self._entries.items()
                if one["user"] == self._me
                and one["kind"] == target
                and old_text
                and old_text in one["text"]
            }
            held = {key: text for key, text in held.items() if text == old_text} or held
            if len(set(held.values())) != 1:
                raise WriteRefused("old_text fits no entry, or several")
            return list(held)

        self._append(
            list if action == "add" else meant, target, content if action != "remove" else None
        )

    def on_compress(self, messages, compression_count):
        pass

    def get_tool_schemas(self):
        def schema(name, tells, **more):
            shape = {"type": "object", "properties": more, "required": [*more]}
            return {"name": name, "description": tells, "parameters": shape}

        return [
            schema("tailing_note", "Keeps a note. Answers its id.", note={"type": "string"}),
            schema("tailing_forget", "Forgets a note by its id.", id={"type": "string"}),
            schema("tailing_list", "Lists the notes with their ids."),
        ]

    def handle_tool_call(self, tool_name, args, **kwargs):
        note, key = args.get("note"), args.get("id")
        if tool_name == "tailing_note" and isinstance(note, str):
            return json.dumps({"success": True, "id": self._append(list, "note", note)})
        if tool_name == "tailing_forget" and isinstance(key, str):
            taken = []

            def meant():
                entry = self._entries.get(key)
                if entry and (entry["user"], entry["kind"]) == (self._me, "note"):
                    taken.append(key)
                return taken

            self._append(meant, "note", None)
            return json.dumps({"success": bool(taken), "forgotten": len(taken)})
        if tool_name == "tailing_list":
            self.enrich_turn("", [])
            with self._guard:
                notes = {
                    key: one["text"]
                    for key, one in self._entries.items()
                    if (one["user"], one["kind"]) == (self._me, "note")
                }
            return json.dumps({"notes": notes})
        return json.dumps({"error": "no such tool, or an argument is missing"})


def _words(text):
    words = {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2}
    for run in re.findall(r"[^\W\x00-\x7f]{2,}", text.casefold()):
        words.update(run[at : at + 2] for at in range(len(run) - 1))
    return words
