"""Chapter 32: what the load step leaves alone, and the hooks that a Hermes host counts on."""

import contextlib
import threading

from memproto.adapters.hermes import HOST_NEEDS
from memproto.bindings import hermes_agent as host
from memproto.testing import watchers
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.load_step import CONNECTS, STARTS, LoadStep
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

#: Model downloads and caches are no traces of a plugin.
_EXEMPT = "~/.cache"


def _step(run: Run) -> LoadStep:
    """What the load of this process did; the process has loaded the target for these checks."""
    assert run.load_step is not None
    return run.load_step


def _spare_the_user(run: Run, doing: str) -> None:
    """
    Blame the provider for nothing that the user's own function may have done.

    Raises:
        NotApplicable: One builds the instances.

    """
    if _step(run).by_factory:
        raise NotApplicable(f"the setting `factory` {doing}")


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
    seen = [line for line in _step(run).files if not line.split(" ", 1)[1].startswith(exempt)]
    if seen:
        _spare_the_user(run, "may write what set-up would have written")
        run.violated("files and directories as they were", "; ".join(seen[:4]))


@check("MP-LOAD-005", session=False)
def loading_prints_nothing(run: Run) -> None:
    printed = _step(run).printed
    if printed:
        _spare_the_user(run, "may print")
        run.violated("nothing on the standard output", show(printed, 200))


@check("MP-LOAD-006", session=False)
def loading_leaves_the_process_as_it_was(run: Run) -> None:
    changed = _step(run).changed
    if changed:
        _spare_the_user(run, "may set up the process")
        run.violated("the process as it was before the import", changed[0])


@check("MP-LOAD-007", session=False)
def loading_leaves_no_thread(run: Run) -> None:
    started = _step(run).threads
    if started and not run.wait_until(lambda: not started & watchers.thread_ids(), 1.0):
        _spare_the_user(run, "may start threads, as those of a server")
        left = started & watchers.thread_ids()
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
