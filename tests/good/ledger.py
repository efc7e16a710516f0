"""Small good providers in SQLite that store turns and writes, one row each, searched by words."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from memproto import fence
from memproto.errors import Misconfigured, Unavailable, WriteRefused
from tests.good.journal import within, words
from tests.good.tenants import digest


class Ledger:
    """Keeps `ledger.db` below the home, and no connection: each use opens one, and closes it."""

    name = "ledger"
    reading_s, writing_s = 1.0, 10.0
    reads_beside_a_lock = True
    table = "CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, kind TEXT, text TEXT)"

    def __init__(self) -> None:
        self._path: Path | None = None
        self._recall_chars: int | None = None
        self._is_kept = True

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        home = Path(config["home"])
        home.mkdir(parents=True, exist_ok=True)
        self._path = home / "ledger.db"
        self._recall_chars = config.get("limits", {}).get("recall_chars")
        kept = config.get("protocol", {}).get("contexts", ["primary"])
        self._is_kept = config.get("agent_context", "primary") in kept
        try:
            self._create()
        except sqlite3.OperationalError as error:
            raise Unavailable(f"{self._path} cannot be opened: {error}") from error
        except sqlite3.DatabaseError as error:
            raise Misconfigured(f"{self._path} is damaged; bring a copy back: {error}") from error

    def _create(self) -> None:
        with self._opened(self.writing_s) as database:
            if self.reads_beside_a_lock:
                with contextlib.suppress(sqlite3.OperationalError):
                    # For this SQLite waits for nobody: the process beside it changes it just now.
                    database.execute("PRAGMA journal_mode = WAL")
            database.execute(self.table)

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "isolates": ["profile"],
            "mirrors": {target: ["add", "replace", "remove"] for target in ("memory", "user")},
            "spec_version": "1.0",
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        wanted = words(user_message)
        ranked = [(len(wanted & words(text)), text) for text in self._texts()]
        best = max((score for score, _ in ranked), default=0)
        found = [text for score, text in ranked if score and score == best]
        return "\n".join(within(found, self._recall_chars)) or None

    def _texts(self) -> list[str]:
        """Every stored text; none where the database cannot be read just now."""
        with contextlib.suppress(sqlite3.Error), self._opened(self.reading_s) as database:
            rows = database.execute("SELECT text FROM entries ORDER BY number").fetchall()
            return [json.loads(text) for (text,) in rows]
        return []

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with self._changing() as database:
            if action in ("replace", "remove"):
                self._remove(database, target, old_text)
            if action in ("add", "replace"):
                self._add(database, target, content or "")

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said = fence.strip_memory_context(user_message)
        with self._changing() as database:
            self._add(database, "turn", f"{said}\n{assistant_response}")

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn is stored already."""

    def shutdown(self) -> None:
        """Every write is on disk already."""

    @contextlib.contextmanager
    def _opened(self, waits_s: float) -> Iterator[sqlite3.Connection]:
        assert self._path is not None
        found = sqlite3.connect(self._path, timeout=waits_s, isolation_level=None)
        with contextlib.closing(found):
            yield found

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; what SQLite cannot do now is reported as such."""
        try:
            with self._opened(self.writing_s) as database:
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT" if self._is_kept else "ROLLBACK")
        except sqlite3.Error as error:
            raise Unavailable(f"{self._path}: {error}") from error

    @staticmethod
    def _add(database: sqlite3.Connection, kind: str, text: str) -> None:
        # As JSON: SQLite takes no half surrogates.
        row = (kind, json.dumps(text))
        database.execute("INSERT INTO entries (kind, text) VALUES (?, ?)", row)

    @staticmethod
    def _remove(database: sqlite3.Connection, kind: str, old_text: str | None) -> None:
        rows = database.execute("SELECT number, text FROM entries WHERE kind = ?", (kind,))
        held = [(number, json.loads(text)) for number, text in rows.fetchall()]
        fitting = [(number, text) for number, text in held if old_text and old_text in text]
        meant = [row for row in fitting if row[1] == old_text] or fitting
        if len({text for _, text in meant}) > 1:
            raise WriteRefused(f"old_text fits {len(meant)} entries")
        database.executemany("DELETE FROM entries WHERE number = ?", [row[:1] for row in meant])


class Listing(Ledger):
    """A ledger with items and status, which say so if it could not look."""

    name = "listing"
    reads_beside_a_lock = False

    def __init__(self) -> None:
        super().__init__()
        self._fault = ""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["items", "status"]}

    def _rows(self) -> list[tuple[int, str]]:
        """Every entry with its number; none if the database cannot be read, which is kept."""
        self._fault = "ledger.db cannot be read"
        with contextlib.suppress(sqlite3.Error), self._opened(self.reading_s) as database:
            rows = database.execute("SELECT number, text FROM entries ORDER BY number").fetchall()
            self._fault = ""
            return [(number, json.loads(text)) for number, text in rows]
        return []

    def _texts(self) -> list[str]:
        return [text for _, text in self._rows()]

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = words(request["query"])
        ranked = [(len(wanted & words(text)), number, text) for number, text in self._rows()]
        room, items = request.get("budget_chars", float("inf")), list[dict[str, Any]]()
        for score, number, text in sorted(ranked, reverse=True):
            if score and len(text) <= room:
                room -= len(text)
                items.append({"id": str(number), "text": text, "score": score})
        return {"items": items, "status": "unavailable" if self._fault else "ok"}

    def recall_status(self) -> dict[str, Any]:
        return {"state": "down", "message": self._fault} if self._fault else {"state": "ok"}

    def unavailable_reason(self) -> str:
        return self._fault


class Keeping(Ledger):
    """
    A ledger of each user, in `USER/ledger.db`.

    It shows what it read before while it cannot read, from the memory of the process.
    """

    name = "keeping"
    reads_beside_a_lock = False

    _latest: ClassVar[dict[Path, list[str]]] = {}

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home = Path(config["home"])
        super().initialize(
            session_key, {**config, "home": str(self._home / digest(config.get("user_id")))}
        )

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user"]}

    def _texts(self) -> list[str]:
        try:
            with self._opened(self.reading_s) as database:
                rows = database.execute("SELECT text FROM entries ORDER BY number").fetchall()
        except sqlite3.Error:
            return self._latest.get(self._owner(), [])
        self._latest[self._owner()] = texts = [json.loads(text) for (text,) in rows]
        return texts

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with super()._changing() as database:
            yield database
        self._latest.pop(self._owner(), None)

    def _owner(self) -> Path:
        assert self._path is not None
        return self._path
