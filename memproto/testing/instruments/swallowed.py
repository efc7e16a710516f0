"""
Exceptions that the author's code caught by a clause for every exception, and told nobody.

A record of the log tells of one that was logged (`log_tail`). Of one behind `except Exception` and
`pass` nothing is left but the text that is missing later. From Python 3.12 on the interpreter tells
of each exception that is caught (`sys.monitoring`), which costs nothing where none is raised, so it
is heard all the time. Python 3.11 knows only `sys.settrace`, which costs time for each call: there
a check that found a text lost is made once more with it, and nothing else of that run counts.
"""

import dis
import sys
import threading
from collections.abc import Hashable
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from memproto.testing import locate
from memproto.testing.instruments import catching
from memproto.testing.wire import show

#: So many different ones are kept: a provider may raise and catch for ever.
_MOST = 200

#: The number by which the kit's monitor is known to the interpreter; a debugger, a coverage tool, a
#: profiler and an optimizer have the others by convention.
_TOOL = 4

#: True if exceptions that are caught are heard all the time, and no run has to be made for it.
IS_CHEAP = sys.version_info >= (3, 12)

#: Instructions by which a frame ends, or rests, without an exception.
_LEAVING = frozenset(
    number
    for name, number in dis.opmap.items()
    if name.startswith(("RETURN", "YIELD", "ASYNC_GEN_WRAP", "SEND"))
)

#: They end loops, and are no faults.
_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)


class _Place(NamedTuple):
    """A line through which exceptions of one class came, in the frame that caught them."""

    path: str
    line: int
    function: str
    error: str


class _Seen(NamedTuple):
    """The first of them: as it is shown, the line that raised it, the names of its classes."""

    shown: str
    raised: str
    names: tuple[str, ...]


class Swallowed:
    """
    Keeps which exceptions the author's code has caught since the last `begin`.

    Guarantees:
        Between two checks it holds texts alone: no exception of a target's lives on in it.
        A fault of its own changes nothing for the code that is watched.
    Assumes:
        One of a process is on at a time.
    """

    def __init__(self) -> None:
        self._seen: dict[_Place, _Seen] = {}
        self._times: dict[_Place, int] = {}
        #: The one that was caught last, by its identity: raised again, it is not swallowed.
        self._last: dict[int, _Place] = {}
        #: Those of them that have to live on, so that no other one gets their identity.
        self._held: list[BaseException] = []

    def begin(self, *, is_on: bool = True) -> None:
        """Forget what was seen, and see from now on what is caught, if `is_on`."""
        self._seen, self._times, self._last, self._held = {}, {}, {}, []
        self._watch(is_on=is_on)

    def found(self) -> tuple[str, ...]:
        """
        The one that a reader should see: as it is shown, and the lines that raised and caught it.

        () for none. One behind a clause that does nothing comes before others, and a later one
        before an earlier: what was tried at the start of a session stands before what was lost.
        """
        ranked = []
        for number, (place, seen) in enumerate(list(self._seen.items())):
            clause = catching.clause(place.path, place.line, seen.names)
            if clause is not None and self._times.get(place, 0) > 0:
                at = f"{locate.short(place.path)}:{clause.line} in {place.function}"
                ranked.append((clause.is_idle, number, (seen.shown, seen.raised, at)))
        return max(ranked)[2] if ranked else ()

    def _watch(self, *, is_on: bool) -> None:
        raise NotImplementedError

    def _caught(self, code: CodeType, way: TracebackType, error: BaseException) -> None:
        """Note that a frame of the author's has caught an exception, whose way begins in it."""
        place = _Place(code.co_filename, way.tb_lineno, _name(code), type(error).__name__)
        if place not in self._seen:
            if len(self._seen) >= _MOST:
                return
            names = tuple(kind.__name__ for kind in type(error).__mro__)
            self._seen[place] = _Seen(show(error), locate.innermost(way), names)
        self._times[place] = self._times.get(place, 0) + 1
        if len(self._last) >= _MOST:
            self._last.clear()
            self._held.clear()
        self._last[id(error)] = place

    def _raised_again(self, error: BaseException | None) -> None:
        """Note that an exception that was caught is raised again, or another one in its place."""
        if error is not None and (place := self._last.pop(id(error), None)) is not None:
            self._times[place] -= 1


class _Monitored(Swallowed):
    """Hears of them from the interpreter: Python 3.12 and later."""

    def __init__(self, tool: int) -> None:
        super().__init__()
        self._tool = tool
        self._monitoring: Any = vars(sys)["monitoring"]
        self._events = self._monitoring.events
        for event, hear in (
            (self._events.EXCEPTION_HANDLED, self._hear_handled),
            (self._events.RERAISE, self._hear_raised),
            (self._events.RAISE, self._hear_raised),
        ):
            self._monitoring.register_callback(tool, event, hear)

    def _watch(self, *, is_on: bool) -> None:
        named = self._events
        wanted = named.EXCEPTION_HANDLED | named.RERAISE | named.RAISE if is_on else 0
        self._monitoring.set_events(self._tool, wanted)

    def _hear_handled(self, code: CodeType, _: int, error: BaseException) -> None:
        if not locate.is_authors(code.co_filename) or isinstance(error, _ENDS):
            return
        way = error.__traceback__
        # The first entry is that of the frame which has caught it.
        if way is not None and way.tb_frame.f_code is code:
            self._caught(code, way, error)

    def _hear_raised(self, code: CodeType, _: int, error: BaseException) -> None:
        if not self._last:
            return
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            # It is new: what had its identity before is gone.
            self._last.pop(id(error), None)
        self._raised_again(error)
        self._raised_again(error.__context__)


class _Traced(Swallowed):
    """Traces the frames of the author's code, each of which ends with an exception or without."""

    def __init__(self) -> None:
        super().__init__()
        #: Frame, by its identity, to the exception that came into it last, by its own.
        self._open: dict[Hashable, tuple[int, _Place]] = {}

    def _watch(self, *, is_on: bool) -> None:
        trace = self._called if is_on else None
        threading.settrace(trace)
        sys.settrace(trace)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        if event != "call" or not locate.is_authors(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
        return self._traced

    def _traced(self, frame: FrameType, event: str, told: Any) -> Any:
        if event == "exception":
            self._came(frame, told[1], told[2])
        elif event == "return":
            last = self._open.pop(id(frame), None)
            if last and frame.f_code.co_code[frame.f_lasti] not in _LEAVING:
                self._passed_on(last)
        return self._traced

    def _came(
        self, frame: FrameType, error: BaseException | None, way: TracebackType | None
    ) -> None:
        """An exception came into a frame: one that came into it before was caught there."""
        if not isinstance(error, BaseException) or isinstance(error, _ENDS) or way is None:
            return
        self._raised_again(error)
        self._raised_again(error.__context__)
        self._held.append(error)
        self._caught(frame.f_code, way, error)
        if (known := self._last.get(id(error))) is not None:
            self._open[id(frame)] = id(error), known

    def _passed_on(self, last: tuple[int, _Place]) -> None:
        """The frame has ended by the exception: it was not caught there."""
        identity, place = last
        if self._last.get(identity) == place:
            del self._last[identity]
            self._times[place] -= 1


class _Deaf(Swallowed):
    """Hears of nothing: another tool of the process has the place."""

    def _watch(self, *, is_on: bool) -> None:
        pass


def _name(code: CodeType) -> str:
    return code.co_qualname.rpartition("<locals>.")[2]


def heard() -> Swallowed:
    """A listener that hears of them all the time, if that costs nothing; else one that is deaf."""
    if not IS_CHEAP:
        return _Deaf()
    try:
        vars(sys)["monitoring"].use_tool_id(_TOOL, "memproto")
    except ValueError:
        return _Deaf()
    return _Monitored(_TOOL)


def traced() -> Swallowed:
    """A listener for a run that is made for it."""
    return _Deaf() if sys.gettrace() is not None else _Traced()
