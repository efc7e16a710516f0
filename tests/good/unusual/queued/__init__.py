"""
A good provider of a service elsewhere: a queue on disk, a sender thread, retries.

A hook returns when the text lies in the queue; the sender brings it to the service when that
answers. Each change has an id, so that sending it twice changes nothing. Recall asks the service
and looks through the queue as well.
"""

import json
import logging
import re
import sqlite3
import threading
import time
import uuid
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from socket import SHUT_RDWR
from urllib.parse import urlsplit

from memproto.errors import Misconfigured, Unavailable

log = logging.getLogger(__name__)

REFUSED_FOR_GOOD = (400, 404, 413, 422)


class Refused(Exception):
    """The service answered, and says no."""

    def __init__(self, status):
        super().__init__(f"the service answered {status}")
        self.status = status


class Queued:
    name = "queued"

    def __init__(self):
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._sender = None
        self._trouble = ""

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        if not config.get("service_url"):
            raise Misconfigured("the setting service_url is missing: the address of the service")
        self._url = urlsplit(config["service_url"])
        self._space = str(config["home"])
        self._limit = config["limits"].get("recall_chars")
        self._is_mine = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        self._path = Path(config["home"], "outbox.db")
        try:
            with self._outbox(10) as base:
                base.executescript(
                    # A number that is given again would be removed by the one who sent the first.
                    "CREATE TABLE IF NOT EXISTS outbox"
                    " (n INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT);"
                    "CREATE TABLE IF NOT EXISTS refused (n INTEGER PRIMARY KEY, entry TEXT);"
                )
        except Unavailable as error:
            if not self._path.exists():
                raise Misconfigured(f"the queue cannot be made: {error}") from error
        if self._sender is not None:
            self.shutdown()
            self._closing.clear()
        self._wake.set()
        self._sender = threading.Thread(target=self._send_all, name="queued", daemon=True)
        self._sender.start()

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "mirrors": {"memory": ["add"], "user": ["add"]},
            "extensions": ["status"],
        }

    def recall_status(self):
        if self._trouble:
            return {"state": "degraded", "message": self._trouble}
        return {"state": "ok"}

    def unavailable_reason(self):
        return self._trouble

    def enrich_turn(self, user_message, messages):
        return "\n".join(self._ranked(user_message)[:10])[: self._limit] or None

    def _ranked(self, user_message):
        asked = {w for w in re.findall(r"\w+", user_message.casefold()) if len(w) > 3}
        found = []
        try:
            with self._outbox(1) as base:
                found = self._waiting(base)
        except Unavailable as error:
            log.warning("the queue cannot be read: %s", error)
        try:
            found += self._asked("/entries", {"space": self._space}, 3)["entries"]
            self._trouble = ""
        except (OSError, HTTPException, ValueError, Refused) as error:
            self._trouble = f"The service gives nothing: {error}"
            log.warning("the service gives nothing: %s", error)
        texts = {}
        for entry in found:
            share = asked & set(re.findall(r"\w+", entry["text"].casefold()))
            if share:
                texts[entry["text"]] = len(share)
        return sorted(texts, key=texts.get, reverse=True)

    def on_turn_complete(self, user_message, assistant_response):
        said = re.sub(r"(?s)<memory-context>\s*\[System note.*?</memory-context>", "", user_message)
        self._keep(f"{said}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._keep(content)

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        self._closing.set()
        self._wake.set()
        sender = self._sender
        if sender is not None:
            sender.join(10)

    def _keep(self, text):
        if self._is_mine:
            entry = json.dumps(self._entry(text))
            with self._outbox(8) as base:
                base.execute("INSERT INTO outbox (entry) VALUES (?)", (entry,))
            self._wake.set()

    def _entry(self, text):
        return {"id": uuid.uuid4().hex, "text": text}

    def _waiting(self, base):
        return [json.loads(e) for (e,) in base.execute("SELECT entry FROM outbox")]

    @contextmanager
    def _outbox(self, seconds):
        try:
            with closing(sqlite3.connect(self._path, timeout=seconds)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise Unavailable(f"the queue cannot be used: {error}", retry_after_s=5) from error

    # -- the sender --

    def _send_all(self):
        pause = 0.5
        while True:
            self._wake.wait()
            self._wake.clear()
            try:
                while self._send_one():
                    pause = 0.5
            except (OSError, HTTPException, ValueError, Unavailable, Refused) as error:
                self._trouble = f"The service does not take what is stored: {error}"
                log.warning("sent later: %s", error)
                if self._closing.wait(pause):
                    return
                pause = min(pause * 2, 15)
                self._wake.set()
            if self._closing.is_set() and not self._wake.is_set():
                return

    def _send_one(self):
        with self._outbox(3) as base:
            row = base.execute("SELECT n, entry FROM outbox ORDER BY n LIMIT 1").fetchone()
        if row is None:
            self._trouble = ""
            return False
        number, entry = row
        table = None
        try:
            asked = {"space": self._space, "kind": "any", "old_text": None, **json.loads(entry)}
            self._asked("/changes", asked, 2)
        except Refused as error:
            if error.status not in REFUSED_FOR_GOOD:
                raise
            log.warning("the service refused an entry for good: %s", error)
            table = "INSERT INTO refused (entry) SELECT entry FROM outbox WHERE n = ?"
        with self._outbox(3) as base:
            if table:
                base.execute(table, (number,))
            base.execute("DELETE FROM outbox WHERE n = ?", (number,))
        self._trouble = ""
        return True

    def _asked(self, path, asked, seconds):
        """One request that is over in `seconds`, however slowly the answer comes."""
        end = time.monotonic() + seconds
        connection = HTTPConnection(self._url.hostname, self._url.port, timeout=seconds)
        with closing(connection):
            connection.connect()
            socket = connection.sock
            over = threading.Timer(seconds, _cut, [socket])
            over.daemon = True
            over.start()
            try:
                body = json.dumps(asked).encode()
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                told = response.read()
            finally:
                over.cancel()
        if time.monotonic() > end:
            raise TimeoutError("the answer came too late")
        if response.status != 200:
            raise Refused(response.status)
        answer = json.loads(told)
        if not isinstance(answer, dict) or "entries" not in answer:
            raise ValueError("the answer is none of the service")
        return answer


def _cut(socket):
    with suppress(OSError):
        socket.shutdown(SHUT_RDWR)
