"""
From TARGET, as the user typed it, to a factory of instances.

First match wins: `wire:COMMAND LINE`; `openclaw:PATH`; a directory with `__init__.py`;
`hermes:NAME`; `module:attribute`; an entry-point name; a module. Import happens here, so that
callers who do not trust the target call this in a process that they can do without.
"""

import dataclasses
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto import bindings
from memproto.bindings import Binding
from memproto.errors import KitUsageError, NoProvider
from memproto.loading import named_paths, servers
from memproto.loading.faults import does_not_import, missing, no_provider
from memproto.loading.finding import GROUPS, other_than_first, resolve
from memproto.loading.modules import Registering, takes_arguments

import_ahead = bindings.import_ahead

__all__ = ["GROUPS", "Loaded", "import_ahead", "load"]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """
    A target that was found and imported.

    Attributes:
        target: As it was typed.
        build: Gives a new instance with the nine members, adapted where that is needed.
        binding: The binding that its author wrote it for.
        origin: The place that it came from: file, module or entry point, for a reader.
        raw: The class or factory itself.
        notes: Differences from the way in which a host loads it, for a reader.

    """

    target: str
    build: Callable[[], Any]
    binding: Binding
    origin: str
    raw: Any
    notes: tuple[str, ...] = ()


def load(target: str, factory: str = "") -> Loaded:
    """
    Import what `target` names; `factory` ("module:function") replaces it where it is set.

    Imports and may build instances. Blocks as long as the target's own code does.

    Raises:
        NoSuchTarget: Nothing of that name can be found.
        TargetDoesNotImport: Importing or building it raised.
        MissingPackage: It needs a package that is not installed.
        NoProvider: The found object is no provider.
        SeveralProviders: A module holds more than one.

    """
    if not factory and servers.is_server(target):
        build, origin = servers.builder(target)
        return Loaded(servers.shown(target), build, bindings.WIRE, origin, build)
    if not factory and (of_kind := bindings.builder(target)) is not None:
        binding, build, origin = of_kind
        return Loaded(target, build, binding, origin, build)
    if not factory:
        named_paths.refuse(target, Path())
    try:
        return _as_loaded(target, *resolve(factory or target))
    except NoProvider:
        other = None if factory else other_than_first(target)
        if other is None:
            raise
    return _as_loaded(target, *other)


def _as_loaded(target: str, found: Any, origin: str) -> Loaded:
    """Build one instance, to learn its binding and that it can be built at all."""
    build, is_built = found, not callable(found) or _is_built(found)
    if is_built and _is_for_process(found):
        build = _always(found)
    elif is_built:
        raise NoProvider(
            f"--memproto={target}",
            f"is {type(found).__name__}, an object that is built already",
            "name the class, or a function without arguments that builds a new instance",
        )
    first = _built(target, build)
    binding = _binding(target, first)
    if binding.forgets:
        build = _always(first)
    elif binding.one_for_process:
        build = _once(build, first)
    told = found.notes() if isinstance(found, Registering) else ()
    told = (*binding.notes(first), *told)
    return Loaded(target, lambda: binding.adapt(build()), binding, origin, found, told)


def _is_built(found: Any) -> bool:
    """True if what can be called is a provider itself, as a proxy that passes calls on is."""
    if isinstance(found, type | types.FunctionType | types.MethodType | Registering):
        return False
    return bindings.defined(found)


def _is_for_process(found: Any) -> bool:
    """True if an application shares a built instance between all sessions of its process."""
    binding = bindings.recognised(found)
    return binding is not None and binding.one_for_process


def _always(instance: Any) -> Callable[[], Any]:
    return lambda: instance


def _once(build: Callable[[], Any], first: Any) -> Callable[[], Any]:
    """
    One instance for all sessions, and a new one where the process has gone to another directory.

    A check has a directory of its own, and stands for a process of its own. Any thread may call it.
    """
    lock, made = threading.Lock(), {Path.cwd(): first}

    def built() -> Any:
        with lock:
            place = Path.cwd()
            if place not in made:
                # The one of the place before is left, as at the end of a process.
                instance = build()
                made.clear()
                made[place] = instance
            return made[place]

    return built


def _built(target: str, build: Callable[[], Any]) -> Any:
    try:
        return build()
    except KitUsageError:
        raise
    except ModuleNotFoundError as error:
        raise missing(target, error) from None
    except TypeError as error:
        if takes_arguments(build):
            raise NoProvider(
                f"--memproto={target}",
                f"cannot be built without arguments ({error})",
                'set `factory = "module:function"` in [tool.memproto], without arguments',
            ) from None
        raise does_not_import(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None


def _binding(target: str, provider: Any) -> Binding:
    binding = bindings.recognised(provider)
    if binding is not None:
        return binding
    lacks = ", ".join(bindings.lacking(provider))
    fault = f"{type(provider).__name__} lacks {lacks} of the nine members"
    raise no_provider(target, "; ".join((fault, *bindings.faults())))
