"""The members of a provider: those of its class and its own, and those that a proxy answers for."""

import inspect
import types
from typing import Any

_ABSENT = object()

#: By what the objects of nearly every class give their names.
_NAMES = type.__dict__["__dict__"]


def found_without_running(obj: object, member: str) -> Any:
    """
    The member of `obj`, a class or an instance, as it is defined; None where there is none.

    Runs no property. A member that an instance does not define is asked for where its class answers
    for other members, by `__getattr__` or `__getattribute__`: a proxy defines no hook of its own.
    """
    found = _defined(obj, member)
    if found is not _ABSENT:
        return found
    if issubclass(type(obj), type) or not _answers(type(obj)):
        return None
    try:
        return getattr(obj, member, None)
    except Exception:  # the class's own code: it has no such member
        return None


def _defined(obj: object, member: str) -> Any:
    """
    As `inspect.getattr_static`, which takes ten times as long; `_ABSENT` where there is none.

    A plain object is one whose class is of no metaclass, and gives its names as any object does.
    The classes of such a class are of none either, so no code but the interpreter's runs here.
    """
    kind = type(obj)
    if type(kind) is not type or isinstance(obj, type):
        return inspect.getattr_static(obj, member, _ABSENT)
    found = _ABSENT
    for base in kind.__mro__:
        names = base.__dict__
        if type(names.get("__dict__", _NAMES)) is not types.GetSetDescriptorType:
            return inspect.getattr_static(obj, member, _ABSENT)
        if found is _ABSENT:
            found = names.get(member, _ABSENT)
    try:
        own = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return found
    # The object's own comes before the class's, unless that is a data descriptor.
    return inspect.getattr_static(obj, member, _ABSENT) if dict.__contains__(own, member) else found


def _answers(kind: type) -> bool:
    """True if the instances of a class have members that it does not define."""
    asks = inspect.getattr_static(kind, "__getattribute__", object.__getattribute__)
    return asks is not object.__getattribute__ or hasattr(kind, "__getattr__")
