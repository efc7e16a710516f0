"""
The English of evidence: `expected` and `observed` of a message, made from data.

Here and nowhere else. Scripts and reasons that are written below the report tell of evidence too,
so it stands beside the evidence and not above it. Its texts may be a stranger's: they are escaped.
"""

from collections.abc import Callable
from typing import Any

from memproto.testing import evidence as kinds
from memproto.testing.evidence import Evidence
from memproto.testing.untrusted_text import printable
from memproto.testing.wire import shorten

#: How a message tells that nothing was reported.
_NOTHING_SAID = "neither event nor log names it"

#: Numbers that are written as words.
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")

_FORGED = "it wrote a message of its own on the descriptor by which its host reports"

#: So many names of what was changed, or frames, are told.
_MOST_NAMES, _MOST_FRAMES = 3, 4


def expected(found: Evidence | None) -> str:
    """The thing that should be there, in one line; "" for no evidence."""
    if found is None:
        return ""
    if found.wanted:
        return shorten(printable(found.wanted))
    make = _EXPECTED.get(type(found))
    return shorten(printable(make(found))) if make else ""


def observed(found: Evidence | None) -> str:
    """The thing that is there, in one line; "" for no evidence."""
    if found is None:
        return ""
    return shorten(printable(f"{_OBSERVED[type(found)](found)}{_enough(found)}"))


def quoted(text: str) -> str:
    """
    A text between quotation marks, as `repr` writes it.

    A backslash stays as it is: it may stand for what was escaped on the way here.
    """
    text = printable(text).replace("\n", "\\n")
    if "'" in text and '"' not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "\\'") + "'"


def listed(names: tuple[str, ...], most: int = _MOST_NAMES) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _joined(names: tuple[str, ...]) -> str:
    """Names in a row; those that hold a comma are set apart by more than a comma."""
    return ("; " if any(", " in name for name in names) else ", ").join(names)


def _around(make: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda found: f"{found.lead}{make(found)}{found.tail}"


# -- expected --------------------------------------------------------------------------------------


def _in_time(found: kinds.Late) -> str:
    return f"{found.hook or 'it'} returns within {found.budget_s:g} s"


def _unchanged(found: kinds.Meddled) -> str:
    if found.written:
        return "the installed files of the host as they were before the load"
    return "the code of the host, and what it reports, as they were before the load"


_EXPECTED: dict[type[Evidence], Callable[[Any], str]] = {
    kinds.Late: _in_time,
    kinds.Raised: lambda found: f"{found.hook or 'it'} returns",
    kinds.Froze: lambda _: "the other threads of the process go on running",
    kinds.Died: lambda _: "the process goes on",
    kinds.Grew: lambda _: "no more memory than the kit allows a process",
    kinds.Meddled: _unchanged,
    kinds.NotReported: lambda found: f"a report about {found.about}",
}


# -- observed --------------------------------------------------------------------------------------


def _enough(found: Evidence) -> str:
    """The smallest input with which the same was seen; "" if none was looked for."""
    if found.least:
        return f"; {found.least} is enough"
    if not found.least_chars:
        return ""
    spared = f", and {found.spared_chars:,} are not" if found.spared_chars else ""
    return f"; {found.least_chars:,} characters are enough{spared}"


def _not_recalled(found: kinds.NotRecalled) -> str:
    if not found.of:
        about = f", {found.about}," if found.about else ""
        text = found.subject or f"{_first(found.texts)}{about}"
        return f"{found.lead}{text} {found.verb}{found.tail}".rstrip()
    told = _first(found.texts)
    if found.labels:
        pairs = zip(found.labels, found.texts, strict=False)
        told = ", ".join(f"{label} ({quoted(text)})" for label, text in pairs)
    return (
        f"{found.lead}{len(found.texts)} of {found.of} {found.verb}{found.tail}: "
        f"{told}{found.about}"
    )


def _first(texts: tuple[str, ...]) -> str:
    return quoted(texts[0]) if texts else "something"


def _recalled(found: kinds.Recalled) -> str:
    told = found.answer or _first(found.texts)
    return f"{found.lead}{told}{found.tail}"


def _not_kept(found: kinds.NotKept) -> str:
    return found.subject or quoted((found.values or found.keys or ("",))[0])


def _raised(found: kinds.Raised) -> str:
    given = f" for {found.given}" if found.given else ""
    of = "" if not found.of else f"; {found.count} of {found.of} {found.unit} raised"
    return f"{found.lead}{found.who} raised {found.shown}{given}{found.tail}{of}{_call(found)}"


def _late(found: kinds.Late) -> str:
    if found.state == "running":
        return f"it had not returned after {found.took_s:g} s; it is at {''.join(found.at[:1])}"
    if found.state == "returned":
        subject = "they" if found.several else "it"
        return f"{subject} returned after {found.took_s:.1f} s{_with(found)}"
    waited = f"{found.hook or 'it'} had not returned after {found.took_s:.1f} s"
    return f"{waited}{_with(found)}{',' if found.given else ''} and was ended"


def _with(found: Any) -> str:
    """The input of a call, if it was a text."""
    return f", with {found.given}" if found.given else ""


def _froze(found: kinds.Froze) -> str:
    held = f"{found.hook} held the interpreter" if found.hook else "no thread ran between two hooks"
    ended = ", and the process was ended" if found.ended else ""
    still = "; ".join(found.computing[:_MOST_FRAMES])
    computed = f"; it computed at {still}" if still else ""
    return f"{held} for {found.held_s:.1f} s{_with(found)}{ended}{computed}"


def _died(found: kinds.Died) -> str:
    if found.own:
        return found.ending
    return f"the process ended {_during(found.hook)} ({found.ending})"


def _grew(found: kinds.Grew) -> str:
    if found.held_bytes:
        return f"{found.held_bytes:,} bytes"
    return f"the process held {found.held} {_during(found.hook)}, and was ended"


def _during(hook: str) -> str:
    return f"during {hook}" if hook else "between two hooks"


def _stopped(make: Callable[[Any], str]) -> Callable[[Any], str]:
    """A sentence about a process that was ended, with the frames in which it was."""

    def told(found: Any) -> str:
        is_over = getattr(found, "state", "ended") == "ended"
        at = "; ".join(found.at[:_MOST_FRAMES]) if is_over else ""
        return make(found) + _call(found) + (f"; stopped at {at}" if at else "")

    return told


def _call(found: Any) -> str:
    """The number of a call, unless it was the first one of its instance."""
    number = getattr(found, "number", 0)
    return f", in its {_ordinal(number)} call on one instance" if number > 1 else ""


def _ordinal(number: int) -> str:
    if number < len(_ORDINALS):
        return _ORDINALS[number]
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _meddled(found: kinds.Meddled) -> str:
    if not found.names:
        return _FORGED
    did = "written during the run" if found.written else "replaced"
    return f"{did}: {listed(found.names)}"


def _called(found: kinds.Called) -> str:
    return found.seen or (f"{found.times} calls" if found.times else "there was none")


def _changed(found: kinds.Changed) -> str:
    return f"{found.name}: {found.difference}" if found.name else found.difference


def _unfit(found: kinds.Unfit) -> str:
    return f"{found.at}: {found.fault}" if found.at else found.fault


def _opaque(found: kinds.Opaque) -> str:
    return f"evidence of the kind {quoted(found.name)}, which this kit does not know"


_OBSERVED: dict[type[Evidence], Callable[[Any], str]] = {
    kinds.NotRecalled: _not_recalled,
    kinds.Recalled: _recalled,
    kinds.Repeated: _around(lambda found: f"{found.times}{found.unit}"),
    kinds.NotKept: _around(_not_kept),
    kinds.Raised: _raised,
    kinds.Returned: _around(lambda found: found.value),
    kinds.Unfit: _around(_unfit),
    kinds.TooLong: _around(lambda found: f"{found.chars:,} characters"),
    kinds.Lacks: _around(lambda found: found.seen or ", ".join(found.names)),
    kinds.Surplus: _around(lambda found: found.seen or ", ".join(found.names)),
    kinds.Changed: _around(_changed),
    kinds.Unsteady: _around(lambda found: found.difference or ", ".join(found.values)),
    kinds.Late: _stopped(_around(_late)),
    kinds.Froze: _stopped(_around(_froze)),
    kinds.Died: _stopped(_around(_died)),
    kinds.Grew: _stopped(_around(_grew)),
    kinds.Left: _around(lambda found: _joined(found.names)),
    kinds.Acted: _around(lambda found: "; ".join(found.seen)),
    kinds.Wrote: _around(lambda found: ", ".join(found.paths)),
    kinds.Exposed: _around(lambda found: f"{found.place}: {found.excerpt}"),
    kinds.Meddled: _around(_meddled),
    kinds.Called: _around(_called),
    kinds.Misordered: _around(lambda found: found.seen or ", ".join(found.calls)),
    kinds.NotReported: _around(lambda found: found.seen or _NOTHING_SAID),
    kinds.Delimiter: _around(lambda found: found.seen or found.value),
    kinds.Differs: _around(lambda found: found.seen),
    kinds.KitFault: _around(lambda found: found.text),
    kinds.Opaque: _around(_opaque),
}
