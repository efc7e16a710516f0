"""
The sqlite provider beside bare calls of SQLite's FTS5, interleaved in one run.

    python benchmarks/sqlite.py [MESSAGES ...] [--json FILE]     for instance 10000 100000 1000000

For each size of the store it prints how long a recall takes (p50, p99) and what share of the bare
query that is, the same for storing a turn, how many messages a second are stored when they come in
bulk, and how large the file is. The floor of a recall is the query of the same words, ranked, with
the text of each hit; that of storing a turn is a transaction with two rows in a table and in an
index. Times are processor time: nothing here waits for a disk, and other work on the machine is not
to count. The JSON is for `scripts/sqlite_figures.py`.
"""

import argparse
import contextlib
import itertools
import json
import os
import platform
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from memproto.reference_providers.sqlite import SqliteMemoryProvider, index, words
from memproto.reference_providers.sqlite.store import Text, now

SIZES = (10_000, 100_000)
QUESTIONS = 200
TURNS = 300
BULK = 2_000

#: A p99 of fewer is a guess; a question among so many takes seconds.
FEWER, LARGE = 100, 1_000_000


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


def fill(provider: SqliteMemoryProvider, bare: Bare, speech: Speech, count: int) -> list[float]:
    """Store that many messages in both; how many a second each took, at the median of the parts."""
    store, _ = provider._opened()  # noqa: SLF001 - to store by single turns takes hours

    def kept(texts: list[str]) -> None:
        store.keep("bench", [Text("user", "turns", text, now()) for text in texts])

    parts = [min(BULK, count - start) for start in range(0, count, BULK)]
    spoken = ([speech.text() for _ in range(part)] for part in parts)
    steps = ((lambda t=texts: kept(t), lambda t=texts: bare.store(*t)) for texts in spoken)
    # The last part may be a short one.
    rates = [
        [part / ms * 1000 for part, ms in zip(parts, way, strict=True)] for way in timed(steps)
    ]
    return [statistics.median(way) for way in rates]


def timed(steps: Iterable[tuple[Callable[[], object], Callable[[], object]]]) -> list[list[float]]:
    """Processor time of each of two ways, in milliseconds; they take turns to go first."""
    took: list[list[float]] = [[], []]
    for number, pair in enumerate(steps):
        for way in (0, 1) if number % 2 else (1, 0):
            began = time.process_time()
            pair[way]()
            took[way].append((time.process_time() - began) * 1000)
    return took


def measured(size: int, folder: Path) -> dict[str, Any]:
    """The measurements of one size; each pair is the provider and the floor."""
    speech = Speech(size)
    with both(folder) as (provider, bare):
        bulk = fill(provider, bare, speech, size)
        megabytes = [_megabytes(folder / "home"), _megabytes(folder, "bare.db*")]
        asked = [speech.question() for _ in range(QUESTIONS if size < LARGE else FEWER)]
        recalls = timed(_recalls(provider, bare, question) for question in asked)
        said = [(speech.text(), speech.text()) for _ in range(TURNS)]
        turns = timed(_stores(provider, bare, *turn) for turn in said)
    found: dict[str, Any] = {"messages": size, "questions": len(asked), "turns": TURNS}
    for what, took in (("recall", recalls), ("turn", turns)):
        tails = [statistics.quantiles(times, n=100) for times in took]
        found |= {f"{what}_p{n}_ms": [tail[n - 1] for tail in tails] for n in (50, 99)}
    return {**found, "bulk_per_s": bulk, "megabytes": megabytes, "load": os.getloadavg()[0]}


def show(found: dict[str, Any]) -> None:
    """Some lines for one size: figures of the provider, and the ratio to the floor."""
    print(f"{found['messages']} messages, at a load of {found['load']:.1f}:")
    for name, pair in found.items():
        if isinstance(pair, list):
            print(f"  {name}: {pair[0]:.2f}, {pair[0] / pair[1]:.2f} times the floor", flush=True)


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", metavar="MESSAGES", type=int, nargs="*", default=SIZES)
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    given = parser.parse_args()
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    figures: dict[str, Any] = {"day": now()[:10], **versions, "sizes": []}
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as name:
            figures["sizes"].append(measured(size, Path(name)))
        show(figures["sizes"][-1])
        if given.json is not None:
            given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def _megabytes(folder: Path, names: str = "*") -> float:
    return sum(path.stat().st_size for path in folder.glob(names)) / 1e6


def _recalls(provider: SqliteMemoryProvider, bare: Bare, question: str):  # noqa: ANN202
    return (lambda: provider.enrich_turn(question, []), lambda: bare.recall(question))


def _stores(provider: SqliteMemoryProvider, bare: Bare, said: str, answer: str):  # noqa: ANN202
    return (lambda: provider.on_turn_complete(said, answer), lambda: bare.store(said, answer))


if __name__ == "__main__":
    main()
