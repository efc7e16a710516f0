"""The files in which a store keeps what was stored, and what is found in them."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from memproto import spec
from memproto.testing.clauses import Lost, NotApplicable, Untestable
from memproto.testing.evidence import Raised
from memproto.testing.facts import Fact
from memproto.testing.needs import Setting, depends_on
from memproto.testing.processes import contents, sandbox
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised
from memproto.testing.scenarios.starts import needs_starts
from memproto.testing.wire import describe

#: Number of texts in a store before it is damaged, so that a part of them is in each part of it.
_STORED = 12

#: Of a larger file only so many bytes are searched.
_SEARCHED_BYTES = 50_000_000

#: Of a directory of the operator's so many files are searched.
_MOST_FILES = 2_000

#: A home that opens again has opened so often.
_OPENED = 2

_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")

#: Endings of the files that SQLite keeps beside a database.
BESIDE = ("-wal", "-shm", "-journal")

_OWN_PLACE = tuple(
    Setting(name, that="with a place below the home or below ~") for name in ("config", "env")
)


def route(run: Run) -> str:
    """The route by which hosts of other processes store."""
    return run.needs_route("turns", "writes", "tools")


def storing(run: Run) -> str:
    """The operation that stores by it."""
    return routes.OPERATIONS[route(run)]


def stored(run: Run) -> list[Fact]:
    """
    Store facts in a session; those that are found in a file that belongs to this run.

    Raises:
        NotApplicable: None of them is found in a file.
        Untestable: They are found in a file of the operator's, which is left alone.

    """
    facts, by = run.facts.several(_STORED), route(run)
    with run.session() as subject:
        kept = [f for f in facts if routes.accepts(subject, by, f.text, routes.reply_to(f))]
    run.settle()
    found = left(run, kept)
    if not found:
        _needs_no_file_of_the_operator(run, kept)
        raise NotApplicable("the text that it stores is found in no file below its home")
    return found


def _needs_no_file_of_the_operator(run: Run, facts: list[Fact]) -> None:
    """
    Go on only where the facts are in no file outside of what the kit has made for this run.

    Raises:
        Untestable: They are: it may hold what others need, so that it is not locked or damaged.

    """
    for path in _of_the_operator(run):
        if found_in(path, facts):
            reason = f"its text is in {path}, a file that the kit does not lock or damage"
            raise Untestable(reason, _OWN_PLACE)


def _of_the_operator(run: Run) -> list[Path]:
    """Files at the paths outside of this run that the settings name, or the provider lists."""
    subject = run.provider()
    listed: Any = []
    with contextlib.suppress(HookRaised):
        listed = subject.backup_paths() if subject.has("backup") else []
    named = [*set_by_operator(run), *(listed if isinstance(listed, list | tuple) else ())]
    found: list[Path] = []
    for name in named:
        path = Path(name) if isinstance(name, str) and "\0" not in name else Path()
        if path.is_absolute() and not path.is_relative_to(run.root):
            below = path.rglob("*") if path.is_dir() else [path]
            found += itertools.islice(filter(_is_plain, below), _MOST_FILES)
    return found


def set_by_operator(run: Run) -> list[str]:
    """Values of the settings, and of variables that the kit itself does not set."""
    base = sandbox.environment(run.root, {})
    values: list[Any] = [v for name, v in os.environ.items() if base.get(name) != v]
    waiting: list[Any] = [run.context.config]
    while waiting:
        item = waiting.pop()
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        waiting += inner
        values.append(item)
    return [value for value in values if isinstance(value, str)]


@contextlib.contextmanager
def still_opens(run: Run, when: str, requirement: str = "") -> Iterator[None]:
    """
    In the body, a session on the store that opened before opens again.

    If it does not, the deed of the check has damaged the store. The rule under check is violated
    then, or `requirement`, and not the rule on `initialize`. An error by which a provider reports
    a refusal is passed on.

    Raises:
        Untestable: A home that no deed has met does not open again either.

    """
    try:
        yield
    except HookRaised as failure:
        if failure.operation != "open" or failure.is_report or failure.ends_process:
            raise
        needs_starts(run, at_least=_OPENED, here=False)
        evidence = Raised.by(
            failure.error,
            shown=describe(failure.error),
            wanted=f"the store opens {when}",
            hook=run.hook("open"),
            who=run.hook("open"),
        )
        run.violated(evidence, operation="open", requirement=requirement)


class Pristine:
    """
    A copy of the directories in which a store lies; as a context it is put back at the end.

    Attributes:
        places: The directories that it holds.

    """

    def __init__(self, run: Run, facts: list[Fact]) -> None:
        self.places = places(run, facts)
        self._copies = [run.place(f"pristine-{number}") for number in range(len(self.places))]
        for place, copy in zip(self.places, self._copies, strict=True):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(
                place, copy, symlinks=True, ignore=_special_files, copy_function=contents.copy
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def restore(self) -> None:
        """Put back what the directories held."""
        for place, copy in zip(self.places, self._copies, strict=True):
            # The directory itself stays: a process may stand in it.
            for item in place.iterdir():
                if item.is_dir() and not item.is_symlink():
                    shutil.rmtree(item)
                else:
                    item.unlink()
            shutil.copytree(copy, place, symlinks=True, dirs_exist_ok=True)


def _special_files(folder: str, names: list[str]) -> list[str]:
    """The names that cannot be copied: sockets and pipes."""
    found = {name: Path(folder, name) for name in names}
    return [name for name, path in found.items() if path.is_socket() or path.is_fifo()]


def places(run: Run, facts: list[Fact]) -> list[Path]:
    """The directories in which a store lies: the home, and others of this run that hold a fact."""
    found = [path for path in all_files(run) if not path.is_relative_to(run.home)]
    elsewhere = [_topmost(run, path) for path in found if found_in(path, facts)]
    return list(dict.fromkeys([run.home, *elsewhere]))


def _topmost(run: Run, path: Path) -> Path:
    """The directory right below one of this run's that holds a file; else that one itself."""
    base = next(place for place in _own(run) if path.is_relative_to(place))
    first = base / path.relative_to(base).parts[0]
    return first if first.is_dir() else base


def has_elsewhere(run: Run) -> bool:
    """True if a file of this run's lies outside of the home, so that a store may."""
    return any(not path.is_relative_to(run.home) for path in all_files(run))


def _own(run: Run) -> list[Path]:
    """The directories of this run: the home, and those that the variables name."""
    return [run.home, *sandbox.places(run.root).values()]


def files(run: Run, facts: list[Fact]) -> list[Path]:
    """
    The files below the home in which some of the facts are found, the largest first.

    Files that SQLite keeps beside a database belong to it: damaged ones may be thrown away.
    """
    holding = [path for path in all_files(run) if found_in(path, facts)]
    found = {_database(path) if path.name.endswith(BESIDE) else path for path in holding}
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


def _database(beside: Path) -> Path:
    found = beside.with_name(beside.name.rpartition("-")[0])
    return found if found.is_file() else beside


def all_files(run: Run) -> list[Path]:
    """Every file of this run that is no link, below the home and elsewhere."""
    return files_below(*_own(run))


def files_below(*places: Path) -> list[Path]:
    """Every file below the directories that is no link, once."""
    found = [path for place in places for path in place.rglob("*")]
    return [path for path in dict.fromkeys(found) if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def found_in(path: Path, facts: list[Fact]) -> list[Fact]:
    """Facts whose name stands in a file."""
    data = _searched(path)
    return [fact for fact in facts if _stands_in(data, fact.name)]


def holds(path: Path, facts: list[Fact]) -> bool:
    """True if a word of a name of the facts stands in a file: a part of a text is enough."""
    data = _searched(path)
    return any(_stands_in(data, word) for fact in facts for word in fact.name.split())


def _searched(path: Path) -> bytes:
    try:
        return contents.read(path, _SEARCHED_BYTES).lower()
    except OSError:
        return b""


def _stands_in(data: bytes, word: str) -> bool:
    return any(word.lower().encode(encoding) in data for encoding in _ENCODINGS)


def left(run: Run, facts: list[Fact]) -> list[Fact]:
    """Facts that are found in any file of this run."""
    found = {fact.name for path in all_files(run) for fact in found_in(path, facts)}
    return [fact for fact in facts if fact.name in found]


#: A store in which a write takes the place of the one before loses all but the last.
_SEVERAL = 3


def unharmed(run: Run) -> Path:
    """
    A home that no fault has met; the present one, if no session begins in another.

    Controls belong there. A store that a fault has ruined loses texts in any case, which would
    excuse the loss that is the fault's.
    """
    home = run.place(f"unharmed-{next(run.numbers)}")
    try:
        with run.session(home):
            return home
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return run.home


@contextlib.contextmanager
def elsewhere(run: Run) -> Iterator[None]:
    """Have the run in a home that no fault has met, for the body."""
    home, run.home = run.home, unharmed(run)
    try:
        yield
    finally:
        run.home = home


def needs_return(run: Run, count: int = 0) -> None:
    """
    Go on only where as many texts come back while the store is well, several at least.

    Raises:
        Untestable: It does not: a loss proves nothing.

    """
    facts = run.facts.several(max(_SEVERAL, count))
    with elsewhere(run):
        with run.session() as subject:
            for fact in facts:
                run.plant(subject, fact, route(run))
        lost = losses.lost(run, facts)
    if lost:
        reason = "text stored while the store is well does not come back either"
        raise Lost(reason, depends_on(spec.role("turns_stored"), spec.role("writes_stored")))
