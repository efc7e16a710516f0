"""
The wall clock and the time zone under a check's hand; every monotonic clock runs on.

freezegun holds the clock. Its further effects are undone, since a good provider would fail by
it: it freezes the monotonic clocks, by which threads, queues and event loops wait; it gives the
real time to calls that come through `threading` or the kit, which is every hook; it gives out
datetimes of a class of its own, which serializers refuse; and it touches every attribute of every
module, which wakes those that load themselves when they are needed.
"""

import contextlib
import copyreg
import datetime as dt
import os
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from memproto.testing.clauses import Untestable

#: By so much a clock jumps that was wrong.
YEARS = dt.timedelta(days=20 * 365)

_MONOTONIC = ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_WALL = ("time", "time_ns", "localtime", "gmtime", "strftime")

#: Modules that freezegun is to leave alone: the prefix of every module's name.
_EVERY_MODULE = ""

#: They hold the real classes and functions, and go on doing so.
_SPARED = frozenset({"freezegun.api", "_datetime", "_pydatetime", "datetime", "time", __name__})


class _StandIn(type):
    """The class of classes that stand in for another one, and whose values are of that one."""

    stands_for: Any

    def __instancecheck__(cls, value: Any) -> bool:
        return super().__instancecheck__(value) or isinstance(value, cls._original())

    def __subclasscheck__(cls, subclass: type) -> bool:
        return super().__subclasscheck__(subclass) or issubclass(subclass, cls._original())

    def _original(cls) -> tuple[type, ...]:
        """The class that is stood in for; none for what a provider derives from a stand-in."""
        return (cls.stands_for,) if "stands_for" in vars(cls) else ()


class _Date(dt.date, metaclass=_StandIn):
    """`datetime.date`, of a day of the wall clock that is held."""

    stands_for: ClassVar[Any] = dt.date

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls._original()[0] if cls._original() else cls, *args, **kwargs)

    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(time.time())


class _Datetime(dt.datetime, metaclass=_StandIn):
    """`datetime.datetime`, with the wall clock that is held as its now."""

    stands_for: ClassVar[Any] = dt.datetime

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls._original()[0] if cls._original() else cls, *args, **kwargs)

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def today(cls) -> Any:
        return cls.now()

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(dt.UTC).replace(tzinfo=None)


# A pickle names a class by module and name, and finds the stand-in there while the clock is held.
for _kind in (_Date, _Datetime):
    _kind.__module__ = "datetime"
    _kind.__name__ = _kind.__qualname__ = _kind.stands_for.__name__


_real = types.SimpleNamespace(**{name: getattr(time, name) for name in (*_MONOTONIC, *_WALL)})


def _time_ns() -> int:
    # In microseconds, as a datetime has them; older releases of freezegun cut it to seconds.
    return round(time.time() * 1e6) * 1000


def _localtime(seconds: float | None = None) -> time.struct_time:
    shown: time.struct_time = _real.localtime(time.time() if seconds is None else seconds)
    return shown


def _strftime(form: str, moment: Any = None) -> str:
    return str(_real.strftime(form, _localtime() if moment is None else moment))


class WallClock:
    """The wall clock of this process, held still until it is moved."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def now(self) -> dt.datetime:
        """The instant that it shows."""
        shown: dt.datetime = self._factory().replace(tzinfo=dt.UTC)
        return shown

    def jump(self, to: dt.datetime) -> None:
        """Show another instant, later or earlier; `to` has an offset."""
        self._factory.move_to(to)

    def tick(self, seconds: float = 1.0) -> None:
        """Go on by some seconds."""
        self.jump(self.now() + dt.timedelta(seconds=seconds))


@contextlib.contextmanager
def wall_clock(at: dt.datetime | None = None) -> Iterator[WallClock]:
    """
    Hold the wall clock of this process in the body, at `at` (which has an offset) or at now.

    All that Python code reads from `time` and `datetime` shows it, on every thread and through
    names that were imported before; so do version 1 UUIDs. The system's time, as other programs
    and libraries ask for it, goes on. Everything is as before afterwards.
    """
    import freezegun.api  # it takes longer to import than most checks take to run

    freezer = freezegun.freeze_time(
        at or dt.datetime.now(dt.UTC), ignore=[_EVERY_MODULE], real_asyncio=True
    )
    with _same_for_every_caller(freezegun.api):
        factory = freezer.start()
        _put_monotonic_back()
        try:
            with _standing_in():
                yield WallClock(factory)
        finally:
            freezer.stop()
            # freezegun leaves a None there, of a function that Python has no more.
            vars(time).pop("clock", None)


def _put_monotonic_back() -> None:
    for name in _MONOTONIC:
        setattr(time, name, getattr(_real, name))


@contextlib.contextmanager
def _same_for_every_caller(api: Any) -> Iterator[None]:
    """Keep freezegun from looking at the stack to decide which time it tells."""
    before = api.call_stack_inspection_limit
    api.call_stack_inspection_limit = 0
    try:
        yield
    finally:
        api.call_stack_inspection_limit = before


@contextlib.contextmanager
def _standing_in() -> Iterator[None]:
    """Complete what freezegun put in place, and show it to those that imported by name."""
    vars(time).update(time_ns=_time_ns, localtime=_localtime, strftime=_strftime)
    vars(dt).update(date=_Date, datetime=_Datetime)
    kinds = (_Date, _Datetime)
    for kind in kinds:
        copyreg.pickle(kind.stands_for, _reducer(kind))
    pairs = [(getattr(_real, name), getattr(time, name)) for name in _WALL]
    pairs += [(kind.stands_for, kind) for kind in kinds]
    _exchange(pairs)
    try:
        yield
    finally:
        _exchange([(shown, real) for real, shown in pairs])


def _reducer(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Pickles a real value, while the real class is not to be found by its name."""
    return lambda value: (kind, value.__reduce_ex__(2)[1])


def _exchange(pairs: list[tuple[Any, Any]]) -> None:
    """In every loaded module, give the names of the first of each pair to the second."""
    new = {id(old): fresh for old, fresh in pairs}
    loaded: dict[str, Any] = dict(sys.modules)
    for name, module in loaded.items():
        if not isinstance(module, types.ModuleType) or name in _SPARED:
            continue
        names = vars(module)
        if new.keys().isdisjoint(map(id, list(names.values()))):
            continue
        for key, value in list(names.items()):
            if id(value) in new:
                names[key] = new[id(value)]


# -- time zones -----------------------------------------------------------------------------------


class Zone(NamedTuple):
    """
    A time zone.

    Attributes:
        name: In the time zone database.
        rule: The same as a rule of POSIX, for machines without the database.
        west_s: Seconds that its standard time is behind UTC.

    """

    name: str
    rule: str
    west_s: int


SHANGHAI = Zone("Asia/Shanghai", "CST-8", -8 * 3600)
LOS_ANGELES = Zone("America/Los_Angeles", "PST8PDT,M3.2.0,M11.1.0", 8 * 3600)
KATHMANDU = Zone("Asia/Kathmandu", "<+0545>-5:45", -20_700)


def ending_summer_time(end: dt.datetime) -> Zone:
    """A zone whose standard time is UTC, and whose summer time ends at `end`, a full hour."""
    begin = end - dt.timedelta(days=100)
    # The rule counts days from 0, and hours by the clock that is put back.
    first, last = (moment.timetuple().tm_yday - 1 for moment in (begin, end))
    rule = f"STD0DST-1,{first},{last}/{end.hour + 1}"
    return Zone(rule, rule, 0)


@contextlib.contextmanager
def time_zone(first: Zone) -> Iterator[Callable[[Zone], None]]:
    """
    Have the process live in a zone in the body, which gets a function that changes it.

    Raises:
        Untestable: The platform cannot change the zone of a process.

    """
    if not hasattr(time, "tzset"):
        raise Untestable("this platform cannot change the time zone of a running process")
    before = os.environ.get("TZ")
    try:
        _move(first)
        yield _move
    finally:
        _set_tz(before)


def _move(zone: Zone) -> None:
    _set_tz(zone.name)
    if time.timezone != zone.west_s:
        _set_tz(zone.rule)


def _set_tz(value: str | None) -> None:
    if value is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = value
    time.tzset()
