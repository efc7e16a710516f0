"""Chapter 32: what the load step leaves alone, and the hooks that a Hermes host counts on."""

import contextlib
import threading
from typing import TypeVar

from memproto.adapters.hermes import HOST_NEEDS
from memproto.bindings import hermes_agent as host
from memproto.testing import watchers
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.load_step import CONNECTS, STARTS, LoadStep
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

T = TypeVar("T")

#: Model downloads and caches are no traces of a plugin.
_EXEMPT = "~/.cache"


def _step(run: Run) -> LoadStep:
    """What the load of this process did; the process has loaded the target for these checks."""
    assert run.load_step is not None
    return run.load_step


def _of_provider(run: Run, whole: T, imported: T, doing: str) -> T:
    """
    What of the traces of the load is the provider's.

    It is all of them, unless a function of the user's builds the instances. Then it is what the
    import of the provider's package left behind, which can be told apart; what else happened in the
    function may be the user's own doing.

    Raises:
        NotApplicable: There are traces, and none of them is known to be the provider's.

    """
    if not _step(run).by_factory:
        return whole
    if whole and not imported:
        raise NotApplicable(f"the setting `factory` {doing}")
    return imported


@check(CONNECTS, session=False)
def loading_opens_no_connection(run: Run) -> None:
    connections = _step(run).connections
    if connections:
        run.violated("no connection and no look-up of a host", f"{connections[0]}; it was refused")


@check(STARTS, session=False)
def loading_starts_no_program(run: Run) -> None:
    programs = _step(run).programs
    if programs:
        run.violated("no program is started", f"{programs[0]}; it was refused")


@check("MP-LOAD-004", session=False)
def loading_writes_no_file(run: Run) -> None:
    exempt = (_EXEMPT, *(f"~/{name}" for name in run.context.caches))
    step = _step(run)
    whole, imported = (
        [line for line in files if not line.split(" ", 1)[1].startswith(exempt)]
        for files in (step.files, step.imported.files)
    )
    if seen := _of_provider(run, whole, imported, "may write what set-up would have written"):
        run.violated("files and directories as they were", "; ".join(seen[:4]))


@check("MP-LOAD-005", session=False)
def loading_prints_nothing(run: Run) -> None:
    step = _step(run)
    if printed := _of_provider(run, step.printed, step.imported.printed, "may print"):
        run.violated("nothing on the standard output", show(printed, 200))


@check("MP-LOAD-006", session=False)
def loading_leaves_the_process_as_it_was(run: Run) -> None:
    step = _step(run)
    may = "may set up the process"
    if changed := _of_provider(run, step.changed, step.imported.changed, may):
        run.violated("the process as it was before the import", changed[0])


@check("MP-LOAD-007", session=False)
def loading_leaves_no_thread(run: Run) -> None:
    step = _step(run)
    started = step.threads
    if started and not run.wait_until(lambda: not started & watchers.thread_ids(), 1.0):
        may = "may start threads, as those of a server"
        running = watchers.thread_ids()
        left = _of_provider(run, started & running, step.imported.threads & running, may)
        names = [item.name for item in threading.enumerate() if item.ident in left]
        run.violated(
            "no thread that loading started runs after it",
            f"{len(left)} still run: {', '.join(names) or 'unknown to threading'}",
        )


@check("MP-LOAD-008", session=False)
def the_hooks_that_the_host_needs_exist(run: Run) -> None:
    subject = run.provider()
    lacks = [hook for hook in HOST_NEEDS if hook in subject.provider.missing_hooks]
    if lacks and host.hooks_of_base() is None and _step(run).sought_host:
        # Built on the host's base class, it has its hooks wherever the host runs.
        reason = "its base class is that of hermes-agent, which is not installed here"
        raise Untestable(f"{reason}; needs: `pip install --no-deps hermes-agent`")
    if not lacks and "handle_tool_call" in subject.provider.missing_hooks and _offers(subject):
        lacks = ["handle_tool_call, and offers tools"]
    if lacks:
        run.violated(
            "each hook that a Hermes host needs of every provider",
            f"{type(subject.provider.wrapped).__name__} has no {', '.join(lacks)}",
            operation="open",
        )


def _offers(subject: Subject) -> bool:
    """Whether there are tools before a session; that reading them raises has a rule of its own."""
    with contextlib.suppress(HookRaised):
        return bool(subject.tools())
    return False
