"""
Changes of a source: each is one occurrence of one operator, with a key that outlives small edits.

A change is found again by the definition that it stands in and by its lines before and after, and
not by the number of a line: an edit elsewhere in the file leaves its key as it is.
"""

import dataclasses
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.work_item import MutationSpec, WorkItem

from tests.mutation.keys import Key
from tests.mutation.operators import chosen, is_annotation
from tests.mutation.subjects import ROOT, Subject


@dataclasses.dataclass(frozen=True)
class Change:
    """
    One occurrence of one operator in a file; what it makes of the file is made when it is asked.

    Attributes:
        subject: The one whose source is changed.
        source: The file, below the checkout.
        operator: Its name in `operators.chosen`.
        occurrence: Number of the place, as cosmic-ray counts them.
        start: Line and column of the place, lines from 1 and columns from 0.
        end: The place behind it.
        definition: Names of the classes and functions around it, joined by dots.
        before: The text of the file.

    """

    subject: Subject
    source: Path
    operator: str
    occurrence: int
    start: tuple[int, int]
    end: tuple[int, int]
    definition: str
    before: str = dataclasses.field(repr=False)

    @functools.cached_property
    def after(self) -> str:
        """The changed text of the file, or "" if nothing changed or it is no program."""
        found = mutate_code(self.before, chosen()[self.operator], self.occurrence)
        if found is None or found == self.before:
            return ""
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(found, str(self.source), "exec")
        except (SyntaxError, ValueError):
            return ""
        return found

    @functools.cached_property
    def key(self) -> Key:
        """The name of the change; it needs one that `after` can make."""
        was, now, first = _difference(self.before, self.after)
        where = f"{self.source.as_posix()}:{self.definition}"
        return Key(self.subject.name, where, was, now, self._nth(was.split("\n")[0], first))

    def _nth(self, line: str, first: int) -> int:
        """Counts the equal lines of the same definition up to this one."""
        spans = _definitions(self.before)
        lines = self.before.splitlines()
        return sum(
            spans[number] == spans[first] and lines[number].strip() == line
            for number in range(first + 1)
        )

    @property
    def lines(self) -> range:
        """The lines that it touches, from 1."""
        return range(self.start[0], self.end[0] + 1)

    @property
    def item(self) -> WorkItem:
        """The change as cosmic-ray's book has it."""
        return WorkItem.single(
            self.key.digest,
            MutationSpec(
                module_path=self.source,
                operator_name=self.operator,
                occurrence=self.occurrence,
                start_pos=self.start,
                end_pos=self.end,
                definition_name=self.definition or None,
            ),
        )


def changes(subject: Subject, root: Path = ROOT) -> Iterator[Change]:
    """All changes of a subject, file after file; some have no `after`."""
    operators = chosen()
    for source in subject.sources(root):
        before = (root / source).read_text("utf-8")
        counts = dict.fromkeys(operators, 0)
        for node in ast_nodes(get_ast(before)):
            for name, operator in operators.items():
                for start, end in operator.mutation_positions(node):
                    occurrence, counts[name] = counts[name], counts[name] + 1
                    if start < end and not is_annotation(node):
                        place = (name, occurrence, start, end, _definition(node))
                        yield Change(subject, source, *place, before)


def distinct(found: Iterator[Change]) -> Iterator[Change]:
    """Those that can be made, each text once: two operators may do the same."""
    seen: set[str] = set()
    for change in found:
        if change.after and change.key.digest not in seen:
            seen.add(change.key.digest)
            yield change


def _definition(node: Any) -> str:
    names: list[str] = []
    while node is not None:
        if node.type in ("funcdef", "classdef"):
            names.insert(0, node.name.value)
        node = node.parent
    return ".".join(names)


@functools.lru_cache(maxsize=4)
def _definitions(text: str) -> list[str]:
    """For each line the definition that its first statement stands in."""
    found = [""] * (len(text.splitlines()) + 1)
    for node in ast_nodes(get_ast(text)):
        if node.type in ("funcdef", "classdef"):
            for number in range(node.start_pos[0] - 1, node.end_pos[0]):
                if number < len(found):
                    found[number] = _definition(node)
    return found


def _difference(before: str, after: str) -> tuple[str, str, int]:
    """The lines that differ, before and after, and the number of the first, from 0."""
    old, new = before.splitlines(), after.splitlines()
    first = _alike(old, new)
    behind = min(_alike(old[::-1], new[::-1]), len(old) - first, len(new) - first)
    return _bare(old[first : len(old) - behind]), _bare(new[first : len(new) - behind]), first


def _alike(old: list[str], new: list[str]) -> int:
    """The number of lines in which two texts begin alike."""
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return number
    return min(len(old), len(new))


def _bare(lines: list[str]) -> str:
    return "\n".join(line.strip() for line in lines)
