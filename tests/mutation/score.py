"""The score of a subject, counted from verdicts and from the rows of those that survived."""

from collections import Counter
from collections.abc import Iterable

from tests.mutation.changes import Change
from tests.mutation.figures import Score
from tests.mutation.judges import Verdict
from tests.mutation.survivors import Survivor, row_of


def score(
    subject: str,
    made: int,
    judged: Iterable[tuple[Change, Verdict]],
    rows: Iterable[Survivor],
) -> Score:
    """The figures of changes that were judged."""
    found, known = [*judged], [*rows]
    classes: Counter[str] = Counter()
    for change, verdict in found:
        if not verdict.is_killed:
            row = row_of(change.key, known)
            classes[row.kind if row else ""] += 1
    killed = [verdict for _, verdict in found if verdict.is_killed]
    late = sum(verdict.is_late and not verdict.red for verdict in killed)
    return Score(subject, made, len(found), len(killed), late, dict(classes))
