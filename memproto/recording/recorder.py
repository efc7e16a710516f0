"""A recording, and providers that are recorded: each call noted before and after it is made."""

import functools
import inspect
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any, Self, TypeVar

from memproto import errors
from memproto.bindings import Binding
from memproto.recording import facts, hooks
from memproto.recording.salt import Salt
from memproto.recording.writer import Stream, Writer
from memproto.types import is_label

_Provider = TypeVar("_Provider")
_TYPE_NAME = type.__dict__["__name__"].__get__
_LONGEST_NAME = 80


class Recording:
    """
    One trace, of any number of providers and sessions; every method may be called on any thread.

    Writes a line before and after each call of a hook, and blocks for that write; what it cannot
    write it counts and lets go. In a forked child it records nothing. It ends by `close`, as a
    context manager, when nothing refers to it any more, or when the interpreter exits.

    Args:
        target: A path, to which lines are added, or a stream of text or bytes, which stays open.

    Raises:
        OSError: The file cannot be opened.

    """

    def __init__(self, target: str | os.PathLike[str] | Stream) -> None:
        self._writer = Writer(target)
        self._salt = Salt()
        self._calls = itertools.count(1)
        self._instances = itertools.count(1)
        self._finalizer = weakref.finalize(self, self._writer.close)
        self._finalizer.atexit = False  # the writer has a way of its own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the last line and end the recording; later calls are not recorded."""
        self._finalizer()

    @property
    def dropped(self) -> int:
        """Number of lines that could not be written."""
        return self._writer.dropped

    def around(self, provider: _Provider) -> _Provider:
        """
        Returns an object with the hooks and attributes of `provider`, each call of which is noted.

        It serves what the given one serves, no more and no less, coroutine hooks included, and is
        an instance of the same classes for `isinstance`. Reading `name` is not noted.
        """
        binding = hooks.binding_of(provider)
        instance = _Instance(self, next(self._instances))
        label = _quietly(lambda: provider.name)  # type: ignore[attr-defined]
        name = label if is_label(label) else ""
        self._writer.write(
            "provider", instance=instance.number, provider=name, binding=binding.name
        )
        recorded: Any = _class_for(provider, binding)(provider, instance)
        return recorded  # type: ignore[no-any-return]

    # -- lines ------------------------------------------------------------------------------------

    def begin(
        self,
        instance: "_Instance",
        operation: str,
        hook: str,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> "_Call":
        """Note that a call begins."""
        call = _Call(next(self._calls), instance, operation)
        try:
            given = hooks.named(operation, args, keywords)
            call.goes_to = self._session_of(operation, given)
            if operation == "open":
                instance.session = call.goes_to
                instance.hold(self._writer)
            self._writer.write(
                "begin",
                call=call.number,
                instance=instance.number,
                operation=operation,
                hook=hook,
                session=instance.session,
                thread=threading.get_ident(),
                args={name: self._salt.shape(value) for name, value in given.items()},
                facts=facts.of_call(operation, given, self._salt),
            )
        except Exception as error:
            self._writer.skip(error)
        call.began_s = perf_counter()
        return call

    def _session_of(self, operation: str, given: dict[str, Any]) -> str:
        key = {"open": "session_key", "switch": "new_session_id"}.get(operation, "")
        return self._salt.digest(given[key]) if key in given else ""

    def end(self, call: "_Call", answer: object = None, error: BaseException | None = None) -> None:
        """Note that a call returned or raised."""
        took_s = round(perf_counter() - call.began_s, 6)
        if call.operation == "switch":  # whatever it raised: that is where the host goes on
            call.instance.session = call.goes_to
        try:
            if error is not None:
                ending = {"outcome": "raised", "error": _type_name(error), "facts": {}}
            else:
                ending = {
                    "outcome": "returned",
                    "result": self._salt.shape(answer),
                    "facts": facts.of_answer(call.operation, answer, self._salt),
                }
            self._writer.write("end", call=call.number, took_s=took_s, **ending)
            if call.operation == "close":
                call.instance.release(self._writer)
        except Exception as failed:
            self._writer.skip(failed)


def record(provider: _Provider, target: str | os.PathLike[str] | Stream | Recording) -> _Provider:
    """
    Returns `provider`, recorded: in a recording of its own, or in one that is given.

    Several traces may be added to one file, at the same time too: each line says whose it is.

    Raises:
        OSError: The file cannot be opened.

    """
    recording = target if isinstance(target, Recording) else Recording(target)
    return recording.around(provider)


class _Instance:
    """A recording's knowledge of one provider: its number, and the session that it is in."""

    __slots__ = ("is_held", "number", "recording", "session")

    def __init__(self, recording: Recording, number: int) -> None:
        self.recording = recording
        self.number = number
        self.session = ""
        self.is_held = False

    def hold(self, writer: Writer) -> None:
        """Keep the trace open at the exit until the session has ended."""
        if not self.is_held:
            self.is_held = True
            writer.hold()

    def release(self, writer: Writer) -> None:
        """The session has ended."""
        if self.is_held:
            self.is_held = False
            writer.release()


class _Call:
    """A call under way."""

    __slots__ = ("began_s", "goes_to", "instance", "number", "operation")

    def __init__(self, number: int, instance: _Instance, operation: str) -> None:
        self.number, self.instance, self.operation = number, instance, operation
        self.goes_to = ""
        self.began_s = 0.0


# -- a provider that is recorded -------------------------------------------------------------------


class _Recorded:
    """Base of all recorded providers: every member that is no hook is the provider's own."""

    def __init__(self, provider: Any, instance: _Instance) -> None:
        object.__setattr__(self, "_recorded", (provider, instance))

    @property
    def name(self) -> Any:
        return self._recorded[0].name

    @property  # type: ignore[misc]  # so that `isinstance` sees the provider's class
    def __class__(self) -> type:
        return type(self._recorded[0])

    def __getattr__(self, name: str) -> Any:
        if name == "_recorded":  # not constructed yet
            raise AttributeError(name)
        return getattr(self._recorded[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._recorded[0], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._recorded[0], name)

    def __repr__(self) -> str:
        return f"<recorded {self._recorded[0]!r}>"


def _class_for(provider: object, binding: Binding) -> type[_Recorded]:
    """A class with the hooks that the provider has: what asks for its members finds the same."""
    members = {
        hook: _method(hook, operation, member)
        for hook, operation in binding.operations().items()
        if callable(member := _quietly(functools.partial(getattr, provider, hook)))
    }
    return type("Recorded", (_Recorded,), members)


def _method(hook: str, operation: str, member: Callable[..., Any]) -> Callable[..., Any]:
    make = _coroutine if inspect.iscoroutinefunction(member) else _plain
    method = make(hook, operation)
    method.__name__ = hook
    method.__doc__ = getattr(member, "__doc__", None)
    signature = _quietly(lambda: _with_self(inspect.signature(member)))
    if signature is not None:  # hosts pass what a signature takes
        method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _with_self(signature: inspect.Signature) -> inspect.Signature:
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    return signature.replace(parameters=[first, *signature.parameters.values()])


def _plain(hook: str, operation: str) -> Callable[..., Any]:
    def call(self: _Recorded, /, *args: Any, **keywords: Any) -> Any:
        provider, instance = self._recorded
        function = getattr(provider, hook)
        noted = instance.recording.begin(instance, operation, hook, args, keywords)
        try:
            answer = function(*args, **keywords)
        except BaseException as error:
            instance.recording.end(noted, error=error)
            raise
        instance.recording.end(noted, answer)
        return answer

    return call


def _coroutine(hook: str, operation: str) -> Callable[..., Any]:
    async def call(self: _Recorded, /, *args: Any, **keywords: Any) -> Any:
        provider, instance = self._recorded
        function = getattr(provider, hook)
        noted = instance.recording.begin(instance, operation, hook, args, keywords)
        try:
            answer = await function(*args, **keywords)
        except BaseException as error:
            instance.recording.end(noted, error=error)
            raise
        instance.recording.end(noted, answer)
        return answer

    return call


def _quietly(ask: Callable[[], Any]) -> Any:
    """Asks a provider something while it is wrapped; None if it raises."""
    try:
        return ask()
    except Exception:
        return None


def _type_name(error: BaseException) -> str:
    """
    The name of the error's type, where it is a plain name and was not made up of a text.

    Of one that is derived from an error of the specification, the name of that.
    """
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    name = _TYPE_NAME(next(kinds, type(error)))
    return name if name.isidentifier() and len(name) <= _LONGEST_NAME else "?"
