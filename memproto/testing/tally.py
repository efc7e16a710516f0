"""How often a text is stored: by the user's own count, else by what recall shows."""

from memproto.testing import routes
from memproto.testing.facts import Fact
from memproto.testing.run import Run


def times(run: Run, fact: Fact) -> int:
    """How often a fact is stored; 0 where a new instance does not show it in its own words."""
    with run.session() as again:
        stored = run.stored(again, fact.text)
        if stored is not None:
            return stored
        if not run.brings_back(again, fact):
            return 0
        shown = routes.recalled(again, fact.query) or ""
        return " ".join(shown.split()).count(fact.text)
