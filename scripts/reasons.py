"""
The reasons for which a check leaves a target out as it runs, read from the code of the checks.

A check raises `NotApplicable` with a reason. The requirement has to grant it: a sentence "*Not
applicable* if REASON." stands among its exemptions. Reasons of helpers that many checks share stand
in a section of the chapter on conformance. A part of a reason that is known only as the check runs
is any text in the sentence.
"""

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import memproto.testing
from memproto.testing import clauses
from memproto.testing.clauses import Check

SHARED = Path(memproto.testing.__file__).parent

#: Stands in a reason for text that is known only as the check runs.
HOLE = "{}"

_Function = ast.FunctionDef


class Module:
    """The functions of one module, with the reasons that each raises."""

    def __init__(self, path: Path) -> None:
        self._tree = ast.parse(path.read_text("utf-8"))
        self._constants = _assigned(self._tree.body)
        self.functions = {
            node.name: node for node in ast.walk(self._tree) if isinstance(node, _Function)
        }

    def reasons(self, function: _Function) -> Iterator[str]:
        """The reasons that a function raises itself."""
        local = {**self._constants, **_assigned(list(ast.walk(function)))}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _name(node.func) == "NotApplicable":
                yield _text(node.args[0], local)

    def reached(self, function: str) -> set[str]:
        """The functions of this module that one of it names, itself included, however far off."""
        found: set[str] = set()
        waiting = [function]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            named = {_name(node) for node in ast.walk(self.functions[name])}
            waiting += named & self.functions.keys()
        return found


@functools.cache
def checks_root() -> Path:
    """
    The directory of the checks that are judged by.

    It is `conformance` of a checkout, and a part of the package where that is installed.
    """
    check = next(iter(clauses.checks("provider").values()))
    path = Path(_code_path(check))
    return next(parent for parent in path.parents if parent.name == "conformance")


def _code_path(check: Check) -> str:
    return str(inspect.unwrap(check.function).__code__.co_filename)


@functools.cache
def module(path: Path) -> Module:
    """A module, read once."""
    return Module(path)


def of_check(check: Check) -> list[str]:
    """The reasons in the module of a check that it may raise, in their order."""
    function = inspect.unwrap(check.function)
    mine = module(Path(function.__code__.co_filename))
    found = [
        reason
        for name in mine.functions
        if name in mine.reached(function.__name__)
        for reason in mine.reasons(mine.functions[name])
    ]
    return list(dict.fromkeys(found))


def of_all(side: str) -> dict[str, list[str]]:
    """Requirement to the reasons of its check; those without one are left out."""
    found = {name: of_check(check) for name, check in clauses.checks(side).items()}  # type: ignore[arg-type]
    return {name: reasons for name, reasons in found.items() if reasons}


def shared() -> list[str]:
    """The reasons of helpers that the checks share."""
    found: dict[str, None] = {}
    for path in sorted(SHARED.rglob("*.py")):
        if path.name != "clauses.py" and "NotApplicable(" in path.read_text("utf-8"):
            one = module(path)
            found |= dict.fromkeys(
                reason for node in one.functions.values() for reason in one.reasons(node)
            )
    return list(found)


def unreached() -> list[str]:
    """Functions of the checks that raise a reason, and that no check is seen to name."""
    found: list[str] = []
    checks = [*clauses.checks("provider").values(), *clauses.checks("host").values()]
    functions = [inspect.unwrap(check.function) for check in checks]
    for path in sorted(checks_root().rglob("*.py")):
        mine = module(path)
        reached = {
            name
            for function in functions
            if Path(function.__code__.co_filename) == path
            for name in mine.reached(function.__name__)
        }
        found += [
            f"{path.relative_to(checks_root().parent)}: {name}"
            for name, node in mine.functions.items()
            if name not in reached and any(mine.reasons(node))
        ]
    return found


def sentence(reason: str) -> str:
    """The sentence that grants a reason; a hole in it is for an author to fill."""
    return f"*Not applicable* if {reason}."


def grants(said: str, reason: str) -> bool:
    """True if a sentence grants a reason; an end of it that is known only then may be missing."""
    fixed = reason.removesuffix(f": {HOLE}").removesuffix(f", by {HOLE}")
    parts = [re.escape(part) for part in fixed.split(HOLE)]
    return (
        re.fullmatch(rf"(?:- )?\*Not applicable\* if {'.+'.join(parts)}(?:[:;,] .+)?\.", said)
        is not None
    )


def _assigned(nodes: list[ast.AST] | list[ast.stmt]) -> dict[str, ast.expr]:
    """The value of each name that is assigned once."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _text(node: ast.expr, known: dict[str, ast.expr], depth: int = 0) -> str:
    """The text of an expression; a part that only a run knows is a hole."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in known and depth < 3:
        return _text(known[node.id], known, depth + 1)
    if isinstance(node, ast.JoinedStr):
        parts = [
            _text(part.value if isinstance(part, ast.FormattedValue) else part, known, depth)
            for part in node.values
        ]
        return "".join(parts)
    return HOLE


def _name(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))
