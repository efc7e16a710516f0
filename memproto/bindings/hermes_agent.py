"""
The hermes-agent that a provider is judged with, installed or stood in for.

Its release, its base class, and what a provider makes of it.
"""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import Any

from memproto.adapters.hermes import HOST_CALLS
from memproto.adapters.hermes_releases import NEWEST, RELEASES, Release, nearest
from memproto.bindings import hermes_stand_in

#: Modules that hermes-agent installs at the top and that providers import.
MODULES = (
    *("agent", "plugins", "hermes_cli", "hermes_constants", "hermes_state", "hermes_logging"),
    *("hermes_time", "hermes_bootstrap", "tools", "toolsets", "gateway", "cron", "utils"),
)

_BASE = "agent.memory_provider"

#: The variable that names the release whose calls are made, where the user chose one.
RELEASE_VARIABLE = "HERMES_AGENT_RELEASE"

#: Hooks that some release calls and that the oldest ones do not have.
_LATER = tuple(hook for hook in RELEASES[NEWEST].hooks if hook not in HOST_CALLS)

#: Every hook that some known release's base class has.
HOOKS = frozenset((*HOST_CALLS, *RELEASES[NEWEST].hooks))


def version() -> str:
    """The version of the installed hermes-agent, or ""."""
    try:
        return importlib.metadata.version("hermes-agent")
    except importlib.metadata.PackageNotFoundError:
        return ""


def release() -> Release:
    """The release whose calls are made: the chosen one, else the installed one, else the newest."""
    chosen = os.environ.get(RELEASE_VARIABLE, "")
    if chosen in RELEASES:
        return RELEASES[chosen]
    return RELEASES[nearest(version()) if version() else NEWEST]


def choose(name: str) -> None:
    """Have this process, and those that it starts, make the calls of a release; "" for none."""
    os.environ.pop(RELEASE_VARIABLE, None)
    if name:
        os.environ[RELEASE_VARIABLE] = name


def host() -> str:
    """The host, for a reader: the installed one, or the release that is stood in for."""
    installed, made = version(), release().name
    if not installed:
        return f"stand-in {made}"
    calls = "" if nearest(installed) == made else f", calls of {made}"
    return f"hermes-agent {installed}{calls}"


def modules() -> str:
    """The host whose modules a provider can import, for a sentence; "" for none."""
    return _named() if version() or hermes_stand_in.offered() else ""


def import_ahead(target: str) -> None:
    """
    Import what a Hermes host has imported long before it loads a provider, where it is installed.

    The effects of these imports are then no work of the provider's. If it is not installed,
    stand-ins of its modules are offered from here on. Never raises.
    """
    if not version():
        hermes_stand_in.offer(release().name)
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


@contextlib.contextmanager
def serving(home: str) -> Iterator[bool]:
    """
    Have this context serve the profile of a home in the body, as a host of many profiles does.

    Gives False, and does nothing, if the host has one profile in a process.
    """
    constants: Any = None
    with contextlib.suppress(ImportError):
        constants = importlib.import_module("hermes_constants")
    if not hasattr(constants, "set_hermes_home_override"):
        yield False
        return
    token = constants.set_hermes_home_override(home)
    try:
        yield True
    finally:
        constants.reset_hermes_home_override(token)


def base_class() -> type | None:
    """The base class of the host, installed or stood in for, where it could be imported."""
    if hermes_stand_in.offered():
        with contextlib.suppress(ImportError):
            importlib.import_module(_BASE)
    found = getattr(sys.modules.get(_BASE), "MemoryProvider", None)
    is_hosts = bool(version()) or hermes_stand_in.stands(_BASE)
    return found if is_hosts and isinstance(found, type) else None


def hooks_of_base() -> frozenset[str] | None:
    """The hooks that the host's base class has; None where there is none."""
    base = base_class()
    return None if base is None else frozenset(dir(base))


def notes(provider: Any) -> tuple[str, ...]:
    """Relation of a Hermes provider to the host's base class, if they differ."""
    stand_in = () if version() or not hermes_stand_in.offered() else (f"host: {host()}",)
    base = base_class()
    if base is None:
        return (*stand_in, "judged by its shape: hermes-agent is not installed")
    return (*stand_in, *_standing(provider, base), *_skew(provider, base))


def _standing(provider: Any, base: type) -> tuple[str, ...]:
    """Relation of the provider's class to the base class; nothing for one that inherits from it."""
    if isinstance(provider, base):
        return ()
    stub = next((kind for kind in type(provider).__mro__ if kind.__name__ == base.__name__), None)
    if stub is None:
        return (f"judged by its shape: no subclass of the MemoryProvider of {_named()}",)
    return (f"its base class is {stub.__module__}.{stub.__name__}, not that of {_named()}",)


def _named() -> str:
    """The host in a sentence."""
    installed = version()
    return f"hermes-agent {installed}" if installed else f"the stand-in of {release().name}"


def _skew(provider: Any, base: type) -> tuple[str, ...]:
    """Hooks of other releases: what this host never calls, and what a later one calls as well."""
    unknown = [hook for hook in (*HOST_CALLS, *_LATER) if not hasattr(base, hook)]
    has = [hook for hook in unknown if callable(getattr(provider, hook, None))]
    lacks = [hook for hook in unknown if hook in HOST_CALLS and hook not in has]
    told = []
    if has:
        told.append(f"{_named()} does not call {_joined(has)}, which it has")
    later = next(made for made in RELEASES.values() if set(lacks) <= set(made.hooks))
    if lacks and set(lacks) - set(release().hooks):
        told.append(f"hermes-agent {later.name} calls {_joined(lacks)} too, which it lacks")
    return tuple(told)


def _joined(hooks: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(hooks[:-1]), hooks[-1])))
