"""Texts that are alike for longer than many stores look: they differ behind a long beginning."""

from collections.abc import Callable
from pathlib import Path

from memproto.testing.evidence import NotRecalled
from memproto.testing.facts import Fact
from memproto.testing.provider import losses
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject

#: Two texts in one session, and one in the next: a key made of the beginning takes them for one.
_IN_SESSIONS = (2, 1)

#: Follows a name, by which one beginning differs from another from the first word on.
_REST = (
    " says that the wind has turned to the west and the ferry is late as it was all week, and that"
    " before the two of us go on with the list for the winter stores I am to tell you one more"
    " thing to note down, word for word and as it is said here:"
)


def led(facts: list[Fact], names: list[str]) -> list[Fact]:
    """The facts, each behind a beginning of about 240 characters, which begins with the name."""
    return [
        fact.within(f"{name}{_REST} {fact.text}") for fact, name in zip(facts, names, strict=True)
    ]


def alike(run: Run, count: int) -> list[Fact]:
    """So many new facts behind one beginning, which no others of the run have."""
    return led(run.facts.several(count), [run.facts.name()] * count)


def lost(
    run: Run, accepts: Callable[[Subject, str], bool], home: Path | None = None
) -> NotRecalled | None:
    """
    Texts of one beginning that were accepted and do not come back; None for nothing.

    Twice, and where as many texts of different beginnings do come back: a recall that shows the
    beginnings of texts only, or a ranking that passes over long ones, is no loss.
    """
    if run.is_selective:
        return None
    if not _missing(run, accepts, home, alike(run, sum(_IN_SESSIONS))):
        return None
    facts = run.facts.several(sum(_IN_SESSIONS))
    if _missing(run, accepts, home, led(facts, [run.facts.name() for _ in facts])):
        return None
    return _missing(run, accepts, home, alike(run, sum(_IN_SESSIONS)))


def _missing(
    run: Run, accepts: Callable[[Subject, str], bool], home: Path | None, facts: list[Fact]
) -> NotRecalled | None:
    left, accepted = list(facts), list[Fact]()
    for count in _IN_SESSIONS:
        with run.session(home) as subject:
            told, left = left[:count], left[count:]
            accepted += [fact for fact in told if accepts(subject, fact.whole)]
    missing = losses.lost(run, accepted, home)
    if not missing:
        return None
    return NotRecalled(
        texts=tuple(fact.text for fact in missing),
        of=len(accepted),
        tail=", behind a beginning that they have in common",
    )
