"""Stores whose files are damaged, one after the other, seen from a check."""

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

from memproto.testing import changes
from memproto.testing.changes import Prepared
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.storefaults import Seen, host_of, lived, once
from memproto.testing.storefiles import Pristine, files, found_in, left, stored

#: So many files of a store are damaged, the largest first.
_MOST_FILES = 3

#: The store as it was before any damage, among what checks share.
_PRISTINE = "the undamaged store"

#: A page of SQLite's, and the beginning of any file.
_PAGE = 4_096


@dataclasses.dataclass(frozen=True)
class Damage:
    """
    One file of a store that was damaged, and what came of it.

    Attributes:
        what: What was done to it.
        survivors: The facts that it still held.
        seen: What the host saw that opened the store then.
        is_kept: Whether any of the survivors was left below the home afterwards.

    """

    what: str
    survivors: list[Fact]
    seen: Seen
    is_kept: bool


def lives_undamaged(run: Run) -> None:
    """
    Go on only where a host lives through the same with the store as it was before the damage.

    Raises:
        Untestable: It does not.

    """
    run.shared[_PRISTINE].restore()
    with host_of(run, "damaged", run.facts.several(1), changes.Prepared([], [[]], [])) as host:
        lived(host, "over")


def damaged(run: Run) -> list[Damage]:
    """What hosts saw that opened the store with one file damaged, one after the other."""
    return once(run, _damaged)


def _damaged(run: Run) -> list[Damage]:
    facts, ready = stored(run), changes.prepared(run)
    facts += left(run, ready.kept)
    run.shared[_PRISTINE] = Pristine(run, facts)
    return [
        _damage(run, path, how, facts, ready)
        for path in files(run, facts)[:_MOST_FILES]
        for how in _DAMAGES
    ]


def _damage(run: Run, path: Path, how: str, facts: list[Fact], ready: Prepared) -> Damage:
    run.shared[_PRISTINE].restore()
    _DAMAGES[how](path)
    survivors = found_in(path, facts)
    more = run.facts.several(1)
    with host_of(run, "damaged", more, ready) as host:
        seen = Seen(host.end(), more, ready)
    name = path.relative_to(run.home) if path.is_relative_to(run.home) else path.name
    return Damage(f"{name} was {how}", survivors, seen, bool(left(run, survivors)))


def _halve(path: Path) -> None:
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 2)


def _overwrite(path: Path) -> None:
    length = min(_PAGE, path.stat().st_size // 2)
    with path.open("rb+") as file:
        file.write(random.Random(length).randbytes(length))


_DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut in half": _halve,
    "overwritten at its beginning": _overwrite,
}
