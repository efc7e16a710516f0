"""A home whose name means something to patterns, addresses and shells, and nothing to a path."""

from memproto.testing.clauses import Lost
from memproto.testing.evidence import NotRecalled
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run

#: Brackets for globs, a number sign and a percent sign for addresses, a quotation mark for shells.
NAME = "of Ida's [2nd] boat #3, 50%"

#: Routes in the order in which one is chosen, so that a loss is told once.
_ROUTES = ("turns", "writes", "tools")

_GOODBYE = ("Thanks, that is all for today.", "Until next time.")


def lost(run: Run, route: str) -> NotRecalled | None:
    """
    A text that is lost by the name of its home; None for none.

    Nothing is looked for by another route than the first that the provider serves.

    Raises:
        Lost: A text in a plain home of its own does not come back either.

    """
    if not run.binding.own_homes or route != next(filter(run.serves, _ROUTES), ""):
        return None
    text = _lost_in(run, route, NAME)
    if not text:
        return None
    if _lost_in(run, route, "of a plain name"):
        raise Lost("a text in a plain home of its own does not come back either")
    return NotRecalled(
        wanted=f"text recalled that was stored in a home whose name ends in {NAME!r}",
        texts=(text,),
        tail="; what was stored in a home of a plain name did",
    )


def _lost_in(run: Run, route: str, name: str) -> str:
    fact, home = run.facts.new(), run.own_home(name)
    with run.session(home) as subject:
        run.plant(subject, fact, route)
        # The last turn of a session has a rule of its own, MP-TURN-003.
        if not run.lacks("record"):
            routes.in_passing(lambda: subject.record(*_GOODBYE))
    return "" if losses.is_stored(run, fact, home) else fact.text
