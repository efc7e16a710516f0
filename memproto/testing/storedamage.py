"""Stores whose files are damaged, one after the other, seen from a check."""

import dataclasses
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.storefaults import Seen, host_of, lived, once
from memproto.testing.storefiles import files, found_in, left, stored

#: So many files of a store are damaged, the largest first.
_MOST_FILES = 3

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
    shutil.rmtree(run.home)
    shutil.copytree(run.place("pristine"), run.home, symlinks=True)
    with host_of(run, "damaged", run.facts.several(1)) as host:
        lived(host, "over")


def damaged(run: Run) -> list[Damage]:
    """What hosts saw that opened the store with one file damaged, one after the other."""
    return once(run, _damaged)


def _damaged(run: Run) -> list[Damage]:
    facts = stored(run)
    pristine = run.place("pristine")
    shutil.copytree(run.home, pristine, symlinks=True)
    names = [path.relative_to(run.home) for path in files(run, facts)[:_MOST_FILES]]
    return [_damage(run, pristine, name, how, facts) for name in names for how in _DAMAGES]


def _damage(run: Run, pristine: Path, name: Path, how: str, facts: list[Fact]) -> Damage:
    shutil.rmtree(run.home)
    shutil.copytree(pristine, run.home, symlinks=True)
    _DAMAGES[how](run.home / name)
    survivors = found_in(run.home / name, facts)
    more = run.facts.several(1)
    with host_of(run, "damaged", more) as host:
        seen = Seen(host.end(), more)
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
