"""A good provider of coroutines, over a connection to SQLite that lives on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import re
import sqlite3
import threading

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

ACTIONS = ["add", "replace", "remove"]
BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


class Connection(threading.Thread):
    """Runs functions of the database one after the other, and hands the answers to their loops."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.jobs, self.db = path, queue.SimpleQueue(), None

    async def run_in(self, work):
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self.jobs.put((work, loop, answer))
        return await answer

    def run(self):
        while job := self.jobs.get():
            work, loop, answer = job
            try:
                told = answer.set_result, work(self._opened())
            except Exception as error:
                told = answer.set_exception, error
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._tell, answer, *told)
        if self.db:
            self.db.close()

    @staticmethod
    def _tell(answer, tell, value):
        if not answer.done():
            tell(value)

    def _opened(self):
        if self.db is None:
            db = sqlite3.connect(self.path, timeout=3, isolation_level=None)
            try:
                db.execute("CREATE TABLE IF NOT EXISTS notes(user, kind, text)")
            except sqlite3.Error:
                db.close()
                raise
            self.db = db
        return self.db


class Connected:
    name = "connected"
    connection = None

    async def is_available(self):
        return True

    async def initialize(self, session_key, config):
        self.user = json.dumps(config.get("user_id"))
        self.room = config["limits"].get("recall_chars")
        contexts = config["protocol"]["contexts"]
        self.is_open = config.get("agent_context", "primary") in contexts
        if self.connection:
            self.connection.jobs.put(None)
        self.connection = Connection(config["home"] + "/connected.db")
        self.connection.start()
        try:
            await self.connection.run_in(lambda db: None)
        except sqlite3.Error as error:
            if "unable to open" in str(error):
                raise Misconfigured("no database can be made in this home") from error

    async def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user"],
            "mirrors": {"memory": ACTIONS, "user": ACTIONS},
        }

    async def _change(self, change):
        def work(db):
            db.execute("BEGIN IMMEDIATE")
            try:
                change(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

        try:
            await self.connection.run_in(work)
        except sqlite3.Error as error:
            raise Unavailable(f"nothing was written: {error}") from error

    def _add(self, db, kind, text):
        db.execute("INSERT INTO notes VALUES (?, ?, ?)", (self.user, kind, json.dumps(text)))

    def _drop(self, db, target, old):
        mine = "SELECT rowid, text FROM notes WHERE user = ? AND kind = ?"
        rows = [(row, json.loads(text)) for row, text in db.execute(mine, (self.user, target))]
        held = [row for row in rows if old and old in row[1]]
        held = [row for row in held if row[1] == old] or held
        if len({text for _, text in held}) != 1:
            raise WriteRefused("old_text fits no note, or several")
        db.executemany("DELETE FROM notes WHERE rowid = ?", [(row,) for row, _ in held])

    async def on_turn_complete(self, user_message, assistant_response):
        if self.is_open:
            await self._change(lambda db: self._add(db, "turn", BLOCK.sub("", user_message)))

    async def on_memory_write(self, action, target, content, old_text=None):
        if action not in ACTIONS:
            raise Rejected(f"the actions are {ACTIONS}")

        def change(db):
            if action != "add":
                self._drop(db, target, old_text)
            if action != "remove":
                self._add(db, target, content)

        await self._change(change)

    async def on_compress(self, messages, compression_count):
        """The turns are written already."""

    async def enrich_turn(self, user_message, messages):
        mine = "SELECT text FROM notes WHERE user = ? ORDER BY rowid DESC"
        asked = set(re.findall(r"\w+", user_message.casefold()))
        try:
            found = self.connection.run_in(lambda db: db.execute(mine, (self.user,)).fetchall())
            rows = await asyncio.wait_for(found, 4)
        except (sqlite3.Error, TimeoutError):
            return None
        hits = []
        for (row,) in rows:
            text = json.loads(row)
            shared = "".join(asked.intersection(re.findall(r"\w+", text.casefold())))
            if len(shared) > 2:
                hits.append((len(shared), text))
        shown = [text for _, text in sorted(hits, reverse=True)[:10]]
        while len(shown) > 1 and self.room and len("\n".join(shown)) > self.room:
            shown.pop()
        return "\n".join(shown)[: self.room] or None

    async def shutdown(self):
        if self.connection:
            self.connection.jobs.put(None)
            self.connection.join(10)
