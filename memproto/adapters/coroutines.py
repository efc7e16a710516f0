"""Tells providers with coroutine hooks. It is asked of all of them, so asyncio stays out of it."""

import functools
import inspect
import types
from typing import Any

from memproto.adapters.members import found_without_running
from memproto.operations import CORE_HOOKS, EXTENSION_HOOKS

#: Every hook of an extension, by its native name.
EXTENSIONS = tuple(dict.fromkeys(h for hooks in EXTENSION_HOOKS.values() for h in hooks))

_HOOKS = tuple(dict.fromkeys((*CORE_HOOKS, *EXTENSIONS)))


def is_async(obj: object) -> bool:
    """
    True if a hook of `obj`, a class or an instance, is a coroutine function.

    One is enough. Runs no property of `obj`.
    """
    return any(_is_coroutine_hook(found_without_running(obj, hook)) for hook in _HOOKS)


def _is_coroutine_hook(member: object) -> bool:
    if member is None:
        return False
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    if is_coroutine_function(member):
        return True
    if type(member) is types.FunctionType:
        return False
    # An object that is called as a hook; a proxy around a function is one too.
    called = inspect.getattr_static(type(member), "__call__", None)
    return inspect.isfunction(called) and inspect.iscoroutinefunction(called)


def is_coroutine_function(member: object) -> bool:
    """
    True if a call of `member` gives a coroutine.

    A stand-in of `unittest.mock` for a function has a stand-in for its code as well, of which every
    flag looks set.
    """
    if not inspect.iscoroutinefunction(member):
        return False
    function: Any = member
    while isinstance(function, functools.partial | types.MethodType):
        is_partial = isinstance(function, functools.partial)
        function = getattr(function, "func" if is_partial else "__func__")
    return isinstance(getattr(getattr(function, "__code__", None), "co_flags", 0), int)
