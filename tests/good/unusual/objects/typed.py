"""A good provider whose values have types of their own: enumerations, and kinds of str and dict."""

import json
import re
import sqlite3
from collections import OrderedDict
from contextlib import closing
from enum import StrEnum, auto
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


class Route(StrEnum):
    TURNS = auto()
    WRITES = auto()
    TOOLS = auto()


class Action(StrEnum):
    ADD = auto()
    REPLACE = auto()
    REMOVE = auto()


class Boundary(StrEnum):
    PROFILE = auto()
    USER = auto()


class Tool(StrEnum):
    KEEP = "typed_keep"
    DROP = "typed_drop"


class Markdown(str):
    """A text that is shown by its length where a program shows it."""

    __slots__ = ()

    def __str__(self):
        return f"Markdown of {len(self)} characters"

    __repr__ = __str__


class Document(OrderedDict):
    """A JSON object."""


class Ambiguous(WriteRefused):
    """The old text fits no entry, or several."""


class Typed:
    name = Markdown("typed")
    fault = ""

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.path = Path(config["home"], "typed.db")
        if not self.path.parent.is_dir():
            raise Misconfigured("the home is no directory")
        self.user = ascii(config.get("user_id"))
        self.room = config["limits"].get("recall_chars")
        contexts = config["protocol"]["contexts"]
        self.is_open = config.get("agent_context", "primary") in contexts

    def capabilities(self):
        return Document(
            stores=tuple(Route),
            isolates=frozenset(Boundary),
            mirrors=Document({target: tuple(Action) for target in ("memory", "user")}),
            tool_names=set(Tool),
            extensions=("tools", "items", "status"),
        )

    def _do(self, work):
        try:
            with closing(sqlite3.connect(self.path, timeout=3, isolation_level=None)) as db:
                db.execute(
                    "CREATE TABLE IF NOT EXISTS"
                    " entries(id INTEGER PRIMARY KEY AUTOINCREMENT, user, kind, text)"
                )
                db.execute("BEGIN IMMEDIATE")
                done = work(db)
                db.execute("COMMIT")
                return done
        except sqlite3.Error as error:
            raise Unavailable(f"typed.db: {error}") from error

    def _mine(self, db):
        rows = db.execute("SELECT id, kind, text FROM entries WHERE user = ?", (self.user,))
        return [(str(row), kind, json.loads(text)) for row, kind, text in rows]

    def _add(self, db, kind, text):
        row = self.user, kind.value if isinstance(kind, StrEnum) else kind, json.dumps(text)
        added = db.execute("INSERT INTO entries(user, kind, text) VALUES (?, ?, ?)", row)
        return str(added.lastrowid)

    def _drop(self, db, ids):
        mine = [key for key, _, _ in self._mine(db) if key in ids]
        db.executemany("DELETE FROM entries WHERE id = ?", [(key,) for key in mine])
        return len(mine)

    def on_turn_complete(self, user_message, assistant_response):
        if self.is_open:
            self._do(lambda db: self._add(db, Route.TURNS, BLOCK.sub("", user_message)))

    def on_memory_write(self, action, target, content, old_text=None):
        if action not in tuple(Action):
            raise Rejected(f"the actions are {[*Action]}")

        def work(db):
            if action != Action.ADD:
                self._drop(db, self._meant(db, target, old_text))
            if action != Action.REMOVE:
                self._add(db, target, content)

        self._do(work)

    def _meant(self, db, target, old):
        held = [e for e in self._mine(db) if e[1] == target and old and old in e[2]]
        held = [entry for entry in held if entry[2] == old] or held
        if len({text for *_, text in held}) != 1:
            raise Ambiguous(Ambiguous.__doc__)
        return {key for key, *_ in held}

    def on_compress(self, messages, compression_count):
        """The turns are written already."""

    def _best(self, query):
        try:
            entries, self.fault = self._do(self._mine), ""
        except Unavailable as error:
            entries, self.fault = [], str(error)
        asked = set(re.findall(r"\w+", query.casefold()))
        hits = []
        for key, kind, text in entries:
            shared = "".join(asked.intersection(re.findall(r"\w+", text.casefold())))
            if len(shared) > 2:
                hits.append((len(shared), key, kind, text))
        return sorted(hits, reverse=True)[:12]

    def enrich_turn(self, user_message, messages):
        shown = [text for *_, text in self._best(user_message)]
        while len(shown) > 1 and self.room and len("\n".join(shown)) > self.room:
            shown.pop()
        return Markdown("\n".join(shown)[: self.room])

    def recall_items(self, request):
        room, items = request.get("budget_chars", float("inf")), []
        for score, key, kind, text in self._best(request["query"]):
            if len(text) <= room:
                room -= len(text)
                items.append(Document(id=key, text=Markdown(text), score=score, source=kind))
        return Document(items=items, status="unavailable" if self.fault else "ok")

    def recall_status(self):
        return Document(state="down" if self.fault else "ok")

    def unavailable_reason(self):
        return Markdown(self.fault)

    def get_tool_schemas(self):
        def schema(tool, about, argument):
            takes = Document(type="object", properties={argument: {"type": "string"}})
            return Document(
                name=tool, description=about, parameters=takes | {"required": [argument]}
            )

        return [
            schema(Tool.KEEP, "Keeps a note; answers its id.", "note"),
            schema(Tool.DROP, "Drops the note with that id.", "id"),
        ]

    def handle_tool_call(self, tool_name, args, **kwargs):
        match tool_name, args:
            case Tool.KEEP, {"note": str(note)}:
                key = self._do(lambda db: self._add(db, Route.TOOLS, note))
                return Markdown(json.dumps({"success": True, "id": key}))
            case Tool.DROP, {"id": str(key)}:
                gone = self._do(lambda db: self._drop(db, {key}))
                return Markdown(json.dumps({"success": bool(gone), "dropped": gone}))
        return json.dumps({"success": False, "error": "there is no such tool, or no text"})

    def shutdown(self):
        """Every hook wrote before it returned."""
