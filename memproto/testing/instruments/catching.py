"""
The clause by which a line's exception is caught, read from the source of a file.

An exception that code expects has a clause of its own class: `except KeyError`. A clause for every
exception (`except Exception`, a bare `except`, `suppress(Exception)`) that goes on without raising
is one behind which a fault disappears.
"""

import ast
import functools
import linecache
from collections.abc import Iterator
from typing import NamedTuple

#: Names of the classes that stand for every exception.
_EVERY = frozenset({"Exception", "BaseException"})

#: Statements by which a clause goes on as if nothing had happened.
_IDLE = (ast.Pass, ast.Continue, ast.Break)

_Catcher = ast.ExceptHandler | ast.With | ast.AsyncWith


class Clause(NamedTuple):
    """
    A clause that catches every exception and goes on.

    Attributes:
        line: The number of its line.
        is_idle: True if nothing else happens in it.

    """

    line: int
    is_idle: bool


def clause(path: str, line: int, names: tuple[str, ...]) -> Clause | None:
    """
    The clause for every exception by which one that came through a line is caught and not raised.

    `names` are those of the exception's class and its bases. None if a clause for some exceptions
    catches it, if what catches it raises, or if the source does not say so.
    """
    for catcher in _catchers(path, line):
        caught = _caught(catcher)
        if caught is None:
            # Its classes have names that only the running program knows.
            return None
        if not caught & {*names}:
            continue
        if not caught & _EVERY or _raises(catcher):
            return None
        return Clause(catcher.lineno, _is_idle(catcher))
    return None


def _catchers(path: str, line: int) -> Iterator[_Catcher]:
    """The clauses that may catch an exception of a line, in the order in which they are asked."""
    around = [node for node in ast.walk(_tree(path)) if _spans(node, line)]
    for node in sorted(around, key=_start, reverse=True):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        if isinstance(node, ast.Try) and any(_spans(one, line) for one in node.body):
            yield from node.handlers
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield node


@functools.lru_cache(maxsize=32)
def _tree(path: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _spans(node: ast.AST, line: int) -> bool:
    end = getattr(node, "end_lineno", None)
    return end is not None and _start(node) <= line <= end


def _start(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _caught(catcher: _Catcher) -> set[str] | None:
    """The names of the classes that it catches, maybe none; None if they are not known."""
    if isinstance(catcher, ast.ExceptHandler):
        return {"BaseException"} if catcher.type is None else _names([catcher.type])
    calls = [item.context_expr for item in catcher.items]
    suppressing = [
        one for one in calls if isinstance(one, ast.Call) and _name(one.func) == "suppress"
    ]
    return _names([kind for call in suppressing for kind in call.args])


def _names(kinds: list[ast.expr]) -> set[str] | None:
    found: set[str] = set()
    for kind in kinds:
        if isinstance(kind, ast.Tuple):
            found |= _names(kind.elts) or set()
        elif name := _name(kind):
            found.add(name)
        else:
            return None
    return found


def _raises(catcher: _Catcher) -> bool:
    """True if a clause may raise by itself, and so may tell its caller."""
    body = catcher.body if isinstance(catcher, ast.ExceptHandler) else []
    return any(isinstance(one, ast.Raise) for statement in body for one in ast.walk(statement))


def _name(node: ast.expr) -> str:
    """The last part of a name; "" for any other expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_idle(catcher: _Catcher) -> bool:
    if not isinstance(catcher, ast.ExceptHandler):
        return True
    return all(
        isinstance(one, _IDLE)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.Return) and isinstance(one.value, ast.Constant | None))
        for one in catcher.body
    )
