"""
A good provider that is a diary of one person: the words of nobody else are written into it.

It takes no page that is older than a day, and none of before the user had everything forgotten:
both are refused, and so is what another one said.
"""

import contextlib
import datetime as dt
import json
import re
import sqlite3
from pathlib import Path

from memproto import errors

PAGES = """CREATE TABLE IF NOT EXISTS pages(
    number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT, turn TEXT, page TEXT
)"""
BLANK = "CREATE TABLE IF NOT EXISTS blank(owner TEXT PRIMARY KEY, since TEXT)"
OLDEST = dt.timedelta(days=1)


class Diary:
    name = "diary"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.session, self.user = session_key, config.get("user_id")
        self.owner = json.dumps(self.user)
        self.open_in = config["protocol"]["contexts"]
        self.context = config.get("agent_context", "primary")
        self.room = config["limits"].get("recall_chars", 16_000)
        self.file = Path(config["home"], "diary.sqlite")
        self.trouble = ""
        try:
            with self._book("BEGIN IMMEDIATE") as book:
                book.execute(PAGES)
                book.execute(BLANK)
        except errors.Unavailable as error:
            raise errors.Misconfigured(f"the diary cannot be opened: {error}") from error

    def capabilities(self):
        return {
            "extensions": ["record", "items", "privacy", "status"],
            "stores": ["turns"],
            "mirrors": {},
            "recall_basis": "query",
            "isolates": ["profile", "user"],
        }

    def shutdown(self):
        pass

    @contextlib.contextmanager
    def _book(self, begin):
        try:
            with contextlib.closing(
                sqlite3.connect(self.file, timeout=4, isolation_level=None)
            ) as book:
                book.execute(begin)
                yield book
                book.execute("COMMIT")
        except sqlite3.Error as error:
            raise errors.Unavailable(f"diary.sqlite: {error}") from error

    def _pages(self, book):
        rows = book.execute(
            "SELECT number, page FROM pages WHERE owner = ? ORDER BY number DESC", (self.owner,)
        )
        return [{"id": f"page-{number}", **json.loads(page)} for number, page in rows]

    # -- writing ----------------------------------------------------------------------------------

    def on_turn_complete(self, user_message, assistant_response):
        if self.context in self.open_in:
            self._write(user_message, "", self.session, dt.datetime.now(dt.UTC))

    def record(self, turn):
        author = turn.get("author") or {}
        if author.get("is_bot") or author.get("id", self.user) != self.user:
            raise errors.WriteRefused("the words of others are not written into a diary")
        if not {self.context, turn.get("context", self.context)} <= {*self.open_in}:
            return
        began = dt.datetime.fromisoformat(turn["started_at"])
        if began < dt.datetime.now(dt.UTC) - OLDEST:
            raise errors.WriteRefused("a page of days ago is not written any more")
        self._write(turn["user_message"], turn["turn_id"], turn["session_id"], began)

    def _write(self, said, turn, session, at):
        own = re.sub(
            r"<memory-context>\s*\[System note:.*?</memory-context>", "", said, flags=re.DOTALL
        )
        scope = {"session_id": session}
        if self.user is not None:
            scope["user_id"] = self.user
        page = {"text": own, "created_at": at.isoformat(), "source": "turns", "scope": scope}
        if turn:
            page["turn_id"] = turn
        with self._book("BEGIN IMMEDIATE") as book:
            blank = book.execute("SELECT since FROM blank WHERE owner = ?", (self.owner,))
            if any(at < dt.datetime.fromisoformat(since) for (since,) in blank.fetchall()):
                raise errors.WriteRefused("it was said before everything was forgotten")
            named = (self.owner, json.dumps(turn))
            known = book.execute("SELECT 1 FROM pages WHERE owner = ? AND turn = ?", named)
            if not known.fetchall() or not turn:
                book.execute(
                    "INSERT INTO pages(owner, turn, page) VALUES (?, ?, ?)",
                    (*named, json.dumps(page)),
                )

    def on_memory_write(self, action, target, content, old_text=None):
        raise errors.WriteRefused("a diary holds what was said, and no notes")

    def on_compress(self, messages, compression_count):
        pass

    # -- reading ----------------------------------------------------------------------------------

    def _found(self, query):
        wanted = set(re.findall(r"\w+", query.casefold()))
        try:
            with self._book("BEGIN") as book:
                pages = self._pages(book)
            self.trouble = ""
        except errors.Unavailable:
            self.trouble = "The diary is held by another program; close it."
            return []
        for page in pages:
            page["score"] = len("".join(wanted & set(re.findall(r"\w+", page["text"].casefold()))))
        hits = [page for page in pages if page["score"]]
        return sorted(hits, key=lambda page: page["score"], reverse=True)[:20]

    def enrich_turn(self, user_message, messages):
        found, shown, left = self._found(user_message), [], self.room
        for page in found:
            if len(page["text"]) < left:
                shown.append(page["text"])
                left -= len(page["text"]) + 1
        if found and not shown:
            return found[0]["text"][: self.room]
        return "\n".join(shown) or None

    def recall_items(self, request):
        left, shown = request.get("budget_chars", 10**9), []
        for page in self._found(request["query"]):
            if len(page["text"]) <= left:
                page.pop("turn_id", None)
                shown.append(page)
                left -= len(page["text"])
        return {"items": shown, "status": "unavailable" if self.trouble else "ok"}

    def recall_status(self):
        if self.trouble:
            return {"state": "down", "message": self.trouble}
        return {"state": "ok"}

    def unavailable_reason(self):
        return self.trouble

    # -- showing and forgetting -------------------------------------------------------------------

    def _within(self, book, scope):
        if not set(scope) <= {"user_id", "session_id"}:
            raise errors.Rejected("a diary knows users and sessions only")
        return [
            page
            for page in self._pages(book)
            if all(page["scope"].get(key) == value for key, value in scope.items())
        ]

    def export(self, scope):
        with self._book("BEGIN") as book:
            return {"items": self._within(book, scope)}

    def forget(self, scope):
        with self._book("BEGIN IMMEDIATE") as book:
            gone = [(int(page["id"].removeprefix("page-")),) for page in self._within(book, scope)]
            book.executemany("DELETE FROM pages WHERE number = ?", gone)
            if not scope:
                now = dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat()
                book.execute("INSERT OR REPLACE INTO blank VALUES (?, ?)", (self.owner, now))
        return {"removed": len(gone), "pending": 0}
