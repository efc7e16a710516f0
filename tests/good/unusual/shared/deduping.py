"""
A good provider that keeps each text once, with the times at which it was told.

A text that is told again is no new entry: it gets one more time, and recall says how often it was
told and when last. Blanks and case make no other text; the newest spelling is kept.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

ADD = {
    "name": "deduping_keep",
    "description": "Keeps a sentence for later conversations.",
    "parameters": {
        "type": "object",
        "properties": {"sentence": {"type": "string"}},
        "required": ["sentence"],
    },
}


class Deduping:
    """Keeps a JSON document for each user, which is written as a whole."""

    name = "deduping"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._session, self._user = session_key, config.get("user_id")
        self._contexts = config["protocol"]["contexts"]
        self._context = config.get("agent_context", "primary")
        self._room = config["limits"].get("recall_chars", 1 << 40)
        whose = json.dumps([self._user]).encode()
        self._path = Path(config["home"], hashlib.sha256(whose).hexdigest() + ".json")
        if not os.access(config["home"], os.W_OK | os.X_OK) or not Path(config["home"]).is_dir():
            raise Misconfigured("the home is no directory that can be written")

    def shutdown(self):
        pass

    def capabilities(self):
        return {
            "extensions": ["tools", "record", "items", "privacy"],
            "tool_names": [ADD["name"]],
            "stores": ["turns", "writes", "tools"],
            "isolates": ["profile", "user"],
            "mirrors": {one: ["add", "replace", "remove"] for one in ("memory", "user")},
        }

    @contextlib.contextmanager
    def _opened(self, how=fcntl.LOCK_EX):
        """Give the entries under the lock, and write them if they were changed."""
        try:
            with self._path.with_suffix(".lock").open("a") as lock:
                end = time.monotonic() + 3
                while True:
                    try:
                        fcntl.flock(lock, how | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        if time.monotonic() > end:
                            raise
                        time.sleep(0.01)
                before = self._path.read_text() if self._path.exists() else "{}"
                entries = json.loads(before)
                yield entries
                after = json.dumps(entries)
                if after != before:
                    part = self._path.with_suffix(".part")
                    with part.open("w") as file:
                        file.write(after)
                        file.flush()
                        os.fsync(file.fileno())
                    part.replace(self._path)
        except (OSError, ValueError) as error:
            raise Unavailable("the document cannot be used now") from error

    def _told(self, entries, source, text, *, target="", at=None, session=None, **more):
        plain = " ".join(text.casefold().split())
        key = hashlib.sha256(json.dumps([source, target, plain]).encode()).hexdigest()[:24]
        now = at or datetime.now(UTC).isoformat()
        entry = entries.setdefault(key, {"source": source, "target": target, "told": []})
        entry["text"] = text
        session = self._session if session is None else session
        if not any(
            one.get("turn_id") == more["turn_id"] for one in entry["told"] if more.get("turn_id")
        ):
            entry["told"].append({"id": os.urandom(9).hex(), "at": now, "session": session} | more)

    def _found(self, query):
        try:
            with self._opened(fcntl.LOCK_SH) as entries:
                stored = dict(entries)
        except Unavailable:
            return None
        asked, found = _words(query), []
        for entry in stored.values():
            shared = len(asked & _words(entry["text"]))
            if shared:
                found.append({**self._item(entry), "score": shared, "x_told": entry["told"]})
        return sorted(found, key=lambda item: -item["score"])[:15]

    def _item(self, entry, told=None):
        last = told or entry["told"][0]
        return {
            "id": last["id"],
            "text": entry["text"],
            "created_at": last["at"],
            "source": entry["source"],
            "scope": {"user_id": self._user, "session_id": last["session"]},
        }

    def enrich_turn(self, user_message, messages):
        lines, room, found = [], self._room, self._found(user_message) or []
        for item in found:
            times = item["x_told"]
            line = item["text"]
            if len(times) > 1:
                line += f" (told {len(times)} times, last {times[-1]['at']})"
            if len(line) < room:
                lines.append(line)
                room -= len(line) + 1
        if found and not lines:
            return found[0]["text"][: self._room]
        return "\n".join(lines) or None

    def recall_items(self, request):
        room, found, items = request.get("budget_chars", 1 << 40), self._found(request["query"]), []
        for item in found or ():
            if len(item["text"]) <= room:
                room -= len(item["text"])
                items.append({key: item[key] for key in item if key != "x_told"})
        return {"items": items, "status": "unavailable" if found is None else "ok"}

    def on_turn_complete(self, user_message, assistant_response):
        self._turn(user_message, assistant_response, self._context)

    def record(self, turn):
        if turn.get("author", {}).get("is_bot"):
            return
        more = {key: turn[key] for key in ("turn_id", "author") if key in turn}
        context = turn.get("context", self._context)
        self._turn(
            turn["user_message"],
            turn["assistant_response"],
            context,
            at=turn["started_at"],
            session=turn["session_id"],
            **more,
        )

    def _turn(self, message, response, context, **more):
        if not {context, self._context} <= set(self._contexts):
            return
        own, mark, rest = message.partition("<memory-context>\n[System note:")
        own += rest.rpartition("</memory-context>")[2] if mark else ""
        with self._opened() as entries:
            known = {one.get("turn_id") for entry in entries.values() for one in entry["told"]}
            if more.get("turn_id") is None or more["turn_id"] not in known:
                self._told(entries, "turns", f"{own}\n{response}", **more)

    def on_memory_write(self, action, target, content, old_text=None):
        if self._context not in self._contexts:
            return
        if action not in ("add", "replace", "remove"):
            raise Rejected("an action that is not known")
        with self._opened() as entries:
            if action != "add":
                del entries[self._one(entries, target, old_text)]
            if action != "remove":
                self._told(entries, "writes", content, target=target)

    def _one(self, entries, target, old):
        here = [k for k, e in entries.items() if old and e["target"] == target and old in e["text"]]
        found = [key for key in here if entries[key]["text"] == old] or here
        if len(found) != 1:
            raise WriteRefused("old_text fits no entry, or several")
        return found[0]

    def on_compress(self, messages, compression_count):
        pass

    def get_tool_schemas(self):
        return [ADD]

    def handle_tool_call(self, tool_name, args, **kwargs):
        if tool_name != ADD["name"] or not isinstance(args.get("sentence"), str):
            return json.dumps({"error": "call deduping_keep with a sentence"})
        with self._opened() as entries:
            self._told(entries, "tools", args["sentence"])
        return json.dumps({"success": True})

    def _in_scope(self, entries, scope):
        if set(scope) - {"session_id", "user_id"}:
            raise Rejected("a scope that is not known")
        if "user_id" in scope and scope["user_id"] != self._user:
            return
        for key, entry in list(entries.items()):
            for told in list(entry["told"]):
                if scope.get("session_id", told["session"]) == told["session"]:
                    yield key, told

    def export(self, scope):
        with self._opened(fcntl.LOCK_SH) as entries:
            items = []
            for key, told in self._in_scope(entries, scope):
                more = {name: told[name] for name in ("turn_id", "author") if name in told}
                items.append(self._item(entries[key], told) | more)
            return {"items": items}

    def forget(self, scope):
        removed = 0
        with self._opened() as entries:
            for key, told in self._in_scope(entries, scope):
                entries[key]["told"].remove(told)
                removed += 1
                if not entries[key]["told"]:
                    del entries[key]
        return {"removed": removed, "pending": 0}


def _words(text):
    words = set(re.findall(r"\w{3,}", text.casefold()))
    far = re.findall(r"[^\W\x00-\x7f]+", text.casefold())
    return words | {run[at : at + 2] for run in far for at in range(len(run) - 1)}
