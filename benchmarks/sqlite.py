"""
The sqlite provider beside bare calls of SQLite's FTS5, interleaved in one run.

    python benchmarks/sqlite.py [MESSAGES ...]        for instance 10000 100000 1000000

For each size of the store it prints how long a recall takes (p50, p99) and what share of the bare
query that is, the same for storing a turn, and how large the file is. The floor of a recall is the
query of the same words, ranked, with the text of each hit; that of storing a turn is a transaction
with two rows in a table and in an index.
"""

import contextlib
import itertools
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memproto.reference_providers.sqlite import SqliteMemoryProvider, index, words
from memproto.reference_providers.sqlite.store import Text, now

SIZES = (10_000, 100_000)
QUESTIONS = 200
TURNS = 300


class Speech:
    """Texts of made-up words, of which some are common and most are rare, as in a language."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "aeioulnrstdmkbvp"
        self._words = sorted({"".join(self._random.choices(letters, k=6)) for _ in range(40_000)})
        shares = (1 / place for place in range(1, len(self._words) + 1))
        self._shares = list(itertools.accumulate(shares))

    def text(self, count: int = 25) -> str:
        """One text."""
        return " ".join(self._random.choices(self._words, cum_weights=self._shares, k=count))

    def question(self) -> str:
        """A few words, of which one or two are rare."""
        return " ".join([*self._random.choices(self._words, k=3), self.text(2)])


class Bare:
    """Two tables and nothing else."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, content TEXT)")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(content, content='')")

    def store(self, *texts: str) -> None:
        """Store texts in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        for text in texts:
            row = self._db.execute("INSERT INTO messages (content) VALUES (?)", (text,)).lastrowid
            self._db.execute("INSERT INTO words (rowid, content) VALUES (?, ?)", (row, text))
        self._db.execute("COMMIT")

    def recall(self, question: str) -> list[str]:
        """The texts that fit best."""
        node = words.question(question)
        query = """SELECT content FROM (SELECT rowid, rank FROM words WHERE words MATCH ?
            ORDER BY rank LIMIT 12) found JOIN messages ON id = found.rowid"""
        found = self._db.execute(query, (index.expression(node),)) if node else []
        return [text for (text,) in found]

    def close(self) -> None:
        """Close the file."""
        self._db.close()


@contextlib.contextmanager
def both(folder: Path) -> Iterator[tuple[SqliteMemoryProvider, Bare]]:
    """The provider and the floor, on files of their own."""
    provider, bare = SqliteMemoryProvider(), Bare(folder / "bare.db")
    provider.initialize("bench", {"home": str(folder / "home")})
    try:
        yield provider, bare
    finally:
        provider.shutdown()
        bare.close()


def fill(provider: SqliteMemoryProvider, bare: Bare, speech: Speech, count: int) -> None:
    """Store that many messages in both."""
    for start in range(0, count, 2_000):
        texts = [speech.text() for _ in range(min(2_000, count - start))]
        bare.store(*texts)
        store, _ = provider._opened()  # noqa: SLF001 - to store by single turns takes hours
        store.keep("bench", [Text("user", "turns", text, now()) for text in texts])


def timed(steps: list[tuple[Callable[[], object], Callable[[], object]]]) -> list[list[float]]:
    """How long each of two ways took, in milliseconds; they take turns to go first."""
    took: list[list[float]] = [[], []]
    for number, pair in enumerate(steps):
        for way in (0, 1) if number % 2 else (1, 0):
            began = time.perf_counter()
            pair[way]()
            took[way].append((time.perf_counter() - began) * 1000)
    return took


def show(what: str, took: list[list[float]]) -> None:
    """One line: medians and tails, and the ratio to the floor."""
    ours, floor = (statistics.quantiles(times, n=100) for times in took)
    ratios = f"{ours[49] / floor[49]:.2f} and {ours[98] / floor[98]:.2f} times the floor"
    print(f"  {what}: p50 {ours[49]:.2f} ms, p99 {ours[98]:.2f} ms; {ratios}")


def main(sizes: list[int]) -> None:
    """Measure each size."""
    for size in sizes:
        speech = Speech(size)
        with tempfile.TemporaryDirectory() as name, both(Path(name)) as (provider, bare):
            fill(provider, bare, speech, size)
            ours, floor = _megabytes(Path(name, "home")), _megabytes(Path(name), "bare.db*")
            print(f"{size} messages: {ours:.1f} MB, {ours / floor:.2f} times the floor")
            asked = [speech.question() for _ in range(QUESTIONS)]
            show("recall", timed([_recalls(provider, bare, question) for question in asked]))
            said = [(speech.text(), speech.text()) for _ in range(TURNS)]
            show("storing a turn", timed([_stores(provider, bare, *turn) for turn in said]))


def _megabytes(folder: Path, names: str = "*") -> float:
    return sum(path.stat().st_size for path in folder.glob(names)) / 1e6


def _recalls(provider: SqliteMemoryProvider, bare: Bare, question: str):  # noqa: ANN202
    return (lambda: provider.enrich_turn(question, []), lambda: bare.recall(question))


def _stores(provider: SqliteMemoryProvider, bare: Bare, said: str, answer: str):  # noqa: ANN202
    return (lambda: provider.on_turn_complete(said, answer), lambda: bare.store(said, answer))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(SIZES))
