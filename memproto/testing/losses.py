"""
Whether a text is lost: neither a question about it brings it back, nor its own words do.

A ranking that brings few of many passes over some that are stored. That is a weakness of recall,
and no loss: what a provider stores, it finds by the very words of it.
"""

from pathlib import Path

from memproto.testing import routes
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import Subject


def lost(run: Run, facts: list[Fact], home: Path | None = None) -> list[Fact]:
    """
    Those of the facts that a new instance on the home does not bring back.

    What was stored before is waited for once, and not for each of the facts.
    Each has an instance of its own: that an answer belongs to its question is another rule.
    """
    return [fact for fact in facts if not is_stored(run, fact, home)]


def is_stored(run: Run, fact: Fact, home: Path | None = None) -> bool:
    """Whether a new instance on the same home brings the fact back; see `is_shown`."""
    if not _comes_back(run, fact, home):
        return False
    # What came back once is asked for again, where not everything has to be kept.
    return not run.is_selective or _comes_back(run, fact, home)


def _comes_back(run: Run, fact: Fact, home: Path | None) -> bool:
    with run.session(home) as again:
        if run.brings_back(again, fact):
            return True
        told = _brings_nothing_else(run, again, fact)
    return told and run.answers_questions()


def is_shown(run: Run, subject: Subject, fact: Fact) -> bool:
    """Whether recall brings the fact, for a question about it or for its own words."""
    return run.brings_back(subject, fact) or is_known(run, subject, fact)


def is_known(run: Run, subject: Subject, fact: Fact) -> bool:
    """
    Whether recall brings the fact for its own words.

    They count where recall answers questions at all, since one that finds whole texts only is of
    no use in a conversation, and where it repeats nothing that was never stored.
    """
    return _brings_nothing_else(run, subject, fact) and run.answers_questions()


def _brings_nothing_else(run: Run, subject: Subject, fact: Fact) -> bool:
    """Whether its own words bring the fact, while those of one that is not stored bring none."""
    return routes.brings_its_words(subject, fact) and not routes.brings_its_words(
        subject, run.facts.new()
    )
