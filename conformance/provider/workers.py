"""Chapter 79: what is left in the process once for all of its sessions."""

import contextlib

from memproto.testing import routes, running
from memproto.testing.clauses import NotApplicable, check
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject

#: A thread goes on for so long after the last session: it may wait for an answer.
_LAST_S = 10.0

#: What one more session has started gets so long to end.
_ENDING_S = 2.0


# In a process of its own: what is left once for each is there before any other check looks.
@check("MP-RES-008", apart="workers")
def the_last_shutdown_leaves_no_worker(run: Run) -> None:
    known = frozenset(running.stacks())
    provider = _lived(run).provider

    def left() -> list[str]:
        return running.workers(provider, known)

    if run.wait_until(lambda: not left(), _LAST_S):
        return
    found = left()
    _lived(run)
    if not run.wait_until(lambda: len(left()) <= len(found), _ENDING_S):
        raise NotApplicable("each session leaves a thread, which is for MP-RES-001")
    run.violated(
        f"no thread in the provider's own code {_LAST_S:g} s after its only session",
        f"{len(found)} still there: {', '.join(sorted(found)[:3])}",
        operation="close",
    )


def _lived(run: Run) -> Subject:
    """The instance of one whole session that was shut down."""
    subject = run.open()
    with contextlib.suppress(HookRaised):
        routes.live_fully(subject, run.facts.new())
    run.close(subject)
    return subject
