"""A good provider without a class: a namespace of functions that share the state of a session."""

import json
import re
import sqlite3
from contextlib import closing
from types import SimpleNamespace

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

ACTIONS = ["add", "replace", "remove"]
BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


def notebook():
    """Gives a new one."""
    session = SimpleNamespace()

    def initialize(session_key, config):
        session.path = config["home"] + "/notes.sqlite"
        session.user = ascii(config.get("user_id"))
        session.room = config["limits"].get("recall_chars")
        contexts = config["protocol"]["contexts"]
        session.is_open = config.get("agent_context", "primary") in contexts
        try:
            _opened(session).close()
        except sqlite3.OperationalError as error:
            if "unable to open" in str(error):
                raise Misconfigured("no database can be made in this home") from error

    def record(user_message, assistant_response):
        if session.is_open:
            _change(session, lambda db: _add(session, db, "turn", BLOCK.sub("", user_message)))

    def mirror(action, target, content, old_text=None):
        if action not in ACTIONS:
            raise Rejected(f"the actions are {ACTIONS}")

        def change(db):
            if action != "add":
                _drop(session, db, target, old_text)
            if action != "remove":
                _add(session, db, target, content)

        _change(session, change)

    return SimpleNamespace(
        name="closures",
        is_available=lambda: True,
        initialize=initialize,
        capabilities=lambda: {
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user"],
            "mirrors": {"memory": ACTIONS, "user": ACTIONS},
        },
        enrich_turn=lambda user_message, messages: _recalled(session, user_message),
        on_turn_complete=record,
        on_memory_write=mirror,
        on_compress=lambda messages, compression_count: None,
        shutdown=lambda: None,
    )


def _opened(session):
    db = sqlite3.connect(session.path, timeout=3, isolation_level=None)
    try:
        db.execute("CREATE TABLE IF NOT EXISTS notes(user, kind, text)")
    except BaseException:
        db.close()
        raise
    return db


def _change(session, change):
    try:
        with closing(_opened(session)) as db:
            db.execute("BEGIN IMMEDIATE")
            change(db)
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise Unavailable(f"the notes cannot be written: {error}") from error


def _add(session, db, kind, text):
    db.execute("INSERT INTO notes VALUES (?, ?, ?)", (session.user, kind, json.dumps(text)))


def _drop(session, db, target, old):
    mine = "SELECT rowid, text FROM notes WHERE user = ? AND kind = ?"
    rows = [(row, json.loads(text)) for row, text in db.execute(mine, (session.user, target))]
    held = [row for row in rows if old and old in row[1]]
    held = [row for row in held if row[1] == old] or held
    if len({text for _, text in held}) != 1:
        raise WriteRefused("old_text fits no note, or several")
    db.executemany("DELETE FROM notes WHERE rowid = ?", [(row,) for row, _ in held])


def _recalled(session, query):
    try:
        with closing(_opened(session)) as db:
            rows = db.execute("SELECT text FROM notes WHERE user = ?", (session.user,)).fetchall()
    except sqlite3.Error:
        return None
    asked = set(re.findall(r"\w+", query.casefold()))
    texts = [json.loads(text) for (text,) in rows]
    shared = [asked.intersection(re.findall(r"\w+", text.casefold())) for text in texts]
    hits = [(len("".join(words)), text) for words, text in zip(shared, texts, strict=True)]
    shown = [text for score, text in sorted(hits, reverse=True)[:10] if score > 2]
    while len(shown) > 1 and session.room and len("\n".join(shown)) > session.room:
        shown.pop()
    return "\n".join(shown)[: session.room] or None
