"""A provider before a backend that fails: who is concerned, and whether the server was reached."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from threading import enumerate as enumerate_threads
from time import monotonic, process_time
from typing import Any

from memproto.testing import noise
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.evidence import Late
from memproto.testing.facts import Fact
from memproto.testing.faults import modes
from memproto.testing.faults.address import Place
from memproto.testing.faults.peers import Look, Peers
from memproto.testing.faults.server import FaultServer, Mode
from memproto.testing.faults.standin import StandIn
from memproto.testing.instruments.watchers import AuditLog
from memproto.testing.needs import Backend, Setting
from memproto.testing.processes.attempts import has_offspring
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised, HookWithdrawn, Subject

_NEEDS = (Setting("backend"),)
_ELSEWHERE = (Setting("backend", that="that names the right place"),)

#: Seconds that a worker is waited for that may connect in the background.
_WORKER_S = 2.0

#: Times that a hook is called again whose lateness the machine may explain, and by how much its
#: time may differ from the first one if a clock ends it: seconds, or a part of it.
_TIMES_AGAIN, _SAME_S, _SAME = 2, 0.3, 0.03

#: Further turns of a session that is watched, where a process that it started may have connected
#: unseen in the first.
_MORE_ROUNDS = 15

#: Name under which the peers that a session was seen to talk to are kept.
_PEERS = "peers"

#: So that a provider which does not look at the setting is told from one that waits to connect.
_UNREACHED = (
    "the fault server saw no connection: what `backend` names is not where the provider reads its"
    " address"
)


class Unreached(Untestable):
    """The fault server saw no connection."""


class NothingBehind(Untestable):
    """No backend on this machine stands behind the fault server."""


def needs_backend(run: Run) -> Place:
    """
    The place of the backend's address.

    Raises:
        NotApplicable: It is not set, and a session of the provider connects to nothing, or only to
            what the provider runs itself.
        Untestable: It is not set, and one does.

    """
    if run.context.backend is not None:
        return Place(run.context.backend, run.context.config)
    if _connects(run):
        raise Untestable(_connecting(run), _NEEDS)
    parts = ", ".join(_peers(run).parts)
    if parts:
        reason = f"the provider connects to nothing but what it runs itself: {parts}"
        raise NotApplicable(f"{reason}; that is a part of it and no backend")
    raise NotApplicable("the provider opens no connection, and no `backend` is set")


def _place(run: Run, *, stands_in: bool) -> Place | StandIn:
    """As `needs_backend`, or every address at which nobody answers where `stands_in` says so."""
    if stands_in and run.context.backend is None and _connects(run):
        return StandIn(run.context.config)
    return needs_backend(run)


def _connects(run: Run) -> bool:
    """
    True if an ordinary session looks a host up or connects to one, as its backend.

    A server that the provider runs itself, in a thread of its process or in a process that it
    started, is none; one that such a server connects to is.
    """
    audit = run.audit
    if audit is None:
        return False
    if audit.connects is None:
        run.shared[_PEERS] = _watched(run, audit)
        audit.connects = bool(_peers(run).backends)
    return audit.connects


def _watched(run: Run, audit: AuditLog) -> Peers:
    """Peers that an ordinary session talks to."""
    look = Look(run, audit)
    with look.watching(), contextlib.suppress(HookRaised, HookLate):
        before, threads = audit.connections, set(enumerate_threads())
        with run.session() as subject:
            routes.live(subject, run.facts.new())
            for _ in range(_MORE_ROUNDS if run.watch.calls_left is None else 0):
                if look.has_helpers and not look.found().backends:
                    routes.live(subject, run.facts.new())
            if set(enumerate_threads()) - threads:
                # A worker of its own may come to it later.
                run.wait_until(lambda: audit.connections > before, _WORKER_S)
    return look.found()


def _peers(run: Run) -> Peers:
    """Peers that another check of this process saw, if one did."""
    found: Peers = run.shared.get(_PEERS, Peers())
    return found


def _connecting(run: Run) -> str:
    backends = " and ".join(_peers(run).backends)
    return f"the provider{f' reached {backends}, and so' if backends else ''} connects to a backend"


@dataclasses.dataclass(frozen=True)
class Bench:
    """
    A run whose provider talks to a fault server.

    Attributes:
        run: The run.
        server: The server.
        is_set: True if it stands where the setting `backend` says; else it stands in wherever
            nobody answers, and whether HTTP or TLS is spoken there is up to the provider.

    """

    run: Run
    server: FaultServer
    is_set: bool = True

    def open(self) -> Subject:
        """A new instance, initialized."""
        return self.run.open()

    def turn(self, mode: Mode) -> None:
        """Have the backend be so from now on."""
        self.server.turn(mode)

    def needs_reach(self) -> None:
        """
        Go on only where a session connects to the server; one that connects late has reason to.

        Raises:
            Unreached: None did.

        """
        if not self.server.connections:
            self.turn(modes.status(503))
            with contextlib.suppress(HookRaised, HookLate), self.run.session() as subject:
                routes.live(subject, self.run.facts.new())
        if not self.server.connections:
            if self.is_set:
                raise Unreached(_UNREACHED, _ELSEWHERE)
            raise Unreached(_connecting(self.run), _NEEDS)


@contextlib.contextmanager
def failing(run: Run, mode: Mode, *, scheme: str = "", stands_in: bool = False) -> Iterator[Bench]:
    """
    A server that fails by `mode`, in the place of the provider's backend.

    With `stands_in`, and no `backend` set, it stands in for every address at which nobody answers;
    for checks of what is the same in any protocol.

    Raises:
        NotApplicable: See `needs_backend`.
        Untestable: See `needs_backend`; or the server saw no connection.

    """
    with _serving(run, _place(run, stands_in=stands_in), mode, scheme) as bench:
        yield bench
        bench.needs_reach()


@contextlib.contextmanager
def relaying(run: Run) -> Iterator[Bench]:
    """
    A server before the provider's real backend, which may be frozen and made to fail.

    Raises:
        NotApplicable: See `needs_backend`.
        NothingBehind: There is no backend behind it.
        Untestable: See `needs_backend`; or it was not reached.

    """
    place = needs_backend(run)
    if place.upstream is None:
        what = f"holds {place.today!r}" if place.today else "holds nothing"
        reason = f"the place that `backend` names {what}, and no backend on this machine is there"
        raise NothingBehind(reason, (Backend(),))
    with _serving(run, place, modes.forward) as bench:
        yield bench
        bench.needs_reach()


@contextlib.contextmanager
def _serving(run: Run, place: Place | StandIn, mode: Mode, scheme: str = "") -> Iterator[Bench]:
    # Texts that were stored before are settled with the backend as it is.
    run.settle()
    server, before = FaultServer(mode, place.upstream), run.context
    try:
        with place.holding(place.address(server.port, scheme)) as config:
            run.context = dataclasses.replace(before, config=config)
            yield Bench(run, server, isinstance(place, Place))
            run.finish()
    finally:
        run.context = before
        server.close()


def told_of(run: Run) -> Iterator[Bench]:
    """
    A bench whose backend answers 401, of which a provider may tell what it asked for.

    None if no `backend` is set. A rule on what is said of failures leaves all else to other rules.
    """
    if run.context.backend is None:
        return
    others = contextlib.suppress(HookLate, HookWithdrawn, NotApplicable, Untestable)
    with others, failing(run, modes.status(401, {"error": "invalid API key"})) as bench:
        yield bench


# -- steps of checks -------------------------------------------------------------------------------


def timely(run: Run, during: str, step: Callable[[], Any]) -> None:
    """Run a step that may raise, and may not be late; what it raised is another rule's affair."""
    try:
        step()
    except HookRaised as failure:
        if failure.ends_process:
            raise
    except HookLate as late:
        is_cut = run.watch.deaths.get(late.operation)
        if is_cut or (late.excuse and not _is_timed(step, late)):
            raise
        run.violated(
            Late(
                wanted=(
                    f"{run.hook(late.operation)} returns or raises within {late.budget_s:g} "
                    f"s {during}"
                ),
                hook=run.hook(late.operation),
                took_s=late.took_s,
                budget_s=late.budget_s,
            ),
            operation=late.operation,
        )


def _is_timed(step: Callable[[], Any], late: HookLate) -> bool:
    """
    True if a clock of the provider's ends its wait, and so no busy machine made it late.

    Then it takes the same time again, and computes for so short a part of it that the machine does
    not explain what it took beyond its budget. A process that it started may compute unseen.
    """
    for _ in range(_TIMES_AGAIN):
        computed = process_time()
        try:
            step()
        except HookLate as again:
            explained_s = (process_time() - computed) * noise.MOST
            is_same = abs(again.took_s - late.took_s) <= max(_SAME_S, _SAME * late.took_s)
            is_own = again.took_s - explained_s > late.budget_s and not has_offspring()
            if again.operation != late.operation or not (is_same and is_own):
                return False
        except HookRaised as failure:
            if failure.ends_process:
                raise
            return False
        else:
            return False
    return True


def accepts(subject: Subject, fact: Fact, route: str) -> bool:
    """True if storing `fact` by `route` is accepted, or else refused by whatever it raises."""
    try:
        routes.plant(subject, fact, route)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    except HookWithdrawn:
        raise
    except Untestable:
        # A tool that answered with an error.
        return False
    return True


def elapsed(step: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a step took, and its result."""
    began = monotonic()
    given = step()
    return monotonic() - began, given
