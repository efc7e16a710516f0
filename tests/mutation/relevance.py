"""
The order in which a change meets the requirements, so that most die within seconds.

The order is no part of a verdict: a change survives only if all requirements were judged. It is
read from three things. The names in the source tell which hooks reach the changed definition. The
catalogue and the kept costs of the checks tell which requirements call these hooks. And the book
tells which requirements have killed so far, here and in the same definition.
"""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast

from memproto import operations, spec
from memproto.testing.judging import forecast
from tests.mutation.changes import Change

#: The weight of a requirement that calls none of the hooks in question.
_ELSEWHERE = 0.05

#: The weight of a requirement that is about one of the hooks.
_OWN = 3.0

#: Requirements that are picked; the others keep the catalogue's order, in which a chapter has one
#: process.
_FIRST = 25

#: Kills that a requirement is thought to have before any is known.
_UNKNOWN = 0.2

#: A kill in the same definition counts as so many.
_NEAR = 5

_OPERATION_OF = {row.native: row.name for row in operations.OPERATIONS.values()}


def order(change: Change, took_s: dict[str, float], kills: Iterable[tuple[str, str]]) -> list[str]:
    """
    The requirements, the most promising first for the seconds that its check takes.

    `took_s` are the seconds of each check on the subject as it is; `kills` are requirements with
    the definition, `FILE:Class.function`, in which each has killed.
    """
    where = f"{change.source.as_posix()}:{change.definition}"
    counts = dict.fromkeys(took_s, _UNKNOWN)
    for name, definition in kills:
        if name in counts:
            counts[name] += _NEAR if definition == where else 1
    reached = reaching(change)

    def worth(name: str) -> float:
        weight = 1.0 if not reached or reached & _called(name) else _ELSEWHERE
        if spec.requirement(name).operation in reached:
            weight *= _OWN
        return counts[name] * weight / (took_s[name] + 0.05)

    first = sorted(took_s, key=worth, reverse=True)[:_FIRST]
    return [*first, *(name for name in took_s if name not in first)]


@functools.cache
def _called(requirement: str) -> frozenset[str]:
    """The operations that the check of a requirement calls for the sake of the requirement."""
    named = spec.requirement(requirement).operation
    costs = forecast.costs().get(requirement)
    return frozenset({named, *(costs.calls if costs else ())}) - {"", "load", "open", "close"}


def reaching(change: Change) -> set[str]:
    """The operations whose hooks reach a change, by the names in the files of its subject."""
    users = _users(change.subject.sources(), change.before)
    last = change.definition.rpartition(".")[2] or change.key.was.partition(" ")[0]
    seen: set[str] = set()
    pending = [last]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += users.get(name, ())
    return {_OPERATION_OF[name] for name in seen if name in _OPERATION_OF}


def _users(sources: list[Path], before: str) -> dict[str, set[str]]:
    from tests.mutation.subjects import ROOT

    texts = tuple((ROOT / source).read_text("utf-8") for source in sources)
    return _users_of(texts if before in texts else (before,))


@functools.lru_cache(maxsize=2)
def _users_of(texts: tuple[str, ...]) -> dict[str, set[str]]:
    """For each name the functions, and the values of modules and classes, that use it."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for node in ast_nodes(get_ast(text)):
            if node.type == "name" and (user := _owner(node)):
                found.setdefault(node.value, set()).add(user)
    return found


def _owner(node: Any) -> str:
    """The function that a name stands in, or the value that is made of it."""
    statement = ""
    while node is not None:
        if node.type == "funcdef":
            return str(node.name.value)
        if node.type == "expr_stmt":
            statement = node.children[0].get_code().strip()
        node = node.parent
    return statement
