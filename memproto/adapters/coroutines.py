"""Which providers have coroutine hooks. It is asked of all of them, so asyncio stays out of it."""

import inspect

from memproto.adapters.members import found_without_running
from memproto.operations import CORE_HOOKS, EXTENSION_HOOKS

#: Every hook of an extension, by its native name.
EXTENSIONS = tuple(dict.fromkeys(h for hooks in EXTENSION_HOOKS.values() for h in hooks))

_HOOKS = tuple(dict.fromkeys((*CORE_HOOKS, *EXTENSIONS)))


def is_async(obj: object) -> bool:
    """
    Whether a hook of `obj`, a class or an instance, is a coroutine function.

    One is enough. Runs no property of `obj`.
    """
    return any(_is_coroutine_hook(found_without_running(obj, hook)) for hook in _HOOKS)


def _is_coroutine_hook(member: object) -> bool:
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    if inspect.iscoroutinefunction(member):
        return True
    # An object that is called as a hook; a proxy around a function is one too.
    called = inspect.getattr_static(type(member), "__call__", None)
    return inspect.isfunction(called) and inspect.iscoroutinefunction(called)
