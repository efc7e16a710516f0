"""The installed hermes-agent: its version, its base class, and what a provider makes of it."""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import re
import sys
from typing import Any

from memproto.adapters.hermes import HOST_CALLS

#: Modules that hermes-agent installs at the top and that providers import.
MODULES = (
    *("agent", "plugins", "hermes_cli", "hermes_constants", "hermes_state", "hermes_logging"),
    *("hermes_time", "hermes_bootstrap", "tools", "toolsets", "gateway", "cron", "utils"),
)

_BASE = "agent.memory_provider"

#: The release whose calls `HOST_CALLS` are.
_JUDGED = "0.19"

#: Hooks that a release after it has.
_LATER = ("recall_status", "unavailable_reason", "initialize_for_inspection")

#: Every hook that some known release's base class has.
HOOKS = frozenset((*HOST_CALLS, *_LATER))


def version() -> str:
    """The version of the installed hermes-agent, or ""."""
    try:
        return importlib.metadata.version("hermes-agent")
    except importlib.metadata.PackageNotFoundError:
        return ""


def import_ahead(target: str) -> None:
    """
    Import what a Hermes host has imported long before it loads a provider, where it is installed.

    The effects of these imports are then no work of the provider's. Never raises.
    """
    if not version():
        return
    with contextlib.suppress(Exception):
        importlib.import_module(_BASE)
    if target.startswith("hermes:"):
        with contextlib.suppress(Exception):
            importlib.import_module("plugins.memory")
    furnish()


def furnish() -> None:
    """
    Have the installed host make what it keeps in every home, in the one of the environment.

    It does so when it starts, and wherever its configuration is read: what a provider finds there
    is no work of the provider's, which may be the first to read it. Never raises.
    """
    if version():
        with contextlib.suppress(Exception):
            importlib.import_module("hermes_cli.config").ensure_hermes_home()


def base_class() -> type | None:
    """The base class of the installed host, where it could be imported."""
    found = getattr(sys.modules.get(_BASE), "MemoryProvider", None)
    return found if version() and isinstance(found, type) else None


def hooks_of_base() -> frozenset[str] | None:
    """The hooks that the installed host's base class has; None where there is none."""
    base = base_class()
    return None if base is None else frozenset(dir(base))


def notes(provider: Any) -> tuple[str, ...]:
    """Relation of a Hermes provider to the installed host's base class, if they differ."""
    base = base_class()
    if base is None:
        return ("judged by its shape: hermes-agent is not installed",)
    return (*_standing(provider, base), *_skew(provider, base))


def _standing(provider: Any, base: type) -> tuple[str, ...]:
    """Relation of the provider's class to the base class; nothing for one that inherits from it."""
    if isinstance(provider, base):
        return ()
    host = f"hermes-agent {version()}"
    stub = next((kind for kind in type(provider).__mro__ if kind.__name__ == base.__name__), None)
    if stub is None:
        return (f"judged by its shape: no subclass of the MemoryProvider of {host}",)
    return (f"its base class is {stub.__module__}.{stub.__name__}, not that of {host}",)


def _skew(provider: Any, base: type) -> tuple[str, ...]:
    """Hooks of other releases: what this host never calls, and what a later one calls as well."""
    unknown = [hook for hook in (*HOST_CALLS, *_LATER) if not hasattr(base, hook)]
    has = [hook for hook in unknown if callable(getattr(provider, hook, None))]
    lacks = [hook for hook in unknown if hook in HOST_CALLS and hook not in has]
    is_older = _numbers(version()) < _numbers(_JUDGED)
    told = []
    if has:
        told.append(f"hermes-agent {version()} does not call {_joined(has)}, which it has")
    if lacks and is_older:
        told.append(f"hermes-agent {_JUDGED} calls {_joined(lacks)} too, which it lacks")
    return tuple(told)


def _joined(hooks: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(hooks[:-1]), hooks[-1])))


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
