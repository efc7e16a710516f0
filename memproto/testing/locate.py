"""Where a hook stands in the author's code, and which frames of a stack are the author's."""

import contextlib
import inspect
import re
import sys
import sysconfig
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import memproto
from memproto.operations import Binding, hook_name

_KIT = str(Path(memproto.__file__).resolve().parent)
_STDLIB = str(Path(sysconfig.get_paths()["stdlib"]).resolve())
#: Packages that the kit calls itself: what goes wrong in them is not the author's doing.
_KITS_OWN = re.compile(
    r"[/\\]site-packages[/\\](_pytest|hypothesis|jsonschema|pluggy|psutil|pytest|referencing|xdist)[/\\]"
)
#: How faulthandler marks the thread that handles the signal; it writes "Stack" for it alone.
_ASKED = re.compile(r"^(Current thread |Stack \(most recent)", re.MULTILINE)
_FRAME = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+) in (?P<name>.+)')

#: The directory that the user called the kit from; set once by the child.
_from_directory = Path.cwd()


def called_from(directory: Path) -> None:
    """Show paths relative to `directory` from now on."""
    global _from_directory  # noqa: PLW0603 - one value, set once at the child's start
    _from_directory = directory.resolve()


def short(path: str) -> str:
    """`path` relative to the user's directory or to the installed packages; never a home."""
    with contextlib.suppress(ValueError, OSError):
        resolved = Path(path).resolve()
        for part in ("site-packages", "dist-packages"):
            if part in resolved.parts:
                start = len(resolved.parts) - resolved.parts[::-1].index(part)
                return str(Path(*resolved.parts[start:]))
        if resolved.is_relative_to(_from_directory):
            return str(resolved.relative_to(_from_directory))
        return str(Path(*resolved.parts[-2:]))
    return path


def hook(provider: Any, operation: str, binding: Binding) -> str:
    """`file:line in Class.hook` of the hook that serves `operation`, as well as it can be known."""
    name = hook_name(operation, binding)
    inner = provider.wrapped if _is_adapter(provider) else provider
    function = inspect.getattr_static(type(inner), name, None)
    function = getattr(function, "fget", None) or getattr(function, "__func__", function)
    label = f"{type(inner).__name__}.{name}"
    try:
        code = inspect.unwrap(function).__code__
    except (AttributeError, ValueError):
        return label
    return f"{short(code.co_filename)}:{code.co_firstlineno} in {label}"


def code_of(provider: Any) -> Path | None:
    """The directory of the package that a provider's class is in, or its file; None for neither."""
    inner = provider.wrapped if _is_adapter(provider) else provider
    named = getattr(sys.modules.get(type(inner).__module__), "__file__", None)
    if not named:
        return None
    found = folder = Path(named).resolve()
    while (folder.parent / "__init__.py").is_file():
        found = folder = folder.parent
    return found


def _is_adapter(provider: Any) -> bool:
    # Asking the object itself would run its author's code.
    return type(provider).__module__.startswith("memproto.adapters.")


def raised(error: BaseException) -> str:
    """The innermost frame of the author's code that `error` came through."""
    found = ""
    place: TracebackType | None = error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if is_authors(code.co_filename):
            found = f"{short(code.co_filename)}:{place.tb_lineno} in {code.co_name}"
        place = place.tb_next
    return found


def calling() -> str:
    """The innermost frame of the author's code in the call that runs; "" for none."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the public way reads each source
    while frame is not None:
        code = frame.f_code
        if is_authors(code.co_filename):
            return f"{short(code.co_filename)}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return ""


def frames(dump: str) -> list[str]:
    """
    The author's frames of the last stack in a faulthandler dump, innermost first.

    Those of the thread that was asked, or that crashed; where none of them is the author's, of the
    thread that has most.
    """
    stacks = re.split(r"^(?=Timeout \(|Fatal Python error)", dump, flags=re.MULTILINE)
    best: list[str] = []
    for thread in re.split(r"\n\n", stacks[-1]):
        mine = [match for match in _FRAME.finditer(thread) if is_authors(match["file"])]
        found = [f"{short(m['file'])}:{m['line']} in {m['name']}" for m in mine]
        if found and _ASKED.search(thread):
            return found
        if found and len(found) >= len(best):
            best = found
    return best


def is_authors(path: str) -> bool:
    """Whether a file of code is neither the kit's nor the standard library's."""
    if path.startswith("<") or path == "???" or _KITS_OWN.search(path):
        return False
    if f"{_KIT}/reference_providers" in path:
        return True
    if path.startswith(_KIT) or _kit_checkout(path):
        return False
    return not path.startswith(_STDLIB) or "site-packages" in path


def _kit_checkout(path: str) -> bool:
    """Whether `path` is a check, where the suite runs from a checkout."""
    return f"{Path(_KIT).parent}/conformance/" in path
