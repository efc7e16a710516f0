"""
A good provider whose file is encrypted: nothing in it can be read without the passphrase.

Each record has a nonce and a seal of its own. The key stream is SHA-256 of key, nonce and a
counter; a record that was cut short or changed does not pass its seal and is left out.
"""

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import struct
import time
from contextlib import contextmanager
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

VARIABLE = "SEALED_PASSPHRASE"
MAGIC = b"SEAL"


class Sealed:
    name = "sealed"

    def is_available(self):
        return bool(os.environ.get(VARIABLE))

    def initialize(self, session_key, config):
        self.path = Path(config["home"], "memory.sealed")
        self.room = config["limits"].get("recall_chars")
        self.listens = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        phrase = os.environ[VARIABLE].encode()
        salt = b"sealed:" + os.fsencode(self.path.name)
        self.key = hashlib.pbkdf2_hmac("sha256", phrase, salt, 20_000)
        try:
            self.path.touch(mode=0o600)
        except OSError as error:
            raise Misconfigured("the home cannot be written to") from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "mirrors": {"memory": ["add", "remove"], "user": ["add", "remove"]},
        }

    def enrich_turn(self, user_message, messages):
        try:
            entries = self._unsealed(self.path.read_bytes())
        except OSError:
            return None
        asked = self._words(user_message)
        hits = [(len(asked & self._words(text)), text) for _, text in entries]
        hits = sorted((hit for hit in hits if hit[0]), key=lambda hit: -hit[0])
        return "\n---\n".join(text for _, text in hits[:6])[: self.room] or None

    def on_turn_complete(self, user_message, assistant_response):
        said = re.sub(
            r"<memory-context>\s*\[System note:.*</memory-context>",
            "",
            user_message,
            flags=re.DOTALL,
        )
        self._append("turn", said + "\n" + assistant_response)

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._append(target, content)
        elif action == "remove":
            self._remove(target, old_text)
        else:
            raise Rejected("replace is not supported")

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def _append(self, kind, text):
        if self.listens:
            with self._locked() as file:
                end = file.seek(0, os.SEEK_END)
                try:
                    file.write(self._sealed(kind, text))
                except OSError:
                    os.ftruncate(file.fileno(), end)
                    raise

    def _remove(self, kind, old):
        if not self.listens:
            return
        with self._locked() as file:
            entries = self._unsealed(file.read())
            mine = [text for k, text in entries if k == kind]
            hits = {text for text in mine if text == old} or {t for t in mine if old and old in t}
            if len(hits) != 1:
                raise WriteRefused("no such entry, or more than one")
            kept = [(k, text) for k, text in entries if k != kind or text not in hits]
            part = self.path.with_suffix(".part")
            part.write_bytes(b"".join(self._sealed(k, text) for k, text in kept))
            part.replace(self.path)

    @contextmanager
    def _locked(self):
        """The file, locked; a file that took its place meanwhile is opened in its stead."""
        end = time.monotonic() + 6
        try:
            while True:
                with self.path.open("r+b", buffering=0) as file:
                    self._lock(file, end)
                    if os.fstat(file.fileno()).st_ino == self.path.stat().st_ino:
                        yield file
                        return
        except OSError as error:
            raise Unavailable(f"the store cannot be used: {error}", retry_after_s=5) from error

    def _lock(self, file, end):
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    @staticmethod
    def _words(text):
        return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}

    # -- the cipher --

    def _stream(self, nonce, size):
        blocks = range(size // 32 + 1)
        return b"".join(
            hashlib.sha256(self.key + nonce + struct.pack(">Q", block)).digest() for block in blocks
        )[:size]

    def _mixed(self, nonce, data):
        stream = self._stream(nonce, len(data))
        return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))

    def _sealed(self, kind, text):
        nonce = secrets.token_bytes(16)
        body = nonce + self._mixed(nonce, json.dumps([kind, text]).encode("ascii"))
        seal = hmac.digest(self.key, body, "sha256")
        return MAGIC + struct.pack(">I", len(body)) + seal + body

    def _unsealed(self, data):
        entries, at = [], 0
        while (at := data.find(MAGIC, at)) >= 0:
            head = data[at + 4 : at + 40]
            size = int.from_bytes(head[:4])
            body = data[at + 40 : at + 40 + size]
            if len(body) == size and hmac.compare_digest(
                head[4:], hmac.digest(self.key, body, "sha256")
            ):
                entries.append(tuple(json.loads(self._mixed(body[:16], body[16:]))))
                at += 40 + size
            else:
                at += 4
        return entries
