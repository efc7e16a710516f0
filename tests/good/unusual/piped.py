"""A good provider whose store is a program of its own, spoken to over its two pipes."""

import contextlib
import json
import os
import pathlib
import select
import sqlite3
import subprocess
import sys
import threading
import time

from memproto import errors


class Piped:
    """
    Asks the program that keeps the database; starts it anew where it has died.

    One question is under way at a time. An answer that nobody waits for any more, because the
    question was given up or interrupted, has an old number and is passed over.
    """

    name = "piped"

    def __init__(self):
        self._lock = threading.Lock()
        self._program = None
        self._number = 0
        self._command = None
        self._rest = b""

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._limit = config["limits"].get("recall_chars", 1 << 30)
        self._silent = config.get("agent_context", "primary") not in config["protocol"]["contexts"]
        database = pathlib.Path(config["home"], "piped.db")
        self._command = [sys.executable, "-I", __file__, str(database)]
        try:
            self._ask(20, "open")
        except errors.Unavailable as error:
            if database.is_file() or (
                database.parent.is_dir() and os.access(database.parent, os.W_OK)
            ):
                return  # it is locked, and may be free later
            raise errors.Misconfigured(f"{database.name} cannot be made: {error}") from error

    def capabilities(self):
        return {
            "stores": {"turns", "writes"},
            "mirrors": {key: ["add", "replace", "remove"] for key in ("memory", "user")},
        }

    def enrich_turn(self, user_message, messages):
        try:
            found = self._ask(3, "find", user_message)
        except errors.Unavailable:
            return None
        lines, room = [], self._limit
        for text in found:
            if len(text) < room:
                lines.append(text)
                room -= len(text) + 1
        if found and not lines:
            lines = [found[0][: self._limit]]
        return "\n".join(lines) or None

    def on_turn_complete(self, user_message, assistant_response):
        if not self._silent:
            said, mark, block = user_message.partition("<memory-context>\n[System note:")
            if mark:
                said += block.rpartition("</memory-context>")[2]
            self._ask(10, "add", "turn", f"{said}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if self._silent:
            return
        if action not in ("add", "replace", "remove"):
            raise errors.Rejected(f"no action {action!r}")
        if action == "add":
            self._ask(10, "add", target, content)
        elif not self._ask(
            10, "change", target, old_text, content if action == "replace" else None
        ):
            raise errors.WriteRefused("old_text fits no entry, or more than one")

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        self._command = None
        with self._lock:
            self._stop()

    def _ask(self, seconds, *words):
        end = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            raise errors.Unavailable("another question is under way", retry_after_s=1)
        try:
            return self._answer(end, words)
        except (OSError, ValueError, EOFError) as error:
            self._stop()
            raise errors.Unavailable(f"the store does not answer: {error}") from error
        finally:
            self._lock.release()

    def _answer(self, end, words):
        if self._command is None:
            raise EOFError("it was shut down")
        if self._program is None or self._program.poll() is not None:
            self._stop()
            self._program = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        self._number += 1
        number = self._number
        waits = end - time.monotonic()
        line = json.dumps([number, waits, *words]).encode() + b"\n"
        self._write(line, end)
        while True:
            answered, answer = json.loads(self._line(end))
            if answered == number:
                if isinstance(answer, dict):
                    raise OSError(answer["fault"])
                return answer

    def _write(self, line, end):
        pipe = self._program.stdin.fileno()
        os.set_blocking(pipe, False)
        view = memoryview(line)
        while view:
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [pipe], [], left)[1]:
                raise TimeoutError("it takes nothing")
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(pipe, view) :]

    def _line(self, end):
        pipe = self._program.stdout.fileno()
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise TimeoutError("its time is over")
            piece = os.read(pipe, 1 << 16)
            if not piece:
                raise EOFError("the store ended")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _stop(self):
        program, self._program, self._rest = self._program, None, b""
        if program is None:
            return
        program.stdin.close()
        try:
            program.wait(3)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        program.stdout.close()


# -- the program -----------------------------------------------------------------------------------


def ready(path, waits):
    base = sqlite3.connect(path, timeout=max(waits - 0.5, 0.1), isolation_level=None)
    base.execute("CREATE TABLE IF NOT EXISTS notes (n INTEGER PRIMARY KEY, kind TEXT, note TEXT)")
    return base


def answer(base, word, *rest):
    if word == "add":
        base.execute("INSERT INTO notes (kind, note) VALUES (?, ?)", (rest[0], json.dumps(rest[1])))
    if word == "find":
        return ranked(base, rest[0])
    if word == "change":
        return changed(base, *rest)
    return True


def changed(base, kind, old, new):
    base.execute("BEGIN IMMEDIATE")
    try:
        rows = base.execute("SELECT n, note FROM notes WHERE kind = ?", (kind,)).fetchall()
        rows = [(n, json.loads(note)) for n, note in rows]
        hits = [row for row in rows if row[1] == old] or [r for r in rows if old and old in r[1]]
        fits = bool(old) and len({note for _, note in hits}) == 1
        if fits:
            base.executemany("DELETE FROM notes WHERE n = ?", [(n,) for n, _ in hits])
            if new is not None:
                answer(base, "add", kind, new)
    except BaseException:
        base.execute("ROLLBACK")
        raise
    base.execute("COMMIT")
    return fits


def ranked(base, query):
    asked = {word.strip(".,;:!?'\"").lower() for word in query.split()} - {""}
    asked = {word for word in asked if len(word) > 3} or asked
    hits = []
    for n, note in base.execute("SELECT n, note FROM notes"):
        text = json.loads(note)
        share = asked & {word.strip(".,;:!?'\"").lower() for word in text.split()}
        if share:
            hits.append((-len(share), -n, text))
    return [text for _, _, text in sorted(hits)[:10]]


def main():
    for line in sys.stdin.buffer:
        number, waits, *words = json.loads(line)
        try:
            with contextlib.closing(ready(sys.argv[1], waits)) as base:
                told = answer(base, *words)
        except sqlite3.Error as error:
            told = {"fault": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps([number, told]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
