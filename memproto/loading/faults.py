"""The faults that a target can have, in the words that its author reads."""

import re

from memproto.bindings import hermes_agent as host
from memproto.errors import KitUsageError, MissingPackage, NoProvider, TargetDoesNotImport

_SKEW = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")


def missing(target: str, error: ModuleNotFoundError) -> MissingPackage:
    """The target needs a package that is not installed."""
    top = str(error.name).partition(".")[0]
    holder = f"the package that holds {error.name!r}"
    if top in host.MODULES:
        holder = f"hermes-agent, which holds {error.name!r},"
        if host.modules():
            return _lacking(target, f"the module {error.name!r}")
    return MissingPackage(
        f"--memproto={target}",
        f"needs the module {error.name!r}, which is not installed here",
        f"install {holder} into this environment",
    )


def does_not_import(target: str, error: Exception) -> KitUsageError:
    """Importing or building the target raised; for want of a package, where that is the cause."""
    cause = _for_want_of(error)
    if cause is not None:
        return missing(target, cause)
    skew = _SKEW.search(str(error)) if isinstance(error, ImportError) else None
    if skew and skew["module"].partition(".")[0] in host.MODULES and host.modules():
        return _lacking(target, f"{skew['name']} of {skew['module']}")
    return TargetDoesNotImport(
        f"--memproto={target}",
        f"raises {type(error).__name__}: {error} ({_innermost(error)})",
        "make it import and build in a plain interpreter first; "
        "a variable that it asks for goes into the setting `env`",
    )


def _lacking(target: str, what: str) -> MissingPackage:
    """The target needs a module, or a name of one, that the host does not have."""
    fix = "install the version of hermes-agent that it was written for"
    if not host.version():
        fix = "install the hermes-agent that it was written for into this environment"
    return MissingPackage(
        f"--memproto={target}", f"needs {what}, which {host.modules()} lacks", fix
    )


def _for_want_of(error: BaseException | None) -> ModuleNotFoundError | None:
    """The missing module behind an ImportError, which authors raise anew with a hint."""
    seen = 0
    while isinstance(error, ImportError) and seen < 10:
        if isinstance(error, ModuleNotFoundError) and error.name:
            return error
        error, seen = error.__cause__ or error.__context__, seen + 1
    return None


def _innermost(error: Exception) -> str:
    place = error.__traceback__
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "no frame"


def no_provider(target: str, fault: str) -> NoProvider:
    """Error for a found object that is no provider."""
    return NoProvider(
        f"--memproto={target}", fault, "name the provider's class, or a factory without arguments"
    )
