"""The changes that are judged: a seeded sample, or those of changed lines."""

import random
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.changes import Change, changes, distinct
from tests.mutation.subjects import ROOT, Subject

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def sample(
    subject: Subject, most: int, seed: int, *, only: Iterable[Change] | None = None
) -> list[Change]:
    """
    At most so many changes of a subject, drawn by the seed; all of them in that order for 0.

    A larger sample of the same seed begins with the smaller one, so that a run can be extended.
    """
    drawn = list(changes(subject) if only is None else only)
    random.Random(f"{subject.name} {seed}").shuffle(drawn)
    found = []
    for change in distinct(iter(drawn)):
        found.append(change)
        if len(found) == most:
            break
    return found


def of_changed_lines(found: Iterable[Change], reference: str, root: Path = ROOT) -> list[Change]:
    """
    Those that touch a line which differs from a commit.

    Raises:
        subprocess.CalledProcessError: git does not know the commit.

    """
    touched: dict[Path, set[int]] = {}
    kept = []
    for change in found:
        if change.source not in touched:
            touched[change.source] = changed_lines(change.source, reference, root)
        if touched[change.source].intersection(change.lines):
            kept.append(change)
    return kept


def changed_lines(source: Path, reference: str, root: Path = ROOT) -> set[int]:
    """The numbers of the lines of a file that differ from a commit, as the file has them now."""
    words = ["git", "diff", "--unified=0", reference, "--", source.as_posix()]
    told = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout
    found: set[int] = set()
    for first, count in _HUNK.findall(told):
        found.update(range(int(first), int(first) + int(count or 1)))
    return found
