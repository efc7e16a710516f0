"""The red rows of a report in the order in which a reader mends them: each root, then the rest."""

from collections.abc import Iterable
from typing import Any

from memproto import spec
from memproto.report import verdicts
from memproto.testing import cascades
from memproto.testing.outcomes import Outcome

#: Outcomes that are told, the most urgent first.
_URGENCY = (Outcome.KIT_ERROR, Outcome.FAIL, Outcome.WARN)


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    The rows that are red or warn, each root before the rows that follow from it.

    Of the roots the first is the one for which most open rows wait; of those for which as many
    wait, one of the lowest class.
    """
    found = list(rows)
    behind = cascades.behind(found)
    red = [row for row in found if row["outcome"] in _URGENCY]
    names = {row["id"] for row in red}
    roots = [row for row in red if row.get("follows") not in names]
    followers = [row for row in red if row.get("follows") in names]

    def rank(row: dict[str, Any]) -> tuple[int, int, int]:
        hidden = len(behind.get(row["id"], ()))
        return _URGENCY.index(row["outcome"]), -hidden, spec.CLASSES.index(verdicts.class_of(row))

    ordered: list[dict[str, Any]] = []
    for root in sorted(roots, key=rank):
        ordered += [root, *(row for row in followers if row["follows"] == root["id"])]
    return ordered
