"""Providers of unusual make: proxies, mocks, hooks that are no plain methods, data classes."""

import dataclasses
import functools
import types
from typing import Any
from unittest import mock

import attrs

from tests.good.journal import Journal

HOOKS = (
    *("is_available", "initialize", "shutdown", "capabilities"),
    *("enrich_turn", "on_memory_write", "on_turn_complete", "on_compress"),
)


def _call(inner: Journal, hook: str, *arguments: Any, **keywords: Any) -> Any:
    return getattr(inner, hook)(*arguments, **keywords)


class Claiming:
    """It says that it is of the class of what it wraps, as the proxies of wrapt do."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        object.__setattr__(self, "_inner", Journal())

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_inner"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)


def _named(stand_in: Any) -> Any:
    # A name that is given when a mock is made is that of the mock.
    stand_in.name = "journal"
    return stand_in


def wrapping_mock() -> Any:
    return _named(mock.Mock(wraps=Journal()))


def specified_mock() -> Any:
    return _named(mock.Mock(spec=Journal, wraps=Journal()))


def magic_mock() -> Any:
    return _named(mock.MagicMock(wraps=Journal()))


def non_callable_mock() -> Any:
    return _named(mock.NonCallableMock(wraps=Journal()))


def nameless_mock() -> Any:
    return mock.Mock(wraps=Journal())


def autospec() -> Any:
    return mock.create_autospec(Journal, instance=True)


class OfTheClass:
    """Its hooks are those of the class, or of nobody."""

    name = "of-the-class"
    inner = Journal()

    @staticmethod
    def is_available() -> bool:
        return True

    @classmethod
    def initialize(cls, session_key: str, config: dict[str, Any]) -> None:
        cls.inner = Journal()
        cls.inner.initialize(session_key, config)

    @classmethod
    def shutdown(cls) -> None:
        cls.inner.shutdown()

    @staticmethod
    def capabilities() -> dict[str, Any]:
        return Journal().capabilities()

    @classmethod
    def enrich_turn(cls, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return cls.inner.enrich_turn(user_message, messages)

    @classmethod
    def on_memory_write(cls, *arguments: Any, **keywords: Any) -> None:
        cls.inner.on_memory_write(*arguments, **keywords)

    @classmethod
    def on_turn_complete(cls, user_message: str, assistant_response: str) -> None:
        cls.inner.on_turn_complete(user_message, assistant_response)

    @staticmethod
    def on_compress(messages: list[dict[str, Any]], compression_count: int) -> None:
        pass


class Partials:
    name = "partials"

    def __init__(self) -> None:
        inner = Journal()
        for hook in HOOKS:
            setattr(self, hook, functools.partial(_call, inner, hook))


class _Hook:
    def __init__(self, inner: Journal, hook: str) -> None:
        self.inner, self.hook = inner, hook

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return _call(self.inner, self.hook, *arguments, **keywords)


class Callables:
    name = "callables"

    def __init__(self) -> None:
        inner = Journal()
        for hook in HOOKS:
            setattr(self, hook, _Hook(inner, hook))


class PartialMethods:
    name = "partial-methods"

    def __init__(self) -> None:
        self._inner = Journal()

    def _call(self, hook: str, *arguments: Any, **keywords: Any) -> Any:
        return _call(self._inner, hook, *arguments, **keywords)


class Properties:
    name = "properties"

    def __init__(self) -> None:
        self._inner = Journal()


for _hook in HOOKS:
    setattr(PartialMethods, _hook, functools.partialmethod(PartialMethods._call, _hook))
    setattr(Properties, _hook, property(lambda self, hook=_hook: getattr(self._inner, hook)))


@dataclasses.dataclass
class Data:
    inner: Journal = dataclasses.field(default_factory=Journal)
    name: str = "data"

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


@dataclasses.dataclass(slots=True)
class DataFields:
    name: str = "data-fields"
    is_available: Any = None
    initialize: Any = None
    shutdown: Any = None
    capabilities: Any = None
    enrich_turn: Any = None
    on_memory_write: Any = None
    on_turn_complete: Any = None
    on_compress: Any = None

    def __post_init__(self) -> None:
        inner = Journal()
        for hook in HOOKS:
            setattr(self, hook, getattr(inner, hook))


@attrs.define
class Slotted:
    inner: Journal = attrs.field(factory=Journal)
    name: str = "slotted"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


class _Answering(type):
    def __getattr__(cls, name: str) -> Any:
        if name in HOOKS:
            return functools.partial(_call, Journal(), name)
        raise AttributeError(name)


class ByItsClass(metaclass=_Answering):
    """The class answers for hooks that its instances do not have."""

    name = "by-its-class"


class ByBoth(metaclass=_Answering):
    name = "by-both"

    def __init__(self) -> None:
        self._inner = Journal()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)


def namespace() -> Any:
    inner = Journal()
    return types.SimpleNamespace(name="ns", **{hook: getattr(inner, hook) for hook in HOOKS})


class Empty(Journal):
    """It has no truth, no length, and cannot be compared."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        raise TypeError("not to be compared")

    __hash__ = None  # type: ignore[assignment]
