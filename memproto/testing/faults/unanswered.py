"""A question about a stored text, asked while the backend that holds it answers 503."""

from collections.abc import Callable
from typing import TypeVar

from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.facts import Fact
from memproto.testing.faults import modes
from memproto.testing.faults.bench import relaying
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised, HookWithdrawn, Subject

T = TypeVar("T")

#: Seconds that a provider may take to see that its backend works again, by the specification.
_AGAIN_S = 60.0

#: Seconds for which a provider may look whether its backend is away, before it says so.
_SEEN_S = 5.0


def asked(
    run: Run,
    ask: Callable[[Subject, Fact], T],
    brings: Callable[[T, Fact], bool],
    tells: Callable[[T], bool] = bool,
) -> T | None:
    """
    The answer about a stored text of a session whose backend answers 503, and works again then.

    An answer that does not tell of it is asked for again for a few seconds.

    None if that shows nothing: no backend is set, or none is behind the kit's server; the text
    comes back all the same, or the call raises; or the text comes back not before or not again.
    """
    if run.context.backend is None:
        return None
    try:
        with relaying(run) as bench:
            fact = run.facts.new()
            with run.session() as subject:
                run.plant(subject, fact, run.needs_route(*routes.ROUTES))
            with run.session() as subject:

                def is_there() -> bool:
                    return brings(ask(subject, fact), fact)

                if not run.wait_until(is_there, run.freshness_s):
                    return None
                bench.turn(modes.status(503))
                answers = [ask(subject, fact)]

                def is_told() -> bool:
                    if not tells(answers[-1]):
                        answers.append(ask(subject, fact))
                    return tells(answers[-1])

                run.wait_until(is_told, _SEEN_S)
                answer = answers[-1]
                bench.turn(modes.forward)
                works_again = run.wait_until(is_there, _AGAIN_S)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return None
    except (HookLate, HookWithdrawn, NotApplicable, Untestable):
        return None
    return answer if works_again and not brings(answer, fact) else None
