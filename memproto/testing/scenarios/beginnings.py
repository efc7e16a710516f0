"""
Texts that are alike in all that many stores look at.

They differ behind a long beginning, before a long end, or by a number alone.
"""

from collections.abc import Callable
from pathlib import Path

from memproto.testing.evidence import NotRecalled
from memproto.testing.facts import Fact
from memproto.testing.provider import losses
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject

#: Two texts in one session, and one in the next: a key made of what is alike takes them for one.
_IN_SESSIONS = (2, 1)

_COUNT = sum(_IN_SESSIONS)

#: Follows a name, by which one beginning differs from another from the first word on.
_REST = (
    " says that the wind has turned to the west and the ferry is late as it was all week, and that"
    " before the two of us go on with the list for the winter stores I am to tell you one more"
    " thing to note down, word for word and as it is said here:"
)

#: An end as a signature is one; a name follows, by which it differs from another one.
_END = (
    "Sent from the desk of the harbour office, which is closed from noon to two and on all days"
    " on which no ferry sails; what is said here is meant for the one to whom it was sent, and is"
    " to be kept by nobody else. With kind regards, and until the next time, yours,"
)


def led(facts: list[Fact], names: list[str]) -> list[Fact]:
    """The facts, each behind a beginning of about 240 characters, which begins with the name."""
    return [
        fact.within(f"{name}{_REST} {fact.text}") for fact, name in zip(facts, names, strict=True)
    ]


def alike(run: Run, count: int) -> list[Fact]:
    """So many new facts behind one beginning, which no others of the run have."""
    return led(run.facts.several(count), [run.facts.name()] * count)


def _ending(facts: list[Fact], names: list[str]) -> list[Fact]:
    """The facts, each before an end of about 250 characters, which ends with the name."""
    return [
        fact.within(f"{fact.text} {_END} {name}") for fact, name in zip(facts, names, strict=True)
    ]


def _of_one_beginning(run: Run, *, is_alike: bool) -> list[Fact]:
    return led(run.facts.several(_COUNT), _names(run, is_alike=is_alike))


def _of_one_end(run: Run, *, is_alike: bool) -> list[Fact]:
    return _ending(run.facts.several(_COUNT), _names(run, is_alike=is_alike))


def _names(run: Run, *, is_alike: bool) -> list[str]:
    return [run.facts.name()] * _COUNT if is_alike else [run.facts.name() for _ in range(_COUNT)]


def _of_one_sentence(run: Run, *, is_alike: bool) -> list[Fact]:
    if is_alike:
        return run.facts.numbered(_COUNT)
    return [fact for _ in range(_COUNT) for fact in run.facts.numbered(1)]


#: The likeness of texts, as it ends a message, to those that have it and others that do not.
_KINDS: dict[str, Callable[..., list[Fact]]] = {
    ", behind a beginning that they have in common": _of_one_beginning,
    ", before an end that they have in common": _of_one_end,
    ", which differ by a number alone": _of_one_sentence,
}


def lost(
    run: Run, accepts: Callable[[Subject, str], bool], home: Path | None = None
) -> NotRecalled | None:
    """
    Texts alike that were accepted and do not come back; None for nothing.

    Twice, and where as many texts that are not alike do come back: a recall that shows the
    beginnings of texts only, or a ranking that passes over long ones, is no loss. Numbers come
    back where texts do in their own words.
    """
    if run.is_selective:
        return None
    is_verbatim = run.declared("retention", "verbatim") == "verbatim"
    kinds = {
        told: made for told, made in _KINDS.items() if is_verbatim or made is not _of_one_sentence
    }
    for told in _doubtful(run, accepts, home, kinds):
        if seen := _lost_of(run, accepts, home, kinds[told]):
            return seen.told(tail=told)
    return None


def _doubtful(
    run: Run,
    accepts: Callable[[Subject, str], bool],
    home: Path | None,
    kinds: dict[str, Callable[..., list[Fact]]],
) -> list[str]:
    """The kinds of which one instance does not bring all: they are looked at one by one."""
    facts = {told: made(run, is_alike=True) for told, made in kinds.items()}
    given = [fact for alike in zip(*facts.values(), strict=True) for fact in alike]
    accepted = _told(run, accepts, home, given, len(kinds))
    with run.session(home) as again:
        missing = [fact for fact in accepted if not run.brings_back(again, fact)]
    return [told for told, alike in facts.items() if any(fact in missing for fact in alike)]


def _lost_of(
    run: Run,
    accepts: Callable[[Subject, str], bool],
    home: Path | None,
    made: Callable[..., list[Fact]],
) -> NotRecalled | None:
    if not _missing(run, accepts, home, made(run, is_alike=True)):
        return None
    if _missing(run, accepts, home, made(run, is_alike=False)):
        return None
    return _missing(run, accepts, home, made(run, is_alike=True))


def _missing(
    run: Run, accepts: Callable[[Subject, str], bool], home: Path | None, facts: list[Fact]
) -> NotRecalled | None:
    accepted = _told(run, accepts, home, facts, 1)
    missing = losses.lost(run, accepted, home)
    if not missing:
        return None
    return NotRecalled(texts=tuple(fact.text for fact in missing), of=len(accepted))


def _told(
    run: Run,
    accepts: Callable[[Subject, str], bool],
    home: Path | None,
    facts: list[Fact],
    times: int,
) -> list[Fact]:
    """Tell the facts in two sessions, in each so many times its number; those accepted."""
    left, accepted = list(facts), list[Fact]()
    for count in _IN_SESSIONS:
        with run.session(home) as subject:
            now, left = left[: count * times], left[count * times :]
            accepted += [fact for fact in now if accepts(subject, fact.whole or fact.text)]
    return accepted
