"""
Sessions that begin as usual, one after the other: the control of one that did not begin.

A provider may refuse a session for another reason than the one that a check is about: each home
opens once, or a process knows one home. It refuses the control as well then.
"""

from collections.abc import Callable
from pathlib import Path

from memproto.testing import incidents
from memproto.testing.clauses import Untestable
from memproto.testing.needs import depends_on
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised, Subject
from memproto.testing.wire import show

#: The rule that a session starts.
_STARTS = incidents.RAISED["open"]


def needs_starts(
    run: Run,
    lives: Callable[[Subject], object] | None = None,
    *,
    at_least: int = 1,
    here: bool = True,
    unless: Callable[[BaseException], bool] = lambda _: False,
) -> None:
    """
    Go on only where as many sessions begin as were to in the check's home, one after the other.

    Those count that the kit began to learn about the provider. Each `lives` and is shut down. They
    have a home of their own, which nothing of the check has met. If the first of them does not
    begin in it, the process may know one home alone, and one session has to begin in that of the
    check; unless that is not `here`, because it is what the check has spoilt. An error for which
    `unless` is true is the fault that the check looks for, and no other reason.

    Raises:
        Untestable: They do not begin: what the check did is not why another one did not.

    """
    run.finish()
    count = max(at_least, run.begun[str(run.home)])
    # A replay script shows what the check did, and not this.
    with run.aside():
        failure, begun = _begun(run, run.place(f"usual-{next(run.numbers)}"), count, lives)
        if failure is not None and not begun and here:
            failure, _ = _begun(run, run.home, 1, lives)
    if isinstance(failure, HookRaised) and unless(failure.error):
        return
    if failure is not None:
        shown = show(failure.error) if isinstance(failure, HookRaised) else failure
        which = "another session" if begun else "a session"
        reason = f"{which} does not begin as usual either: {shown}"
        raise Untestable(reason, depends_on(_STARTS))


def _begun(
    run: Run, home: Path, count: int, lives: Callable[[Subject], object] | None
) -> tuple[HookRaised | HookLate | None, int]:
    """The failure of the first session that did not begin, and how many did before it."""
    for number in range(count):
        try:
            subject = run.open(home)
        except (HookRaised, HookLate) as failure:
            if isinstance(failure, HookRaised) and failure.ends_process:
                raise
            return failure, number
        if lives is not None:
            lives(subject)
        run.close(subject)
    return None, count
