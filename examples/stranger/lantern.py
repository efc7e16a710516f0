"""A native provider, written from the text of the specification alone."""

import contextlib
import re
import sqlite3
from pathlib import Path

from memproto.errors import Rejected, Unavailable, WriteRefused

COMMON = frozenset(
    re.findall(
        r"\w+",
        "what which where when does this that with have from your they them there their about "
        "will would could should been were into than then name named keep kept is it of ",
    )
)
BLOCK = re.compile(r"<memory-context>\n?\[System note:.*?</memory-context>", re.DOTALL)


def words(text):
    """Words by which two texts are compared."""
    return {w for w in re.findall(r"\w{3,}", text.casefold()) if w not in COMMON}


class Lantern:
    name = "lantern"

    def __init__(self):
        self._home = None
        self._user = ""
        self._limit = None
        self._keeps = True

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        home = Path(config["home"])
        self._user = config.get("user_id")
        self._limit = config.get("limits", {}).get("recall_chars")
        contexts = config.get("protocol", {}).get("contexts", ["primary"])
        self._keeps = config.get("agent_context", "primary") in contexts
        self._home = home
        with contextlib.suppress(sqlite3.OperationalError), self._open(2.0):
            pass

    def shutdown(self):
        self._home = None

    def capabilities(self):
        actions = ["add", "replace", "remove"]
        return {
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user"],
            "mirrors": {"memory": actions, "user": actions},
            "spec_version": "1.0",
        }

    @contextlib.contextmanager
    def _open(self, wait_s):
        db = sqlite3.connect(self._home / "lantern.db", timeout=wait_s, isolation_level=None)
        try:
            db.execute(
                "create table if not exists texts"
                " (id integer primary key, user blob, kind text, said blob)"
            )
            yield db
        finally:
            db.close()

    @contextlib.contextmanager
    def _writing(self):
        try:
            with self._open(10.0) as db:
                db.execute("begin immediate")
                try:
                    yield db
                except BaseException:
                    db.execute("rollback")
                    raise
                db.execute("commit")
        except sqlite3.Error as error:
            raise Unavailable(f"the store does not answer: {type(error).__name__}") from None

    def _key(self):
        return b"" if self._user is None else b"u" + self._user.encode("utf-8", "surrogatepass")

    def enrich_turn(self, user_message, messages):
        asked = words(user_message)
        try:
            with self._open(2.0) as db:
                rows = db.execute(
                    "select said from texts where user = ? order by id desc", (self._key(),)
                )
                texts = [row[0].decode("utf-8", "surrogatepass") for row in rows]
        except (sqlite3.Error, OSError):
            return None
        ranked = [(len(asked & words(t)), t) for t in texts]
        best = max((n for n, _ in ranked), default=0)
        found, room = [], self._limit if self._limit is not None else 10**9
        for _, text in [pair for pair in ranked if best and pair[0] == best]:
            shown = text[:room]
            if shown:
                found.append(shown)
            room -= len(shown) + 1
            if room <= 0:
                break
        return "\n".join(found) or None

    def _add(self, db, kind, text):
        db.execute(
            "insert into texts (user, kind, said) values (?, ?, ?)",
            (self._key(), kind, text.encode("utf-8", "surrogatepass")),
        )

    def on_turn_complete(self, user_message, assistant_response):
        if not self._keeps:
            return
        with self._writing() as db:
            self._add(db, "turn", BLOCK.sub("", user_message))

    def on_memory_write(self, action, target, content, old_text=None):
        if action not in ("add", "replace", "remove") or target not in ("memory", "user"):
            raise Rejected(f"no action {action!r} on {target!r}")
        if not self._keeps:
            return
        with self._writing() as db:
            if action != "add":
                rows = db.execute(
                    "select id, said from texts where user = ? and kind = ?", (self._key(), target)
                ).fetchall()
                fits = [
                    (i, s)
                    for i, s in rows
                    if old_text and old_text in s.decode("utf-8", "surrogatepass")
                ]
                if len({s for _, s in fits}) != 1:
                    raise WriteRefused("old_text fits no entry, or several")
                db.executemany("delete from texts where id = ?", [(i,) for i, _ in fits])
            if action != "remove":
                self._add(db, target, content or "")

    def on_compress(self, messages, compression_count):
        pass
