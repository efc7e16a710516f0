"""
The user's own functions, named by settings: found and called in the child, beside the provider.

Their faults are the user's to mend and never booked on the provider: a fault ends the run as a
usage error that names the line of the setting.
"""

import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

from memproto.errors import InvalidSettings
from memproto.testing import locate, untrusted_text, wire

#: Before the key, the name under which the parent is told that a function of the user's runs.
OPERATION = "setting "

#: Seconds that each may take; a model is given the longest.
BUDGETS_S = {"warm": 300.0, "settle": 60.0, "cleanup": 60.0, "read_back": 15.0}

#: Seconds that importing the module of one may take.
IMPORT_S = 60.0

#: Arguments of each, in words and as a sample that its signature has to take.
_CALLED_WITH: dict[str, tuple[str, tuple[Any, ...]]] = {
    "factory": ("without arguments", ()),
    "service": ("without arguments", ()),
    "warm": ("without arguments", ()),
    "read_back": ("as function(provider, text)", (None, "")),
    "settle": ("as function(config) or without arguments", ({},)),
    "cleanup": ("as function(configs)", ([],)),
}

_FIX = 'name a function as "module:function", importable from here or from ./src'


class Functions:
    """
    The functions that settings name, as one child calls them.

    Guarantees:
        The result is that of the function or `InvalidSettings`, whatever one of them does.
    """

    def __init__(
        self,
        named: dict[str, list[str]] | None = None,
        run_as: Callable[[str, float], contextlib.AbstractContextManager[None]] | None = None,
        *,
        scale: float = 1.0,
    ) -> None:
        self._named = named or {}
        self._run_as = run_as or (lambda operation, budget_s: contextlib.nullcontext())
        self._scale = scale
        self._found: dict[str, Callable[..., Any]] = {}

    def find(self) -> None:
        """
        Import all of them.

        Raises:
            InvalidSettings: One cannot be imported, or cannot be called as its key asks for.

        """
        for key, (name, place) in self._named.items():
            with self._running(key, IMPORT_S):
                self._found[key] = found(key, name, place)

    def __contains__(self, key: str) -> bool:
        return key in self._named

    def warm(self) -> None:
        """Let the user load models, where the setting is there."""
        if "warm" in self:
            self._call("warm")

    def settle(self, config: dict[str, Any]) -> None:
        """Wait until what was written is visible, where the setting is there."""
        if "settle" in self:
            self._call("settle", *([config] if _takes(self._found["settle"], ({},)) else []))

    def clean(self, configs: list[dict[str, Any]]) -> None:
        """Remove what instances with these configs left in a remote store."""
        if "cleanup" in self:
            self._call("cleanup", configs)

    def stored(self, provider: Any, text: str) -> int | None:
        """Number of copies of `text` that the provider stores; None without the setting."""
        if "read_back" not in self:
            return None
        count = self._call("read_back", locate.author_made(provider), text)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            fault = f"returned {wire.show(count)}, which is no count"
            raise self._fault("read_back", fault, "return how often the text is stored, as an int")
        return count

    def _call(self, key: str, *arguments: Any) -> Any:
        with self._running(key, BUDGETS_S[key]):
            try:
                return self._found[key](*arguments)
            except BaseException as error:
                fault = f"{self._named[key][0]} raised {described(error)}"
        raise self._fault(key, fault, "make it return")

    @contextlib.contextmanager
    def _running(self, key: str, budget_s: float) -> Iterator[None]:
        scaled_s = budget_s * self._scale
        with self._run_as(OPERATION + key, scaled_s):
            began = perf_counter()
            yield
            took_s = perf_counter() - began
        if took_s > scaled_s:
            fault = f"{self._named[key][0]} returned after {took_s:.0f} s of {scaled_s:.0f} s"
            raise self._fault(key, fault, "make it return sooner")

    def _fault(self, key: str, fault: str, fix: str) -> InvalidSettings:
        return InvalidSettings(self._named[key][1], fault, fix)


def found(key: str, name: str, place: str) -> Callable[..., Any]:
    """
    The function `name`, "module:function", of the setting `key`.

    Raises:
        InvalidSettings: There is none, or it cannot be called as the key asks for.

    """
    module_name, _, attribute = name.partition(":")
    value = _imported(module_name, place)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise InvalidSettings(place, f"{module_name} has no {attribute!r}", _FIX)
        value = getattr(value, part)
    if not callable(value):
        fault = f"{name} is {type(value).__name__}, which cannot be called"
        raise InvalidSettings(place, fault, _FIX)
    words, sample = _CALLED_WITH[key]
    if not (_takes(value, sample) or (key == "settle" and _takes(value, ()))):
        fault = f"{name} cannot be called {words}"
        raise InvalidSettings(place, fault, "change its parameters; see docs/settings.md")
    return value  # type: ignore[no-any-return]  # callable() does not tell mypy


def _imported(name: str, place: str) -> Any:
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        raise InvalidSettings(place, f"{name!r} is no name of a module", _FIX)
    if parts[0] not in sys.modules and importlib.util.find_spec(parts[0]) is None:
        raise InvalidSettings(place, f"there is no module {parts[0]!r}", _FIX)
    try:
        return importlib.import_module(name)
    except BaseException as error:
        fault = f"importing {name} raised {described(error)}"
    raise InvalidSettings(place, fault, "make it import in a plain interpreter first")


def _takes(function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        # One that is not written in Python may show no signature.
        return True
    return True


def described(error: BaseException) -> str:
    """`Type: message (file:line in function)` in one line; never raises."""
    try:
        text = " ".join(traceback.format_exception_only(error)[-1].split())
    except BaseException:
        text = type(error).__name__
    frame = locate.raised(error)
    return untrusted_text.one_line(wire.shorten(text, 300)) + (f" ({frame})" if frame else "")
