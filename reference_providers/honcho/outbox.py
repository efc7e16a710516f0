"""
Accepted items that are not known to be on the server: a file for each below the home.

Every instance has a directory of its own, locked while it lives. One that is left is taken over by
the next session of the same workspace, so that an item is sent by one process at a time.
"""

import contextlib
import dataclasses
import fcntl
import json
import logging
import os
import threading
import uuid
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from memproto.errors import WriteRefused
from memproto.reference_providers.reading import own_folder

from . import names

log = logging.getLogger("memproto.honcho")

#: Below the home: what is to be sent, and what the server refused for good.
DIRECTORY, REFUSED = "honcho-outbox", "honcho-refused"

#: The end of the name of an item that was sent and is watched: it waits for nothing.
_WATCHED = ".watch"

#: Items that may wait: a server that is away for weeks is not to fill the disk.
MOST = 10_000


@dataclasses.dataclass(eq=False, slots=True)
class Item:
    """
    One thing to send.

    Attributes:
        id: The turn id, by which the server is asked whether it has it.
        kind: `turn` or `conclusion`.
        session: The session on the server.
        body: Of a turn `texts`: peer, text and time of each; of a conclusion `about` and `text`,
            and what is known of its attempts. `is_checked` of a turn: not sent yet, so that one
            look shows whether it is there.
        is_doubtful: True if it may be on the server already.
        is_ready: True if it may be sent now.
        state: `waiting`, `sent` or `refused`.
        path: Its file; None where none could be written.
        failures: Times that the server failed at it since the session began.
        is_passed_over: True if the later ones are sent before it, since the server fails at it.
        due_at: The moment of the monotonic clock before which it is not tried again.

    """

    id: str
    kind: str
    session: str
    place: dict[str, str]
    body: dict[str, Any]
    is_doubtful: bool = False
    is_ready: bool = True
    state: str = "waiting"
    path: Path | None = None
    failures: int = 0
    is_passed_over: bool = False
    due_at: float = 0.0

    def content(self) -> dict[str, Any]:
        """The content of the file."""
        kept = ("id", "kind", "session", "place", "body", "is_doubtful")
        return {name: getattr(self, name) for name in kept}


class Outbox:
    """
    The items of one instance, in the order in which they were accepted.

    Every method may be called on any thread.
    """

    def __init__(self, home: Path, workspace: str, most: int = MOST) -> None:
        self._home = home
        self._most = most
        self._mark = names.digest(workspace)[:8]
        self._lock = threading.Lock()
        self._items: list[Item] = []
        self._watched: list[Item] = []
        self._number = 0
        self._directory: Path | None = None
        self._held: FileIO | None = None
        self.refused = 0

    def open(self) -> None:
        """Make the directory and take over those that were left; without room, do without."""
        root = self._home / DIRECTORY
        try:
            own_folder(root)
            name = f"{self._mark}-{uuid.uuid4().hex}"
            fresh = root / f".{name}"
            fresh.mkdir(mode=0o700)
            self._held = _locked(fresh)
            self._directory = fresh.rename(root / name)
        except OSError as error:
            log.warning("honcho keeps nothing below its home: %s", error.strerror)
            return
        for left in sorted(root.glob(f"{self._mark}-*")):
            if left != self._directory:
                self._take_over(left)

    def _take_over(self, left: Path) -> None:
        with contextlib.suppress(OSError), _locked(left):
            for path in sorted([*left.glob("*.json"), *left.glob(f"*{_WATCHED}")]):
                self._adopt(path)
            _removed(left)

    def _adopt(self, path: Path) -> None:
        try:
            item = Item(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError):
            self._set_aside(path)
            self.refused += 1
            return
        item.path = path.rename(self._next().with_suffix(path.suffix))
        (self._watched if path.suffix == _WATCHED else self._items).append(item)

    def _next(self) -> Path:
        assert self._directory is not None
        self._number += 1
        return self._directory / f"{self._number:010}.json"

    def add(self, item: Item) -> bool:
        """
        Keep an item; False where it is in memory only.

        Raises:
            WriteRefused: There is no room for it.

        """
        with self._lock:
            if len(self._items) >= self._most:
                raise WriteRefused(f"{self._most} texts wait for the server; look why it is away")
            self._items.append(item)
            if self._directory is None:
                return False
            item.path = self._next()
            try:
                _written(item.path, item.content())
            except OSError:
                item.path = None
            return item.path is not None

    def knows(self, name: str) -> bool:
        """True if an item with this id waits."""
        with self._lock:
            return any(item.id == name for item in self._items)

    def ready(self, kind: str | None = None) -> list[Item]:
        """Those that may be sent now, of one kind or of all."""
        with self._lock:
            return [item for item in self._items if item.is_ready and kind in (None, item.kind)]

    def count(self) -> int:
        """Number of items that wait."""
        with self._lock:
            return len(self._items)

    def release(self) -> None:
        """Let all of them be sent."""
        with self._lock:
            for item in self._items:
                item.is_ready = True

    def doubt(self, items: list[Item]) -> None:
        """Keep that they may be on the server from now on, and that one look shows it no more."""
        for item in items:
            if item.body.pop("is_checked", False) or not item.is_doubtful:
                self._marked(item, is_doubtful=True)

    def trust(self, items: list[Item]) -> None:
        """Keep that they are not on the server after all."""
        for item in items:
            if item.is_doubtful:
                self._marked(item, is_doubtful=False)

    def _marked(self, item: Item, *, is_doubtful: bool) -> None:
        item.is_doubtful = is_doubtful
        self.keep(item)

    @staticmethod
    def keep(item: Item) -> None:
        """Keep what is known of an item now."""
        if item.path is not None:
            with contextlib.suppress(OSError):
                _written(item.path, item.content())

    def watch(self, item: Item) -> None:
        """Keep an item that was sent, since an earlier attempt may be done yet."""
        if item.path is not None:
            with contextlib.suppress(OSError):
                item.path = item.path.rename(item.path.with_suffix(_WATCHED))
        with self._lock:
            item.state = "sent"
            self._items[:] = [other for other in self._items if other is not item]
            self._watched.append(item)

    def watched(self) -> list[Item]:
        """Those that are watched."""
        with self._lock:
            return list(self._watched)

    def unwatch(self, item: Item) -> None:
        """Let go of one that was watched."""
        with self._lock:
            self._watched[:] = [other for other in self._watched if other is not item]
        if item.path is not None:
            with contextlib.suppress(OSError):
                item.path.unlink()

    def done(self, items: list[Item], state: str = "sent") -> None:
        """
        Take out those that need no sending any more; what was refused is kept aside.

        One that `close` has let go of has its file removed all the same.
        """
        with self._lock:
            for item in items:
                item.state = state
            self._items[:] = [item for item in self._items if item not in items]
        for item in items:
            self.refused += state == "refused"
            if item.path is not None:
                with contextlib.suppress(OSError):
                    if state == "refused":
                        self._set_aside(item.path)
                    else:
                        item.path.unlink()

    def _set_aside(self, path: Path) -> None:
        place = self._home / REFUSED
        place.mkdir(mode=0o700, exist_ok=True)
        path.rename(place / f"{uuid.uuid4().hex}.json")

    def close(self) -> None:
        """Let go of the directory; what is in it stays for the next session."""
        with self._lock:
            directory, self._directory = self._directory, None
            self._items.clear()
            self._watched.clear()
        if directory is not None:
            with contextlib.suppress(OSError):
                _removed(directory)
        held, self._held = self._held, None
        if held is not None:
            held.close()


def _locked(directory: Path) -> FileIO:
    """
    A lock on a directory, until it is closed; raises OSError where another instance has it.

    An object and no bare descriptor: Ctrl+C between two lines leaves the object to nobody, and it
    closes itself then, which gives the lock back.
    """
    held = FileIO(directory / "lock", "a", opener=lambda name, flags: os.open(name, flags, 0o600))
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        raise
    with contextlib.suppress(OSError):  # A full disk keeps nobody from the lock.
        held.truncate(0)
        held.write(str(os.getpid()).encode())
    return held


def _removed(directory: Path) -> None:
    if any(directory.glob("*.json")) or any(directory.glob(f"*{_WATCHED}")):
        return
    for half in directory.glob("*.new"):
        half.unlink(missing_ok=True)
    (directory / "lock").unlink(missing_ok=True)
    directory.rmdir()


def _written(path: Path, content: dict[str, Any]) -> None:
    fresh = path.with_suffix(".new")
    try:
        fresh.write_text(json.dumps(content), "ascii")
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def waiting(home: Path) -> Iterator[Path]:
    """The files of all items that wait below a home."""
    yield from sorted((home / DIRECTORY).glob("*/*.json"))


def sending(home: Path) -> Iterator[Path]:
    """Those that a living process holds: what a dead one left waits for the next session."""
    return (path for path in waiting(home) if _is_alive(path.parent))


def _is_alive(directory: Path) -> bool:
    """True if the process lives that holds a directory, or is not known."""
    try:
        os.kill(int((directory / "lock").read_text("ascii")), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        return True
    return True
