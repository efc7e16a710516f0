"""
Calling a hook with what its own signature accepts.

Providers of one dialect differ in the names and the number of their parameters. An argument that a
host hands over by position is passed as it is; a keyword is passed only if it is taken.
"""

import dataclasses
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """
    The arguments that one callable accepts.

    Attributes:
        positions: The parameters that can be given by position, in order, without `*args`.
        names: The parameters that can be given by keyword, without `**kwargs`.
        takes_any_keyword: True if it has `**kwargs`.

    """

    positions: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    takes_any_keyword: bool = False

    def takes(self, keyword: str) -> bool:
        """True if `keyword` can be given by keyword, to a parameter or to `**kwargs`."""
        return self.takes_any_keyword or keyword in self.names

    def select(self, given: int, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the `keywords` that are taken beside the first `given` positions."""
        filled = self.names.intersection(self.positions[:given])
        return {k: v for k, v in keywords.items() if self.takes(k) and k not in filled}


#: For a callable whose signature cannot be inspected: arguments by position only.
UNKNOWN = Binding()

# Two tables, since a function reads differently once its first parameter is bound. The keys are
# plain functions, which are shared by all instances and compared by identity.
_bound: weakref.WeakKeyDictionary[FunctionType, Binding] = weakref.WeakKeyDictionary()
_plain: weakref.WeakKeyDictionary[FunctionType, Binding] = weakref.WeakKeyDictionary()


def binding_of(function: Callable[..., Any]) -> Binding:
    """
    Returns what `function` accepts, `UNKNOWN` where that cannot be inspected.

    Inspected once for each underlying function; safe from any thread.
    """
    known = _bound if inspect.ismethod(function) else _plain
    key = getattr(function, "__func__", function) if known is _bound else function
    if not isinstance(key, FunctionType):
        return _inspect(function)
    binding = known.get(key)
    if binding is None:
        binding = known[key] = _inspect(function)
    return binding


def call_with_accepted(
    function: Callable[..., _Result],
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
    named: Mapping[str, Any] | None = None,
) -> _Result:
    """
    Calls `function` with all of `positional` and what it takes of the rest.

    Args:
        function: Any callable; one that cannot be inspected gets `positional` alone.
        positional: Passed whole and in order, whatever the parameters are called.
        keywords: Each passed where a parameter has its name, or where there is a `**kwargs`.
        named: Each passed where a parameter has its name, never into a `**kwargs`.

    Raises whatever the call raises, the TypeError for an argument that is required and that no
    host gives included.

    """
    binding = binding_of(function)
    offered = {k: v for k, v in (named or {}).items() if k in binding.names}
    return function(*positional, **binding.select(len(positional), {**keywords, **offered}))


def _inspect(function: Callable[..., Any]) -> Binding:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return UNKNOWN
    return Binding(
        positions=tuple(p.name for p in parameters if p.kind in _POSITIONAL),
        names=frozenset(p.name for p in parameters if p.kind in _KEYWORD),
        takes_any_keyword=any(p.kind is p.VAR_KEYWORD for p in parameters),
    )
