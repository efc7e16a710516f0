"""The files in which a store keeps what was stored, and what is found in them."""

from pathlib import Path

from memproto.testing import losses, routes
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.facts import Fact
from memproto.testing.run import Run

#: So many texts are in a store before it is damaged, so that a part of them is in each part of it.
_STORED = 12

#: Of a larger file only so many bytes are searched.
_SEARCHED_BYTES = 50_000_000

_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")

#: What SQLite keeps beside a database.
BESIDE = ("-wal", "-shm", "-journal")


def route(run: Run) -> str:
    """The route by which hosts of other processes store."""
    return run.needs_route("turns", "writes", "tools")


def storing(run: Run) -> str:
    """The operation that stores by it."""
    return routes.OPERATIONS[route(run)]


def stored(run: Run) -> list[Fact]:
    """
    Store facts in a session; those that are found in a file below the home.

    Raises:
        NotApplicable: None of them is found in a file below the home.

    """
    facts, by = run.facts.several(_STORED), route(run)
    with run.session() as subject:
        kept = [f for f in facts if routes.accepts(subject, by, f.text, routes.reply_to(f))]
    run.settle()
    found = left(run, kept)
    if not found:
        raise NotApplicable("what it stores is found in no file below its home")
    return found


def files(run: Run, facts: list[Fact]) -> list[Path]:
    """
    The files below the home in which some of the facts are found, the largest first.

    What SQLite keeps beside a database belongs to it: it may be thrown away when it is damaged.
    """
    holding = [path for path in all_files(run) if found_in(path, facts)]
    found = {_database(path) if path.name.endswith(BESIDE) else path for path in holding}
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


def _database(beside: Path) -> Path:
    found = beside.with_name(beside.name.rpartition("-")[0])
    return found if found.is_file() else beside


def all_files(run: Run) -> list[Path]:
    """Every file below the home that is no link."""
    return [path for path in run.home.rglob("*") if path.is_file() and not path.is_symlink()]


def found_in(path: Path, facts: list[Fact]) -> list[Fact]:
    """Those of the facts whose name stands in a file."""
    data = _searched(path)
    return [fact for fact in facts if _stands_in(data, fact.name)]


def holds(path: Path, facts: list[Fact]) -> bool:
    """Whether a word of a name of the facts stands in a file: a part of a text is enough."""
    data = _searched(path)
    return any(_stands_in(data, word) for fact in facts for word in fact.name.split())


def _searched(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SEARCHED_BYTES).lower()
    except OSError:
        return b""


def _stands_in(data: bytes, word: str) -> bool:
    return any(word.lower().encode(encoding) in data for encoding in _ENCODINGS)


def left(run: Run, facts: list[Fact]) -> list[Fact]:
    """Those of the facts that are found in any file below the home."""
    found = {fact.name for path in all_files(run) for fact in found_in(path, facts)}
    return [fact for fact in facts if fact.name in found]


#: A store in which a write takes the place of the one before loses all but the last.
_SEVERAL = 3


def needs_return(run: Run, count: int = 0) -> None:
    """
    Go on only where as many texts come back while the store is well, several at least.

    Raises:
        Untestable: It does not: a loss proves nothing.

    """
    facts = run.facts.several(max(_SEVERAL, count))
    with run.session() as subject:
        for fact in facts:
            run.plant(subject, fact, route(run))
    if losses.lost(run, facts):
        reason = "what is stored while the store is well does not come back either"
        raise Untestable(f"{reason}; see MP-TURN-001 and MP-WRITE-001")
