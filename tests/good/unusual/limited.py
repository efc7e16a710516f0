"""
A good provider with a rate limit: so many writes at once, then so many a second.

Its store charges for each write. A write beyond the limit is refused, with the time after which
a retry makes sense.
"""

import fcntl
import json
import re
import threading
import time
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable, WriteRefused

AT_ONCE = 30
A_SECOND = 10.0


class Bucket:
    """Tokens of the whole process: all sessions share the account."""

    def __init__(self):
        self._lock = threading.Lock()
        self._tokens = float(AT_ONCE)
        self._at = time.monotonic()

    def take(self):
        with self._lock:
            now = time.monotonic()
            self._tokens = min(AT_ONCE, self._tokens + (now - self._at) * A_SECOND)
            self._at = now
            if self._tokens < 1:
                missing_s = (1 - self._tokens) / A_SECOND
                raise Unavailable("too many writes", retry_after_s=missing_s)
            self._tokens -= 1


BUCKET = Bucket()


class Limited:
    name = "limited"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._file = Path(config["home"], "limited.jsonl")
        self._limit = config["limits"].get("recall_chars")
        self._counts = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            self._file.touch()
        except OSError as error:
            raise Misconfigured("limited.jsonl cannot be made") from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "mirrors": {"memory": ["add", "remove"], "user": ["add", "remove"]},
        }

    def enrich_turn(self, user_message, messages):
        asked = set(re.findall(r"\w{4,}", user_message.casefold()))
        try:
            texts = [entry["text"] for entry in self._entries()]
        except OSError:
            return None
        hits = [(len(asked & set(re.findall(r"\w{4,}", t.casefold()))), t) for t in texts]
        best = sorted((hit for hit in hits if hit[0]), key=lambda hit: hit[0], reverse=True)
        return "\n".join(text for _, text in best[:10])[: self._limit] or None

    def on_turn_complete(self, user_message, assistant_response):
        said = re.sub(r"(?s)<memory-context>\s*\[System note.*</memory-context>", "", user_message)
        self._change(
            lambda entries: [*entries, {"kind": "turn", "text": f"{said}\n{assistant_response}"}]
        )

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._change(lambda entries: [*entries, {"kind": target, "text": content}])
        elif action == "remove":
            self._change(lambda entries: _without(entries, target, old_text))

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def _entries(self):
        return [json.loads(line) for line in self._file.read_text("ascii").splitlines()]

    def _change(self, change):
        if not self._counts:
            return
        BUCKET.take()
        try:
            with self._file.with_suffix(".lock").open("a") as lock:
                self._wait(lock)
                part = self._file.with_suffix(".part")
                lines = [json.dumps(entry) + "\n" for entry in change(self._entries())]
                part.write_text("".join(lines), "ascii")
                part.replace(self._file)
        except (OSError, ValueError) as error:
            raise Unavailable(f"limited.jsonl cannot be changed: {error}") from error

    @staticmethod
    def _wait(lock):
        end = time.monotonic() + 8
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.05)


def _without(entries, kind, old):
    mine = [e["text"] for e in entries if e["kind"] == kind]
    hits = {t for t in mine if t == old} or {t for t in mine if old and old in t}
    if len(hits) != 1:
        raise WriteRefused("old_text fits none or several")
    return [e for e in entries if e["kind"] != kind or e["text"] not in hits]
