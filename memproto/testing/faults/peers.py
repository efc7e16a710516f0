"""
Peers that a provider talks to over a connection: a part of itself, or a backend.

A thread of the provider's process and a process that it started are parts of it, and so is a
server in one of them. A server that such a part connects to on its own account is no part of it.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from os import getpid
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import psutil

from memproto.testing.instruments.watchers import AuditLog, is_loopback
from memproto.testing.processes import sandbox, sockets, vitals
from memproto.testing.processes.sockets import Address, Sockets
from memproto.testing.provider.run import Run

#: Between two looks at the sockets of processes: a request to a server on this machine takes about
#: as long, and a session makes several.
_LOOK_S = 0.001

#: The processes of the machine are gone through so much less often, for those that were disowned.
_SEARCH_S = 0.05

#: A connection to where nobody of the provider's listened is a reason to look at once, so often.
_MOST_LOOKS = 20

_WILD = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared, not bound


@dataclasses.dataclass(frozen=True)
class Peers:
    """
    Peers that a provider was seen to talk to.

    Attributes:
        backends: Those that it does not run itself, each in words.
        parts: Servers of its own at which it was reached, each with the process that listens.

    """

    backends: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


class Look:
    """
    Sees whom a provider talks to while the body of `watching` runs.

    Connections of this process are heard before they begin. Those of the processes that it started
    are looked for a thousand times a second. One that is opened and closed between two looks is
    known by what the kernel keeps of it for a minute, if no other process can have opened it: in a
    network namespace of the target's own, and to a server that was there before.
    """

    def __init__(self, run: Run, audit: AuditLog) -> None:
        self._run = run
        self._audit = audit
        self._own = psutil.Process(getpid())
        self._sockets = Sockets()
        #: Root of the directories of all processes that hold this target.
        self._root = run.root.parent
        self._reached: dict[Address, int] = {}
        self._listening: dict[Address, str] = {}
        self._lent: set[Address] = set()
        self._linked: dict[tuple[Address, Address], str] = {}
        #: Each process of the machine that was looked at, and None for one of somebody else's.
        self._judged: dict[tuple[int, float], psutil.Process | None] = {}
        self._helpers: dict[int, psutil.Process] = {}
        self._over = Event()
        self._before: set[tuple[Address, Address]] = set()
        self._after: set[tuple[Address, Address]] = set()
        #: The servers that were there before, whosever they are.
        self._around: set[Address] = set()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look while the body runs."""
        looker = Thread(target=self._keep_looking, name="kit-peers", daemon=True)
        with self._telling_lent_from_own():
            with contextlib.suppress(OSError):
                self._around = set(sockets.listening())
            self._before = sockets.connected()
            self._audit.reaching = self._reach
            looker.start()
            try:
                yield
                self._look(searches=True)
                self._after = sockets.connected()
            finally:
                self._audit.reaching = None
                self._over.set()
                looker.join()

    @property
    def has_helpers(self) -> bool:
        """True if a process was seen that the provider had started."""
        return bool(self._helpers)

    def found(self) -> Peers:
        """The peers that were seen."""
        backends = [_said(address) for address in self._reached if not self._is_own(address)]
        for (here, there), process in list(self._linked.items()):
            # A request by the proxy that the kit set is refused in no time: it would be seen in
            # one run, and not in another.
            is_refused = there == sandbox.NOWHERE
            if not (is_refused or self._is_own(there) or self._is_at_own_end(here, there)):
                backends.append(f"{_said(there)} by {process}, which it started")
        backends += [f"{_said(at)} by a process, which it started" for at in self._passing()]
        parts = [
            f"a server at {address[0]} in {who}"
            for address, who in self._listening.items()
            if address not in self._lent
            and any(_is_at(address, reached) for reached in self._reached)
        ]
        return Peers(_distinct(backends), _distinct(parts))

    def _passing(self) -> list[Address]:
        """Servers of somebody else's to which a connection was made that no look has seen."""
        if not (self._run.is_confined and self.has_helpers):
            return []
        told = {*self._reached, *(there for _, there in self._linked)}
        ends = {end for pair in self._after - self._before for end in pair}
        return sorted(
            end
            for end in ends
            if any(_is_at(server, end) for server in self._around)
            and not self._is_own(end)
            and not any(_is_at(end, known) for known in told)
        )

    # -- what is its own ---------------------------------------------------------------------------

    def _is_own(self, address: Address) -> bool:
        """True if a part of the provider listens, or listened, at an address."""
        return any(_is_at(own, address) for own in self._listening if own not in self._lent)

    def _is_known(self, address: Address) -> bool:
        """True if it was seen who listens at an address, if it is in this process."""
        return any(_is_at(known, address) for known in (*self._listening, *self._lent))

    def _is_at_own_end(self, here: Address, there: Address) -> bool:
        """True if a connection came to a part of the provider, or its other end is one."""
        is_incoming = any(here[1] == port for _, port in self._listening)
        return is_incoming or (there, here) in self._linked

    @contextlib.contextmanager
    def _telling_lent_from_own(self) -> Iterator[None]:
        """
        Take a server in this process for the provider's only where a session of it started it.

        One that was there before, or came while a `factory` built the instance, was started by the
        user's own functions: a stand-in of the backend, which the author does not ship.
        """
        self._lent |= set(self._here())
        built = self._run.build

        def build() -> Any:
            before = set(self._here())
            instance = built()
            self._lent |= set(self._here()) - before
            return instance

        if self._run.loading.get("factory"):
            self._run.build = build
        try:
            yield
        finally:
            self._run.build = built

    def _here(self) -> list[Address]:
        """The addresses at which this process listens."""
        return [held.here for held in self._sockets.of(getpid()) if held.there is None]

    # -- looking -----------------------------------------------------------------------------------

    def _reach(self, host: str, port: int) -> None:
        """Note that this process is about to connect to an address, or looked it up."""
        if port == 0 and is_loopback(host):
            # Looked up to listen there, at a port that is still to be found.
            return
        seen = self._reached.get((host, port), 0)
        self._reached[(host, port)] = seen + 1
        if seen < _MOST_LOOKS and is_loopback(host) and not self._is_known((host, port)):
            # A process that listens at this moment may be gone a moment later.
            self._look(searches=True)

    def _keep_looking(self) -> None:
        searched = 0.0
        while not self._over.wait(_LOOK_S):
            began = monotonic()
            searches = began - searched >= _SEARCH_S
            self._look(searches=searches)
            if searches:
                searched = began

    def _look(self, *, searches: bool) -> None:
        for process in (self._own, *self._started(searches=searches)):
            name = _name(process, self._own)
            for held in self._sockets.of(process.pid):
                if held.there is None:
                    self._listening.setdefault(held.here, name)
                elif process is not self._own:
                    self._linked.setdefault((held.here, held.there), name)

    def _started(self, *, searches: bool) -> list[psutil.Process]:
        """The processes that the provider started and that run, the disowned among them."""
        if searches:
            self._search()
        disowned = [process for process in list(self._judged.values()) if process is not None]
        for process in (self._own, *disowned, *list(self._helpers.values())):
            for started in _offspring(process.pid):
                # Once it was seen below another one it is known, whoever's it is later.
                self._helpers.setdefault(started.pid, started)
        self._helpers |= {process.pid: process for process in disowned}
        return [process for process in list(self._helpers.values()) if process.is_running()]

    def _search(self) -> None:
        """Go through all processes for those that began as the provider's and were disowned."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                key = process.pid, process.create_time()
                if key not in self._judged:
                    self._judged[key] = process if self._is_disowned(process) else None

    def _is_disowned(self, process: psutil.Process) -> bool:
        # An environment and a directory stay with a process whatever becomes of its parent. Those
        # of the setting `service` are the user's, and what they serve is a backend.
        if process.pid == getpid() or not vitals.belongs(process, self._root):
            return False
        return not vitals.belongs(process, self._root / "service")


def _offspring(pid: int) -> Iterator[psutil.Process]:
    """The processes below one; from the kernel's own list where there is one, which is quick."""
    listed = list(Path(f"/proc/{pid}/task").glob("*/children"))
    if not listed:
        with contextlib.suppress(psutil.Error):
            yield from psutil.Process(pid).children(recursive=True)
        return
    for file in listed:
        with contextlib.suppress(OSError):
            for child in map(int, file.read_text("ascii").split()):
                with contextlib.suppress(psutil.Error):
                    yield psutil.Process(child)
                yield from _offspring(child)


def _is_at(own: Address, reached: Address) -> bool:
    """True if who listens at `own` is who answers at `reached`, which may be a name."""
    host, port = reached
    if own[1] != port or not is_loopback(host):
        return False
    return own[0] in _WILD or host in ("localhost", *_WILD) or own[0] == host


def _said(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}" if port else host


def _name(process: psutil.Process, own: psutil.Process) -> str:
    if process is own:
        return "its own process"
    with contextlib.suppress(psutil.Error):
        # No number, which is another one in each run, and no words, which may hold a key.
        return f"the process {process.name()!r}"
    return "a process"


def _distinct(found: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
