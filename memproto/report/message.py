"""The message of a failure: seven labelled lines, in the author's own terms."""

import re
import shlex

from memproto import spec
from memproto.testing import untrusted_text
from memproto.testing.outcomes import NO_SCRIPT, Outcome, Result
from memproto.testing.settings.order import Order
from memproto.types import SPEC_VERSION

#: The class in a `where`, as in `agent.py:12 in MyDriver.turn`.
_CLASS = re.compile(r" in (?P<name>[A-Za-z_]\w*)\.\w+$")


def render(result: Result, order: Order) -> str:
    """
    The text that an author reads.

    Rule, level, fix and clause come from the catalogue; the check supplied the rest.
    """
    if result.outcome is Outcome.KIT_ERROR:
        said = untrusted_text.lines(result.observed).replace("\n", "\n  ")
        return f"{result.id}: the kit itself failed; please report this\n  {said}"
    requirement = spec.requirement(result.id)
    lines = {
        "rule": requirement.text,
        "expected": result.expected,
        "observed": result.observed,
        "where": result.where or "(not known)",
        "reproduce": reproduce(result, order),
        "fix": fix(result, order),
        "clause": requirement.clause,
    }
    head = f"{result.id} ({requirement.level}) is violated by {order.side} {order.target!r}"
    body = "\n".join(f"  {label:<9} {_indented(text)}" for label, text in lines.items())
    return f"{head}\n{body}" + _stack(result)


def fix(result: Result, order: Order) -> str:
    """The change to make; of a host with the class whose step it is about."""
    found = spec.requirement(result.id).fix
    held = _CLASS.search(result.where) if order.side == "host" else None
    return f"In {held['name']}: {found}" if held else found


def reproduce(result: Result, order: Order) -> str:
    """The command that shows the same again, from the same directory; a script's where one is."""
    command = _command(result, order)
    if result.replay == NO_SCRIPT:
        return f"{command}  # no script: calls alone do not show it"
    if result.replay:
        return f"{shlex.join(['python', result.replay])}  # or: {command}"
    return command


def _command(result: Result, order: Order) -> str:
    flag = "--memproto-host" if order.side == "host" else "--memproto"
    words = ["pytest", f"{flag}={order.target}"]
    words += [f"--memproto-clause={item}" for item in (*result.after, result.seen_in or result.id)]
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
    return shlex.join(words)


def _indented(text: str) -> str:
    return untrusted_text.lines(text).replace("\n", "\n" + " " * 12)


def _stack(result: Result) -> str:
    if not result.stack:
        return ""
    return "\n  the provider's frames, innermost first:\n" + "\n".join(
        f"    {untrusted_text.one_line(line)}" for line in result.stack.splitlines()
    )
