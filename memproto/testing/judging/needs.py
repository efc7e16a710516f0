"""The thing that an open result waits for, by its reason: a setting, another rule, or other."""

import re

from memproto.testing.outcomes import Outcome
from memproto.testing.settings import keys

_BEHIND = re.compile(r"^(?:depends on|needs) (MP-[A-Z-]+-\d{3})\b")
_QUOTED = re.compile(r"`([a-z_]+(?:\.[a-z_]+)?)[^`]*`")


def settings(reason: str) -> list[str]:
    """The settings that a reason names after `needs:`, any of which may do."""
    _, sign, rest = reason.rpartition("needs:")
    if not sign:
        return []
    found = [name for name in _QUOTED.findall(rest) if name.partition(".")[0] in keys.KEYS]
    return list(dict.fromkeys(found))


def wanted(outcome: str, reason: str) -> str:
    """Key of a requirement with this reason: `need: backend`, `behind MP-SHUT-001`, ..."""
    behind = _BEHIND.match(reason)
    if behind:
        return f"behind {behind.group(1)}"
    names = settings(reason)
    if names:
        return f"need: {' or '.join(names)}"
    _, sign, rest = reason.rpartition("needs:")
    if sign:
        return f"need: {rest.strip()}"
    return outcome if outcome == Outcome.INCONCLUSIVE else "untestable"
