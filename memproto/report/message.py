"""The message of a failure: labelled lines, in the author's own terms."""

import re

from memproto import shell, spec
from memproto.report.formats import source_line
from memproto.testing import untrusted_text
from memproto.testing.evidence import Froze, Late, NotRecalled, Raised
from memproto.testing.outcomes import NO_SCRIPT, Outcome, Result
from memproto.testing.settings.order import Order
from memproto.types import SPEC_VERSION

#: In place of a script, where calls alone do not show the violation.
_NO_SCRIPT = "none: calls alone do not show it"

#: The repair of a hook that hangs, though its first call on that instance had returned.
_AGAIN = (
    "An earlier call on this instance returned: give back each lock that it took, leave nothing to "
    "wait for that it ended, and return early if nothing is left to do."
)

#: The repair of a loss that was seen behind a write which removes something else.
_REMOVAL = (
    "A removal or a replacement came in between: let it change the entry alone that it names, in "
    "its own target and of its own user."
)

#: The repair of a step of a host that raised.
_STEP = (
    "If that exception is the host's own, mend it first: the step ended there. The fix is for an "
    "exception of a provider that the host let through."
)

#: The class in a `where`, as in `agent.py:12 in MyDriver.turn`.
_CLASS = re.compile(r" in (?P<name>[A-Za-z_]\w*)\.\w+$")


#: A violation that more checks have to run before than this is shown again by a whole run.
_MOST_BEFORE = 40

#: The lines of a violation that follows from another one, unless all are asked for.
_BRIEF = ("follows", "observed", "where", "reproduce")

#: The lines that every violation has.
_ALWAYS = ("rule", "expected", "observed", "where", "reproduce", "fix", "clause")


def render(result: Result, order: Order, *, is_brief: bool = False) -> str:
    """
    The text that an author reads.

    Rule, level, fix and clause come from the catalogue; the check supplied the rest. A brief one
    leaves out of a violation that follows from another one everything that its root says.
    """
    if result.outcome is Outcome.KIT_ERROR:
        said = untrusted_text.lines(result.observed).replace("\n", "\n  ")
        return f"{result.id}: the kit itself failed; please report this\n  {said}"
    requirement = spec.requirement(result.id)
    excerpt = source_line.excerpt(result.where, order.directory)
    lines = {
        "follows": f"{result.follows}: mend that first" if result.follows else "",
        "rule": requirement.text,
        "expected": result.expected,
        "observed": result.observed,
        "where": "\n".join(filter(None, (result.where or "(not known)", excerpt))),
        "swallowed": _swallowed(result, order),
        "log": "\n".join(result.log),
        "reproduce": reproduce(result, order),
        "script": script(result) if result.replay == NO_SCRIPT else "",
        "advice": advice(result),
        "fix": fix(result, order),
        "clause": requirement.clause,
    }
    is_short = is_brief and bool(result.follows)
    if is_short:
        lines = {label: lines[label] for label in _BRIEF}
    head = f"{result.id} ({requirement.level}) is violated by {order.side} {order.target!r}"
    told = ((label, text) for label, text in lines.items() if text or label in _ALWAYS)
    body = "\n".join(f"  {label:<9} {_indented(text)}" for label, text in told)
    return f"{head}\n{body}" + ("" if is_short else _stack(result))


def advice(result: Result) -> str:
    """The likely repair, if the evidence tells more of it than the catalogue; "" if not."""
    seen = result.evidence
    if isinstance(seen, Late | Froze) and seen.number > 1:
        return _AGAIN
    if isinstance(seen, Raised) and not seen.wanted and spec.requirement(result.id).side == "host":
        return _STEP
    return _REMOVAL if isinstance(seen, NotRecalled) and seen.removed else ""


def _swallowed(result: Result, order: Order) -> str:
    """The exception that the provider logged and went on, at its line; "" for none."""
    if not result.swallowed:
        return ""
    error, raised, logged = (*result.swallowed, "", "")[:3]
    shown = source_line.excerpt(raised, order.directory)
    told = (f"{error}, at {logged}", raised and f"raised at {raised}", shown)
    return "\n".join(filter(None, told))


def script(result: Result) -> str:
    """The replay script, or why there is none; "" where none was asked for."""
    return _NO_SCRIPT if result.replay == NO_SCRIPT else result.replay


def in_summary(result: Result) -> str:
    """The one line behind the name of a red item: what was observed."""
    said = result.observed or result.reason
    return untrusted_text.one_line(f"follows {result.follows}: {said}" if result.follows else said)


def fix(result: Result, order: Order) -> str:
    """The change to make; of a host with the class whose step it is about."""
    found = spec.requirement(result.id).fix
    held = _CLASS.search(result.where) if order.side == "host" else None
    return f"In {held['name']}: {found}" if held else found


def reproduce(result: Result, order: Order) -> str:
    """The command that shows the same again, from the same directory; a script's where one is."""
    command = _command(result, order)
    if result.replay and result.replay != NO_SCRIPT:
        return f"{shell.join(['python', result.replay])}  # or: {command}"
    return command


def _command(result: Result, order: Order) -> str:
    flag = "--memproto-host" if order.side == "host" else "--memproto"
    words = ["pytest", f"{flag}={order.target}"]
    if len(result.after) <= _MOST_BEFORE:
        clauses = (*result.after, result.seen_in or result.id)
        words += [f"--memproto-clause={item}" for item in clauses]
    if order.profile != "quick":
        words.append(f"--memproto-profile={order.profile}")
    if order.settings.named:
        words.append(f"--memproto-settings={order.settings.named}")
    if order.settings.trusts_package:
        words.append("--memproto-trust-package")
    if order.seed:
        words.append(f"--memproto-seed={order.seed}")
    if order.release != SPEC_VERSION:
        words.append(f"--memproto-spec={order.release}")
    return shell.join(words)


def _indented(text: str) -> str:
    return untrusted_text.lines(text).replace("\n", "\n" + " " * 12)


def _stack(result: Result) -> str:
    if not result.stack:
        return ""
    return "\n  the provider's frames, innermost first:\n" + "\n".join(
        f"    {untrusted_text.one_line(line)}" for line in result.stack.splitlines()
    )
