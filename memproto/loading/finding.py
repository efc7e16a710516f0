"""TARGET to the class or function that builds a provider: the five forms, the first match wins."""

import importlib
import importlib.metadata
import importlib.util
import pkgutil
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

from memproto.errors import (
    KitUsageError,
    MissingPackage,
    NoProvider,
    NoSuchTarget,
    SeveralProviders,
)
from memproto.loading import packages
from memproto.loading.bundled import bundled
from memproto.loading.directories import import_directory
from memproto.loading.faults import command, does_not_import, missing
from memproto.loading.modules import (
    Registering,
    is_registering,
    looks_like_provider,
    provider_of_module,
    submodules,
)
from memproto.loading.named_paths import packages_of
from memproto.loading.packages import GROUPS
from memproto.near import nearest

__all__ = ["GROUPS", "resolve"]

_FORMS = (
    "a directory with __init__.py, a checkout with plugin.yaml, hermes:NAME, wire:COMMAND LINE, "
    "openclaw:PATH, "
    "module:attribute, an entry-point name, or a module"
)


def resolve(target: str) -> tuple[Any, str]:
    """
    The builder of the provider that `target` names, and the place where it was found; imports it.

    Raises:
        NoSuchTarget: Nothing of that name can be found.
        TargetDoesNotImport: Importing it raised.
        MissingPackage: It needs a package that is not installed.
        NoProvider: The found object is no provider.
        SeveralProviders: A module holds more than one.

    """
    for path in packages_of(target, Path()):
        return _of_module(target, import_directory(target, path)), str(path)
    if target.startswith("hermes:"):
        return _bundled(target), target
    if ":" in target:
        _assert_extra(target, None)
        return _as_factory(target, _attribute(target, target)), target
    point = packages.entry_point(target)
    _assert_extra(target, point)
    if point is not None:
        origin = f"entry point {point.name} = {point.value}"
        return _of_value(target, point.value), origin
    return _by_name(target)


def other_than_first(target: str) -> tuple[Any, str] | None:
    """
    The object of the next entry point of that name, another one than the first; None without one.

    A package may register its tools as a plugin, and its provider apart, under one name.

    Raises: as `resolve`.
    """
    points = packages.entry_points(target)
    for point in points[1:]:
        if point.value != points[0].value:
            return _of_value(target, point.value), f"entry point {point.name} = {point.value}"
    return None


def _by_name(target: str) -> tuple[Any, str]:
    """A module, or what the distribution of that name holds."""
    found = packages.distribution(target)
    if found is None or _is_there(target):
        return _of_value(target, target), f"module {target}"
    name = f"distribution {found.metadata['Name']}"
    value = packages.entry_point_of(found)
    if value:
        return _of_value(target, value), f"{name}, entry point {value}"
    return _of_distribution(target, found, name)


def _of_distribution(
    target: str, found: importlib.metadata.Distribution, name: str
) -> tuple[Any, str]:
    """The object in the first module of a distribution that holds a provider."""
    modules, tried = packages.modules_of(found), []
    for module in modules:
        try:
            return _of_value(target, module), f"{name}, module {module}"
        except MissingPackage:
            raise
        except NoProvider as fault:
            tried.append(fault.fault)
    looked = "; ".join(tried) or f"it installs no module (of {', '.join(modules) or 'none'})"
    raise NoProvider(
        f"--memproto={target}",
        f"{name} has no entry point in {', '.join(GROUPS)}, and {looked}",
        f"name the provider's class, as in {command('module:Class')}",
    )


def _assert_extra(target: str, point: importlib.metadata.EntryPoint | None) -> None:
    """Tell an extra that was not installed before the provider is without its packages."""
    found = packages.missing_extra(target, point)
    if found is not None:
        extra, lacks = found
        raise MissingPackage(
            f"--memproto={target}",
            f"needs {' and '.join(lacks)}, which the extra {extra!r} brings, not installed here",
            f"pip install '{extra}'",
        )


def _is_there(module: str) -> bool:
    """True if a module of that name can be found, as far as its top package tells."""
    top = module.partition(".")[0]
    try:
        return top in sys.modules or importlib.util.find_spec(top) is not None
    except (ValueError, ImportError):
        return False


def _of_value(target: str, value: str) -> Any:
    """The object that an entry point's value, or the name of a module, stands for."""
    module, _, attribute = value.partition(":")
    if attribute:
        return _as_factory(target, _attribute(target, f"{module}:{attribute}"))
    return _of_module(target, _import(target, module))


def _of_module(target: str, module: types.ModuleType) -> Any:
    try:
        return provider_of_module(target, module)
    except KitUsageError as fault:
        inner = submodules(module)
        if isinstance(fault, NoProvider) and inner:
            fault.fault += f" (its modules: {', '.join(inner[:12])})"
        raise
    except ModuleNotFoundError as error:
        raise missing(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None


def _import(target: str, module: str) -> types.ModuleType:
    _assert_exists(target, module)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise _no_such_module(target, error.name) from None
        raise missing(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None


def _assert_exists(target: str, module: str) -> None:
    """Tell 'there is no such module' from 'the module needs one that is missing'."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        groups = ", ".join(GROUPS)
        fault = f"is no name of a module, a distribution or an entry point (of {groups})"
        raise NoSuchTarget(f"--memproto={target}", fault, f"give {_FORMS}")
    # Only the top package is looked up: asking for a submodule would import its parents here.
    if not _is_there(module):
        attribute = target.removeprefix(module)
        near = nearest(module, _known())
        fix = f"install the package in this environment, or give {_FORMS}"
        raise NoSuchTarget(
            f"--memproto={target}",
            f"there is no module, entry point or distribution named {parts[0]!r} here",
            f"did you mean {near!r}? {command(near + attribute)}" if near else fix,
        )


def _known() -> list[str]:
    """Names that a user may have meant: of providers that are installed, and of own modules."""
    points = importlib.metadata.entry_points()
    named = [point.name for group in GROUPS for point in points.select(group=group)]
    library = sysconfig.get_paths()["stdlib"]
    other = ("site-packages", "dist-packages")
    mine = [path for path in sys.path if not path.startswith(library) and not path.endswith(other)]
    return [*named, *(item.name for item in pkgutil.iter_modules(mine))]


def _no_such_module(target: str, module: str) -> NoSuchTarget:
    above, _, last = module.rpartition(".")
    package = sys.modules.get(above)
    inner = {} if package is None else {name: f"{above}.{name}" for name in submodules(package)}
    own = {} if package is None else {name: f"{above}:{name}" for name in _public(package)}
    near = nearest(last, [*own, *inner])
    fix = f"name an attribute of {above} with a colon: {command(f'{above}:{last}')}"
    if near:
        fix = f"did you mean {near!r}? {command((own | inner)[near] + target.removeprefix(module))}"
    elif last == "py":
        fix = f"a module is named without .py: {command(above + target.removeprefix(module))}"
    return NoSuchTarget(f"--memproto={target}", f"there is no module {module!r}", fix)


def _attribute(target: str, named: str) -> Any:
    module_name, _, attribute = named.partition(":")
    value: Any = _import(target, module_name)
    if not attribute:
        raise _no_attribute(target, value)
    for part in attribute.split("."):
        if not hasattr(value, part):
            near = nearest(part, _public(value))
            found = ", ".join(_public(value)[:8]) or "nothing public is there"
            meant = attribute.replace(part, near)
            fix = f"did you mean {near!r}? {command(f'{module_name}:{meant}')}"
            raise NoSuchTarget(
                f"--memproto={target}",
                f"{module_name} has no attribute {attribute!r}",
                fix if near else f"name one of: {found}",
            )
        value = getattr(value, part)
    return value


def _no_attribute(target: str, module: types.ModuleType) -> NoSuchTarget:
    """The error for a module's name with a colon and nothing behind it."""
    try:
        _of_module(target, module)
    except SeveralProviders as fault:
        fix = fault.fix
    except KitUsageError:
        found = ", ".join(_public(module)[:8]) or "nothing public is there"
        fix = f"name one of: {found}, as in {command(f'{module.__name__}:NAME')}"
    else:
        fix = command(module.__name__)
    return NoSuchTarget(f"--memproto={target}", "names no attribute behind the colon", fix)


def _public(value: Any) -> list[str]:
    """The names of a module's or a class's own functions and classes, those of providers first."""
    own = getattr(value, "__name__", "").partition(".")[0]
    found = {
        name: item
        for name, item in vars(value).items()
        if not name.startswith("_") and callable(item)
    }
    mine = [
        name
        for name, item in found.items()
        if str(getattr(item, "__module__", own)).partition(".")[0] == own
    ]
    known = [name for name in mine if isinstance(found[name], type)]
    shown = [name for name in known if looks_like_provider(found[name])]
    return [*shown, *(name for name in mine or found if name not in shown)]


def _as_factory(target: str, found: Any) -> Any:
    """The object of an attribute: a module's provider, a plugin's register(ctx), or itself."""
    if isinstance(found, types.ModuleType):
        return _of_module(target, found)
    return Registering(target, found) if is_registering(found) else found


def _bundled(target: str) -> Any:
    if not _is_there("plugins"):
        raise NoSuchTarget(
            f"--memproto={target}",
            "names a provider that hermes-agent bundles, and that is not installed here",
            "pip install hermes-agent, or name a provider of your own without `hermes:`: "
            f"{command(target.partition(':')[2] or 'mypkg')}",
        )
    return bundled(target, _import(target, "plugins.memory"))
