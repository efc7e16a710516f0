"""The faults that a target can have, in the words that its author reads."""

import re
import shlex
import sysconfig
from pathlib import Path
from types import TracebackType

import memproto
from memproto import shell
from memproto.bindings import hermes_agent as host
from memproto.errors import KitUsageError, MissingPackage, NoProvider, TargetDoesNotImport
from memproto.loading import packages

_SKEW = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")

#: Advice to install something, as libraries give it in an ImportError of theirs.
_ADVICE = re.compile(r"pip install (?:-U |--upgrade )?['\"]?(?P<what>[\w.-]+(?:\[[\w.,-]+\])?)")

#: Packages that memory providers import under another name than pip installs them by.
_DISTRIBUTIONS = {
    "bs4": "beautifulsoup4",
    "dotenv": "python-dotenv",
    "yaml": "PyYAML",
    "honcho": "honcho-ai",
    "mem0": "mem0ai",
    "sklearn": "scikit-learn",
    "PIL": "pillow",
}

#: Places of installed code, which is the author's only if the target itself is there.
_INSTALLED = ("site-packages", "dist-packages")
_LIBRARY = sysconfig.get_paths()["stdlib"]
_KIT = str(Path(memproto.__file__).parent)


def command(target: str) -> str:
    """The command that judges `target`, as a user types it."""
    return f"pytest --memproto={shell.quote(target)}"


def missing(target: str, error: ModuleNotFoundError) -> MissingPackage:
    """The target needs a package that is not installed."""
    top = str(error.name).partition(".")[0]
    if top in host.MODULES and host.modules():
        return _lacking(target, f"the module {error.name!r}")
    return MissingPackage(
        f"--memproto={target}",
        f"needs the module {error.name!r}, which is not installed here",
        f"pip install {_installs(target, top)}",
    )


def _installs(target: str, top: str) -> str:
    """The words behind `pip install` by which a module of that name comes here, as far as known."""
    if top in host.MODULES:
        return f"hermes-agent, which holds {top!r}"
    named = packages.not_installed(target)
    if named:
        return f"{shlex.join(named)}, which the target's package asks for"
    if top in _DISTRIBUTIONS:
        return f"{_DISTRIBUTIONS[top]}, which holds {top!r}"
    return f"{top}, or the package that holds {top!r} if that has another name"


def does_not_import(target: str, error: Exception) -> KitUsageError:
    """Importing or building the target raised; for want of a package, where that is the cause."""
    cause = _for_want_of(error)
    if cause is not None:
        return missing(target, cause)
    advice = _ADVICE.search(str(error)) if isinstance(error, ImportError) else None
    if advice:
        # Of an extra of a library: the frame that raised it is the library's, and no fault of it.
        fix = f"pip install {shlex.quote(advice['what'])}"
        return MissingPackage(f"--memproto={target}", f"needs a package: {error}", fix)
    skew = _SKEW.search(str(error)) if isinstance(error, ImportError) else None
    if skew and skew["module"].partition(".")[0] in host.MODULES and host.modules():
        return _lacking(target, f"{skew['name']} of {skew['module']}")
    return TargetDoesNotImport(
        f"--memproto={target}",
        f"raises {type(error).__name__}: {error}{raised_at(error, target)}",
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


def raised_at(error: Exception, target: str) -> str:
    """The innermost line of the author's code that raised, in brackets; "" if none is on the way.

    `target` is as it was typed. A line of an installed package is the author's if the target is
    in that package.
    """
    if isinstance(error, SyntaxError):
        return f" ({error.filename}:{error.lineno})"
    found, place = "", error.__traceback__
    while place is not None:
        if _is_authors(place, target.partition(":")[0].partition(".")[0]):
            found = f" ({place.tb_frame.f_code.co_filename}:{place.tb_lineno})"
        place = place.tb_next
    return found


def _is_authors(place: TracebackType, top: str) -> bool:
    file = Path(place.tb_frame.f_code.co_filename)
    for part in _INSTALLED:
        if part in file.parts:
            inside = file.parts[file.parts.index(part) + 1 :]
            return bool(inside) and inside[0].removesuffix(".py") == top.replace("-", "_")
    is_real = not str(file).startswith("<")
    return is_real and not any(file.is_relative_to(folder) for folder in (_LIBRARY, _KIT))


def no_provider(target: str, fault: str) -> NoProvider:
    """Error for a found object that is no provider."""
    module = target.partition(":")[0]
    is_module = all(map(str.isidentifier, module.split(".")))
    shown = command(f"{module if is_module else 'mypkg'}:MyMemory")
    fix = f"name the provider's class, or a factory without arguments, as in {shown}"
    return NoProvider(f"--memproto={target}", fault, fix)
