"""
A memory in one SQLite file that serves every extension; docs/writing-a-provider.md walks through.

Each call opens the file and closes it again, and what is accepted is written before the hook
returns: so any thread and any process may call, and nothing is left for `shutdown` to do. Every
question reads all entries of its user; a store of very many would keep an index of their words.
"""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from memproto import errors

TABLE = "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY AUTOINCREMENT, owner, entry)"
MINE = "SELECT id, entry FROM entries WHERE owner = ? ORDER BY id DESC"
EXTENSIONS = """tools prewarm turns sessions delegation config backup prompt status compress_notes
    checkpoint record items privacy"""
TOOLS = {  # name: its one argument, and what the model is told
    "complete_note_add": ("text", "Keeps a note for later conversations. Answers its id."),
    "complete_note_forget": ("id", "Forgets the note with that id."),
}
FIELDS = [{"key": "heading", "description": "Line above a recall", "default": "Known already:"}]


def _own_words(message):  # a host may have left its context block at the end
    ends = message.rstrip().endswith("</memory-context>")
    return message.partition("<memory-context>\n[System note:")[0] if ends else message


def _user_words(messages):
    told = (message.get("content") for message in messages if message.get("role") == "user")
    return [_own_words(text) for text in told if isinstance(text, str) and text.strip()]


def _ranked(entries, query):
    asked = set(re.findall(r"\w+", query.casefold()))
    for entry in entries:
        shared = asked.intersection(re.findall(r"\w+", entry["text"].casefold()))
        entry["score"] = len("".join(shared))  # a long word says more than a short one
    hits = [entry for entry in entries if entry["score"]]
    return sorted(hits, key=lambda entry: entry["score"], reverse=True)[:20]


def _fitting(items, room):
    for item in items:
        if len(item["text"]) <= room:
            room -= len(item["text"])
            yield item


def _heading(home):
    path = Path(home, "complete.json")
    return json.loads(path.read_text("utf-8")) if path.exists() else FIELDS[0]["default"]


def _taking(name):
    properties = {TOOLS[name][0]: {"type": "string"}}
    return {"parameters": {"type": "object", "properties": properties, "required": [*properties]}}


class Complete:
    name = "complete"
    fault = ""

    def is_available(self):
        return True

    def unavailable_reason(self):
        return self.fault

    def backup_paths(self):
        return []  # the home holds everything

    def get_config_schema(self):
        return FIELDS

    def save_config(self, values, home):
        part = Path(home, "complete.part")
        part.write_text(json.dumps(values.get("heading", _heading(home))), "utf-8")
        part.replace(part.with_suffix(".json"))

    def initialize(self, session_key, config):
        self.session, self.user = session_key, config.get("user_id")
        self.context = config.get("agent_context", "primary")
        self.contexts = config["protocol"]["contexts"]
        self.room = config["limits"].get("recall_chars", float("inf"))
        self.path = Path(config["home"], "complete.db")
        try:
            self.heading = _heading(config["home"])
            with self._opened() as db:
                db.execute(TABLE)
        except (OSError, ValueError, errors.Unavailable) as error:
            raise errors.Misconfigured(f"the home cannot be used: {error}") from error

    def shutdown(self): ...  # every hook wrote before it returned, and nothing is open

    def capabilities(self):
        return {
            "extensions": EXTENSIONS.split(),
            "tool_names": list(TOOLS),
            "stores": ["turns", "writes", "tools"],
            "recall_basis": "query",
            "isolates": ["profile", "user"],
            "mirrors": {name: ["add", "replace", "remove"] for name in ("memory", "user")},
        }

    @contextmanager
    def _opened(self, begin="BEGIN IMMEDIATE"):
        try:
            with closing(sqlite3.connect(self.path, timeout=4, isolation_level=None)) as db:
                db.execute("PRAGMA secure_delete = ON")
                db.execute(begin)
                yield db  # an exception in here closes the file, and nothing is committed
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise errors.Unavailable("complete.db cannot be used; look at the home") from error

    def _mine(self, db):  # the newest first; ascii() spells every id, and no two alike
        rows = db.execute(MINE, (ascii(self.user),))
        return [json.loads(entry) | {"id": str(number)} for number, entry in rows]

    def _add(self, db, source, text, **more):
        scope = {"user_id": self.user, "session_id": self.session}
        entry = {"text": text, "created_at": datetime.now(UTC).isoformat(), "source": source}
        row = ascii(self.user), json.dumps(entry | {"scope": scope} | more)
        return str(db.execute("INSERT INTO entries(owner, entry) VALUES (?, ?)", row).lastrowid)

    def _drop(self, db, entries):
        db.executemany("DELETE FROM entries WHERE id = :id", entries)
        return len(entries)

    def _recall(self, query):
        found, self.fault = [], ""
        try:
            with self._opened("BEGIN") as db:
                found = _ranked(self._mine(db), query)
        except errors.Unavailable as error:
            self.fault = str(error)
        return found

    def enrich_turn(self, user_message, messages):
        found = self._recall(user_message)
        shown = list(_fitting(found, self.room - len(self.heading) - 3 * len(found)))
        if found and not shown:
            return found[0]["text"][: self.room]
        return "\n- ".join([self.heading, *(item["text"] for item in shown)]) if shown else None

    def recall_items(self, request):
        room = request.get("budget_chars", float("inf"))
        found = list(_fitting(self._recall(request["query"]), room))
        for item in found:
            item.pop("turn_id", None), item.pop("author", None)  # for exports only
        return {"items": found, "status": "unavailable" if self.fault else "ok"}

    def queue_prefetch(self, query, *, session_id=""): ...  # recall is quick enough

    def system_prompt_block(self):
        return "Keep what is worth keeping beyond this conversation with complete_note_add."

    def recall_status(self):
        return {"state": "down", "message": self.fault} if self.fault else {"state": "ok"}

    def compress_notes(self, messages):
        return "\n".join("- " + text[:200] for text in _user_words(messages)[-5:])

    def on_turn_complete(self, user_message, assistant_response):
        self._keep(user_message, assistant_response, self.context, self.session)

    def record(self, turn):
        more = {key: turn[key] for key in ("turn_id", "author") if key in turn}
        said = turn["user_message"], turn["assistant_response"], turn.get("context", "primary")
        self._keep(*said, turn["session_id"], created_at=turn["started_at"], **more)

    def _keep(self, message, response, context, session, **more):
        is_bot = more.get("author", {}).get("is_bot")
        if is_bot or not {context, self.context} <= set(self.contexts):
            return  # the words of a bot or a job are not the user's
        own, scope = _own_words(message), {"user_id": self.user, "session_id": session}
        with self._opened() as db:
            mine = self._mine(db)
            if more.get("turn_id", "") not in {entry.get("turn_id") for entry in mine}:
                same = {"source": "compression", "text": own, "scope": scope}
                self._drop(db, [entry for entry in mine if entry.items() >= same.items()])
                self._add(db, "turns", f"{own}\n{response}", scope=scope, **more)

    def on_compress(self, messages, compression_count):
        with self._opened() as db:
            known = [one["text"] + "\n" for one in self._within(db, {"session_id": self.session})]
            for text in dict.fromkeys(_user_words(messages)):
                if not any(stored.startswith(text + "\n") for stored in known):
                    self._add(db, "compression", text)

    def on_memory_write(self, action, target, content, old_text=None):
        if action not in {"add", "replace", "remove"}:
            raise errors.Rejected("the actions are add, replace and remove")
        with self._opened() as db:
            if action != "add":
                self._drop(db, self._named(db, target, old_text))
            if action != "remove":
                self._add(db, "writes", content, x_target=target)

    def _named(self, db, target, old):
        mine = [one for one in self._mine(db) if old and one.get("x_target") == target]
        held = [one for one in mine if old in one["text"]]
        held = [one for one in held if one["text"] == old] or held
        if len({entry["text"] for entry in held}) != 1:
            raise errors.WriteRefused("old_text fits no entry, or several")
        return held

    def on_delegation(self, task, result, *, child_session_id="", **kwargs):
        with self._opened() as db:
            self._add(db, "delegation", f"{task}\n{result}")

    def on_turn_start(self, turn_number, message, **kwargs): ...  # stored when it is complete

    def on_session_end(self, messages): ...  # the turns are stored already

    def on_session_switch(self, new_session_id, **kwargs):
        self.session = new_session_id

    def get_tool_schemas(self):
        return [{"name": name, "description": TOOLS[name][1]} | _taking(name) for name in TOOLS]

    def handle_tool_call(self, tool_name, args, **kwargs):
        argument = TOOLS.get(tool_name, [None])[0]
        if not isinstance(value := args.get(argument), str):
            return json.dumps({"error": f"{tool_name}: no {argument or 'such tool'}"})
        with self._opened() as db:
            if tool_name == "complete_note_add":
                return json.dumps({"success": True, "id": self._add(db, "tools", value)})
            found = [entry for entry in self._mine(db) if entry["id"] == value]
            return json.dumps({"success": bool(found), "forgotten": self._drop(db, found)})

    def _within(self, db, scope):
        if set(scope) - {"user_id", "session_id"}:
            raise errors.Rejected("this scope is not known here")
        return [e for e in self._mine(db) if all(e["scope"][key] == scope[key] for key in scope)]

    def export(self, scope):
        with self._opened("BEGIN") as db:
            return {"items": self._within(db, scope)}

    def forget(self, scope):
        with self._opened() as db:
            return {"removed": self._drop(db, self._within(db, scope)), "pending": 0}
