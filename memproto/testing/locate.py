"""The place of a hook in the author's code, and the frames of a stack that are the author's."""

import contextlib
import functools
import inspect
import os
import re
import sys
import sysconfig
import types
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import memproto
from memproto.adapters import members
from memproto.bindings import Binding, author_object
from memproto.testing import os_names, untrusted_text

#: The places of the kit and the standard library, as they are imported and as they really are.
_KIT = str(Path(memproto.__file__).resolve().parent)
_KITS = tuple(dict.fromkeys((_KIT, str(Path(memproto.__file__).parent))))
_STDLIBS = tuple(
    dict.fromkeys(
        str(place)
        for named in (sysconfig.get_paths()["stdlib"], str(Path(os.__file__).parent))
        for place in (Path(named).resolve(), Path(named))
    )
)
_INSTALLED = ("site-packages", "dist-packages")
#: Packages that the kit calls itself: what goes wrong in them is not the author's doing.
_KITS_OWN = re.compile(
    r"[/\\](site|dist)-packages[/\\]"
    r"(_pytest|hypothesis|jsonschema|pluggy|psutil|pytest|referencing|xdist)[/\\]"
)
#: Mark of faulthandler for the thread that handles the signal; it writes "Stack" for it alone.
_ASKED = re.compile(r"^(Current thread |Stack \(most recent)", re.MULTILINE)
_FRAME = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+) in (?P<name>.+)')

#: Form in which `faulthandler` writes a character beyond ASCII; a backslash it writes as it is.
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
#: It cuts a longer text off, and says so.
_CUT, _LONGEST = "...", 500

#: Number of layers of wrappers and proxies that are looked through.
_MOST_LAYERS = 10


def _here() -> Path:
    """The working directory; if it was deleted, a place below which nothing lies."""
    with contextlib.suppress(OSError):
        return Path.cwd()
    return Path(os.devnull)


#: The directory that the user called the kit from; set once by the child. It is in a list because
#: a child is compared by memory, in which no name of the kit gets another value; see `integrity`.
_from_directory = [_here()]


def called_from(directory: Path) -> None:
    """Show paths relative to `directory` from now on."""
    _from_directory[:] = [directory.resolve()]


def short(path: str) -> str:
    """`path` relative to the user's directory or to the installed packages; never a home."""
    return untrusted_text.printable(os_names.readable(_short(path))).replace("\n", "\\n")


def _short(path: str) -> str:
    with contextlib.suppress(ValueError, OSError, RuntimeError):
        resolved = Path(path).resolve()
        for part in _INSTALLED:
            if part in resolved.parts[:-1]:
                start = len(resolved.parts) - resolved.parts[::-1].index(part)
                return str(Path(*resolved.parts[start:]))
        (base,) = _from_directory
        if resolved.is_relative_to(base):
            return str(resolved.relative_to(base))
        return str(Path(*resolved.parts[-2:]))
    return path


def hook(provider: Any, operation: str, binding: Binding) -> str:
    """`file:line in Class.hook` of the hook that serves `operation`, as well as it can be known."""
    if place := binding.where(provider, operation):
        return untrusted_text.printable(place)
    name = binding.hook(operation)
    inner = author_made(provider)
    function = inspect.getattr_static(type(inner), name, None)
    label = f"{type(inner).__name__}.{name}"
    if function is None:
        function = _answered(inner, name)
        holder = type(getattr(function, "__self__", inner))
        if holder not in (type(inner), types.ModuleType):
            label = f"{holder.__name__}.{name}, by way of {type(inner).__name__}"
    code = _code(function)
    return f"{short(code.co_filename)}:{code.co_firstlineno} in {label}" if code else label


def _answered(inner: Any, name: str) -> Any:
    """A member that the class does not define: set on the instance, or what a proxy answers."""
    try:
        return members.found_without_running(inner, name)
    except Exception:
        return None


def _code(function: Any) -> types.CodeType | None:
    """The code behind a method, a property, a partial, a wrapper, or an object that is called."""
    for _ in range(_MOST_LAYERS):
        inside = _inside(function)
        if inside is None:
            break
        function = inside
    code = getattr(function, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def _inside(function: Any) -> Any:
    """The callable to which another passes its calls on; None for one that has the code itself."""
    if isinstance(function, property):
        return function.fget
    if isinstance(function, functools.partial | functools.partialmethod):
        return function.func
    if isinstance(function, staticmethod | classmethod | types.MethodType):
        return function.__func__
    try:
        wrapped = getattr(function, "__wrapped__", None)
    except Exception:
        wrapped = None
    if wrapped is not None or isinstance(function, types.FunctionType):
        return wrapped
    called = inspect.getattr_static(type(function), "__call__", None)
    is_code = isinstance(called, types.FunctionType) and is_authors(called.__code__.co_filename)
    return called if is_code else None


def kind_of(provider: Any) -> type:
    """The class that a provider's hooks are of: that behind a proxy, where it is one."""
    inner = author_made(provider)
    for _ in range(_MOST_LAYERS):
        if inspect.getattr_static(type(inner), "initialize", None) is not None:
            break
        behind = getattr(_answered(inner, "initialize"), "__self__", None)
        if behind is None or behind is inner or isinstance(behind, types.ModuleType):
            break
        inner = behind
    return type(inner)


def code_of(provider: Any) -> Path | None:
    """The directory of the package that a provider's class is in, or its file; None for neither."""
    named = getattr(sys.modules.get(kind_of(provider).__module__), "__file__", None)
    if not named:
        return None
    found = folder = Path(named).resolve()
    while (folder.parent / "__init__.py").is_file():
        found = folder = folder.parent
    return found


def author_made(provider: Any) -> Any:
    """The author's own instance, where an adapter stands before it."""
    return author_object(provider)


def raised(error: BaseException) -> str:
    """The innermost frame of the author's code that `error` came through."""
    return innermost(error.__traceback__)


def innermost(place: TracebackType | None) -> str:
    """The innermost frame of the author's code in a traceback; "" for none."""
    found = ""
    while place is not None:
        code = place.tb_frame.f_code
        if is_authors(code.co_filename):
            found = f"{short(code.co_filename)}:{place.tb_lineno} in {_name(code)}"
        place = place.tb_next
    return found


def _name(code: types.CodeType) -> str:
    """The name of a function with its class, as its author wrote both."""
    return code.co_qualname.rpartition("<locals>.")[2]


def calling() -> str:
    """The innermost frame of the author's code in the call that runs; "" for none."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the public way reads each source
    while frame is not None:
        code = frame.f_code
        if is_authors(code.co_filename):
            return f"{short(code.co_filename)}:{frame.f_lineno} in {_name(code)}"
        frame = frame.f_back
    return ""


def frames(dump: str) -> list[str]:
    """
    The author's frames of the last stack in a faulthandler dump, innermost first.

    The thread that was asked, or that crashed, counts; if none of its frames is the author's, the
    thread that has most.
    """
    stacks = re.split(r"^(?=Timeout \(|Fatal Python error)", dump, flags=re.MULTILINE)
    best: list[str] = []
    for thread in re.split(r"\n\n", stacks[-1]):
        read = [(_unescaped(m["file"]), m) for m in _FRAME.finditer(thread)]
        mine = [(file, match) for file, match in read if is_authors(file)]
        found = [f"{short(file)}:{m['line']} in {_unescaped(m['name'])}" for file, m in mine]
        if found and _ASKED.search(thread):
            return found
        if found and len(found) >= len(best):
            best = found
    return best


def _unescaped(text: str) -> str:
    """A text of a dump as it was before it was written in ASCII."""
    if "\\" not in text or os.path.exists(text):  # noqa: PTH110 - a Path raises for a long one
        return text
    plain = _ESCAPE.sub(lambda match: match[0].encode().decode("unicode_escape"), text)
    return os_names.native(os_names.readable(plain))


@functools.lru_cache(maxsize=4_096)
def is_authors(path: str) -> bool:
    """True if a file of code is neither the kit's nor the standard library's."""
    if path.startswith("<") or path == "???" or _KITS_OWN.search(path):
        return False
    if _is_cut(path) and any(kit.startswith(path.removesuffix(_CUT)) for kit in _KITS):
        return False
    for kit in _KITS:
        if _is_in(path, f"{kit}/reference_providers"):
            return True
        # Beside it are the checks, where the suite runs from a checkout.
        if _is_in(path, kit) or _is_in(path, f"{Path(kit).parent}/conformance"):
            return False
    library = next((place for place in _STDLIBS if _is_in(path, place)), None)
    return library is None or any(f"/{part}/" in path[len(library) :] for part in _INSTALLED)


def is_installed(path: str) -> bool:
    """True if a file lies among the installed packages."""
    return any(f"{os.sep}{part}{os.sep}" in path for part in _INSTALLED)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}{os.sep}")


def _is_cut(path: str) -> bool:
    return len(path) >= _LONGEST and path.endswith(_CUT)
