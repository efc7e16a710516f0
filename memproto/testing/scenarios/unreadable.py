"""A question about a stored text, asked while another process holds the files of the store."""

from collections.abc import Callable
from typing import TypeVar

from memproto.testing.clauses import Lost, NotApplicable, Untestable
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import store_faults, store_files
from memproto.testing.needs import depends_on
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject

T = TypeVar("T")


def asked(run: Run, ask: Callable[[Subject, Fact], T], brings: Callable[[T, Fact], bool]) -> T:
    """
    The answer about a stored text of a session that cannot read its store.

    The text comes back before, and afterwards.

    Raises:
        NotApplicable: No file holds the text, or it comes back all the same.
        Lost: The text does not come back before.
        Untestable: It does not come back afterwards.

    """
    fact = store_files.stored(run)[0]
    with run.session() as subject:
        if not run.wait_until(lambda: brings(ask(subject, fact), fact), run.freshness_s):
            raise Lost("a stored text does not come back", depends_on("MP-TURN-001"))
        with store_faults.held(run, [fact]):
            answer = ask(subject, fact)
        if brings(answer, fact):
            raise NotApplicable("it reads its store while another process holds the files")
        if not run.wait_until(lambda: brings(ask(subject, fact), fact)):
            raise Untestable("the text does not come back when the files are free again")
    return answer
