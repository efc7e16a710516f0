"""
Bindings that other packages bring, by the entry points of the group `memproto.bindings`.

They are read where a provider is and no binding of the package knows it; so a run of a provider
that is known pays nothing, and imports nothing of strangers.
"""

import functools

from memproto.bindings.base import Binding

#: `name = module:OBJECT`, an instance of `Binding`.
GROUP = "memproto.bindings"

#: Characters that are told of what one raised.
_SHOWN_CHARS = 300


@functools.cache
def installed(taken: tuple[str, ...]) -> tuple[tuple[Binding, ...], tuple[str, ...]]:
    """
    The bindings that the entry points name, and what is wrong with those that cannot be used.

    Imports their modules, once in a process. `taken` are names that no other binding may have.
    """
    from importlib import metadata  # a usual run reads no entry point here, and it takes long

    found: dict[str, Binding] = {}
    faults: list[str] = []
    for point in metadata.entry_points(group=GROUP):
        try:
            binding = point.load()
        except (Exception, SystemExit) as error:  # the code of a package that nobody asked for
            told = " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN_CHARS]
            faults.append(f"the binding {point.name!r} raises {told}")
            continue
        if not isinstance(binding, Binding):
            faults.append(f"the binding {point.name!r} is no memproto.bindings.Binding")
        elif binding.name in taken or found.get(binding.name, binding) is not binding:
            faults.append(
                f"the binding {point.name!r} has the name {binding.name!r} of another one"
            )
        else:
            found[binding.name] = binding
    _LOADED.update(found)
    return tuple(found.values()), tuple(faults)


#: Those that this process has imported.
_LOADED: dict[str, Binding] = {}


def loaded() -> tuple[Binding, ...]:
    """Those that this process has imported already; imports nothing."""
    return tuple(_LOADED.values())
