"""
The operators by which a source is changed: some of cosmic-ray's, and those that it lacks.

Of cosmic-ray's replacements each operator has the one or two that a person would write by mistake:
all of them together are mostly changes that no program survives, and would flatter the score.
Text that no requirement fixes is not changed at all: docstrings, annotations, and the messages of
exceptions.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.operators import provider
from cosmic_ray.operators.operator import Example, Operator

#: A comparison to those that stand in for it: its opposite, and its neighbour at the bound.
_COMPARISONS = {
    "Eq": ("NotEq",),
    "NotEq": ("Eq",),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
_ARITHMETIC = {
    "Add": "Sub",
    "Sub": "Add",
    "Mul": "FloorDiv",
    "Div": "Mul",
    "FloorDiv": "Mul",
    "Mod": "Mul",
    "BitOr": "BitAnd",
    "BitAnd": "BitOr",
    "LShift": "RShift",
    "RShift": "LShift",
}
_OTHERS = (
    "AddNot",
    "NumberReplacer",
    "RemoveDecorator",
    "ReplaceAndWithOr",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_USub",
    "ZeroIterationForLoop",
)

_STRING = re.compile(r"""([rRuUbB]*)(\"{3}|'{3}|"|')(.*)\2""", re.DOTALL)

#: Put around a text, as mutmut does it: what compares it finds another one.
_MARK = "XX"

#: Statements without an effect, which nobody would miss.
_EMPTY = ("pass", "...")


class _OneLeaf(Operator):
    """An operator that changes a node in one way."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if self.is_changed(node):
            yield node.start_pos, node.end_pos

    def is_changed(self, node: Any) -> bool:
        """True if the operator changes this node."""
        raise NotImplementedError


class MarkText(_OneLeaf):
    """Makes another text of a literal."""

    def is_changed(self, node: Any) -> bool:
        if node.type != "string" or _STRING.fullmatch(node.value) is None:
            return False
        return not (_is_docstring(node) or _is_message(node))

    def mutate(self, node: Any, index: int) -> Any:
        letters, quote, text = _STRING.fullmatch(node.value).groups()  # type: ignore[union-attr]
        node.value = f"{letters}{quote}{_MARK}{text}{_MARK}{quote}"
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("x = 'a'", "x = 'XXaXX'"),)


class SwapMembership(_OneLeaf):
    """Makes `not in` of `in`, and `in` of `not in`; loops keep theirs."""

    def is_changed(self, node: Any) -> bool:
        return _is_in(node) or _is_not_in(node)

    def mutate(self, node: Any, index: int) -> Any:
        return parso.parse(" in" if _is_not_in(node) else " not in")

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("a in b", "a not in b"), Example("a not in b", "a in b"))


class RemoveStatement(_OneLeaf):
    """Leaves out a call, a `raise` or a `del`."""

    def is_changed(self, node: Any) -> bool:
        if node.parent is None or node.parent.type != "simple_stmt":
            return False
        is_act = node.type in ("atom_expr", "raise_stmt", "del_stmt", "await", "yield_expr")
        return (is_act or _is_keyword(node, "raise")) and node.get_code().strip() not in _EMPTY

    def mutate(self, node: Any, index: int) -> Any:
        return parso.parse(f"{node.get_first_leaf().prefix}pass")

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("f(1)\n", "pass\n"), Example("raise E\n", "pass\n"))


class ReturnNothing(_OneLeaf):
    """Has a function return None."""

    def is_changed(self, node: Any) -> bool:
        return node.type == "return_stmt" and node.children[1].get_code().strip() != "None"

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = parso.parse(" None")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("def f():\n    return 1\n", "def f():\n    return None\n"),)


class AssignNothing(_OneLeaf):
    """Assigns None in place of a value."""

    def is_changed(self, node: Any) -> bool:
        if node.type != "expr_stmt" or node.children[1].type == "annassign":
            return False
        return node.children[1].get_code().strip() == "=" and node.children[-1].type != "keyword"

    def mutate(self, node: Any, index: int) -> Any:
        node.children[-1] = parso.parse(" None")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("a = f(1)\n", "a = None\n"),)


class RemoveArgument(Operator):
    """Leaves out one keyword argument of a call, so that the default holds."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        for argument in self._named(node):
            yield argument.start_pos, argument.end_pos

    @staticmethod
    def _named(node: Any) -> list[Any]:
        if node.type != "trailer" or node.children[0].value != "(":
            return []
        inside = node.children[1]
        found = inside.children if inside.type == "arglist" else [inside]
        return [a for a in found if a.type == "argument" and a.children[1].get_code() == "="]

    def mutate(self, node: Any, index: int) -> Any:
        argument, inside = self._named(node)[index], node.children[1]
        if inside is argument:
            del node.children[1]
            return node
        place = inside.children.index(argument)
        # With the comma behind it, or before it if it is the last one.
        first = place if place + 1 < len(inside.children) else place - 1
        del inside.children[first : first + 2]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("f(1, a=2)", "f(1)"),
            Example("f(a=2, b=3)", "f( b=3)"),
            Example("f(a=2)", "f()"),
        )


class MissException(Operator):
    """Has a handler wait for another exception; cosmic-ray's operator takes bare names only."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        for kind in self._kinds(node):
            yield kind.start_pos, kind.end_pos

    @staticmethod
    def _kinds(node: Any) -> list[Any]:
        if node.type != "except_clause":
            return []
        kind = node.children[1]
        if kind.type != "atom":
            return [kind]
        inside = kind.children[1]
        return inside.children[::2] if inside.type == "testlist_comp" else [inside]

    def mutate(self, node: Any, index: int) -> Any:
        kind = self._kinds(node)[index]
        among = kind.parent.children
        among[among.index(kind)] = parso.parse(f"{kind.get_first_leaf().prefix}ZeroDivisionError")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("try: f()\nexcept a.B: pass", "try: f()\nexcept ZeroDivisionError: pass"),
            Example(
                "try: f()\nexcept (A, a.B): pass",
                "try: f()\nexcept (A, ZeroDivisionError): pass",
                occurrence=1,
            ),
        )


#: The operators that cosmic-ray has not.
OWN = (
    MarkText,
    SwapMembership,
    RemoveStatement,
    ReturnNothing,
    AssignNothing,
    RemoveArgument,
    MissException,
)


@functools.cache
def chosen() -> dict[str, Operator]:
    """The operators by name, in the order in which changes are made."""
    core = provider.OperatorProvider()
    pairs = [
        *(f"Comparison_Operator_{a}_{b}" for a, others in _COMPARISONS.items() for b in others),
        *(f"Binary_Operator_{a}_{b}" for a, b in _ARITHMETIC.items()),
    ]
    replaced = [f"Replace{name.replace('_Operator', 'Operator')}" for name in pairs]
    found = {f"core/{name}": core[name]() for name in (*replaced, *_OTHERS)}
    return found | {f"own/{operator.__name__}": operator() for operator in OWN}


# -- places that are left alone --------------------------------------------------------------------


def is_annotation(node: Any) -> bool:
    """True if the node stands in an annotation, which no caller of a provider reads."""
    while node.parent is not None:
        parent = node.parent
        if parent.type in ("tfpdef", "annassign"):
            mark = parent.children.index(node)
            if mark and _code(parent.children[mark - 1]) == ":":
                return True
        if parent.type == "funcdef" and _code(node.get_previous_sibling()) == "->":
            return True
        node = parent
    return False


def _is_docstring(node: Any) -> bool:
    return node.parent.type == "simple_stmt"


def _is_message(node: Any) -> bool:
    """True if the text is raised, or is put together from parts within what is raised."""
    while node is not None and node.type != "simple_stmt":
        if node.type == "raise_stmt":
            return True
        node = node.parent
    return False


def _is_in(node: Any) -> bool:
    compares = node.parent is not None and node.parent.type == "comparison"
    return compares and _is_keyword(node, "in")


def _is_not_in(node: Any) -> bool:
    return bool(node.type == "comp_op" and node.get_code().split() == ["not", "in"])


def _is_keyword(node: Any, word: str) -> bool:
    return bool(node.type == "keyword" and node.value == word)


def _code(node: Any) -> str:
    return node.get_code().strip() if node is not None else ""
