"""A question about a stored text, asked while another process holds the files of the store."""

from collections.abc import Callable
from typing import TypeVar

from memproto import spec
from memproto.testing.clauses import Lost, NotApplicable
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import store_faults, store_files
from memproto.testing.needs import depends_on
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject

T = TypeVar("T")


def asked(run: Run, ask: Callable[[Subject, Fact], T], brings: Callable[[T, Fact], bool]) -> T:
    """
    The answer about a stored text of a session that cannot read its store.

    The text comes back before, and afterwards.

    Raises:
        NotApplicable: No file holds the text; it comes back all the same, or the call raises.
        Lost: The text does not come back before, or afterwards.

    """
    fact = store_files.stored(run)[0]

    def asks(subject: Subject, fact: Fact) -> T:
        _turn_before(run, subject, fact)
        return ask(subject, fact)

    with run.session() as subject:
        if not run.wait_until(lambda: brings(asks(subject, fact), fact), run.freshness_s):
            raise Lost("a stored text does not come back", depends_on(spec.role("turns_stored")))
        with store_faults.held(run, [fact]):
            answer = _unless_raised(asks, subject, fact)
        if brings(answer, fact):
            raise NotApplicable("it reads its store while another process holds the files")
        if not run.wait_until(
            lambda: _comes_back(asks, brings, subject, fact), store_faults.AGAIN_S
        ):
            reason = "the text does not come back when the files are free again"
            raise Lost(reason, depends_on(spec.role("lock_gone")))
    return answer


def _turn_before(run: Run, subject: Subject, fact: Fact) -> None:
    """The turn that a recall goes by; it may raise while its store cannot be written to."""
    try:
        run.turn_before(subject, fact.query)
    except HookRaised as failure:
        if failure.ends_process:
            raise


def _unless_raised(ask: Callable[[Subject, Fact], T], subject: Subject, fact: Fact) -> T:
    try:
        return ask(subject, fact)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        raise NotApplicable("it raises while another process holds the files") from None


def _comes_back(
    ask: Callable[[Subject, Fact], T],
    brings: Callable[[T, Fact], bool],
    subject: Subject,
    fact: Fact,
) -> bool:
    """True if the text comes back; a provider may raise until it has tried again."""
    try:
        return brings(ask(subject, fact), fact)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
