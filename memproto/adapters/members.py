"""The members of a provider: those of its class and its own, and those that a proxy answers for."""

import inspect
from typing import Any

_ABSENT = object()


def found_without_running(obj: object, member: str) -> Any:
    """
    The member of `obj`, a class or an instance, as it is defined; None where there is none.

    Runs no property. A member that an instance does not define is asked for where its class answers
    for other members, by `__getattr__` or `__getattribute__`: a proxy defines no hook of its own.
    """
    found = inspect.getattr_static(obj, member, _ABSENT)
    if found is not _ABSENT:
        return found
    if issubclass(type(obj), type) or not _answers(type(obj)):
        return None
    try:
        return getattr(obj, member, None)
    except Exception:  # the class's own code: it has no such member
        return None


def _answers(kind: type) -> bool:
    """True if the instances of a class have members that it does not define."""
    asks = inspect.getattr_static(kind, "__getattribute__", object.__getattribute__)
    return asks is not object.__getattribute__ or hasattr(kind, "__getattr__")
