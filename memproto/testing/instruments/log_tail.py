"""
The last lines that a target logged: its own of any level, and without a change in what is written.

The loggers of the target's own packages hear every level, those of libraries stay as they are:
a library may write thousands of lines. A record of a level that nobody had asked for stays below
the level of every handler, so a provider's own handlers, and `basicConfig`, do as they would
without the kit.
"""

import collections
import contextlib
import logging
import sys
from typing import Any, NamedTuple

from memproto.testing import locate
from memproto.testing.wire import hidden, shorten, show

#: So many lines are kept, each of so many characters.
_MOST_LINES, _MOST_CHARS = 5, 300

#: The level of an opened logger: below DEBUG, which a provider may set by itself.
_ALL = 1

#: Below the level of every handler.
_UNHEARD = -1

#: Values whose text is no code of a target's.
_PLAIN = (bool, int, float, type(None))


class _Line(NamedTuple):
    """A record as it was made; without an object of the target's, which would live on in it."""

    name: str
    level: str
    text: str
    values: Any
    path: str
    number: int
    function: str

    def __str__(self) -> str:
        """`acme DEBUG 'no turn was written', at acme.py:40 in _work`."""
        at = _place(self.path, self.number, self.function)
        line = hidden(f"{self.name} {self.level} {self._message()!r}, at {at}")
        return line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"

    def _message(self) -> str:
        try:
            return self.text % self.values if self.values else self.text
        except (TypeError, ValueError, KeyError):
            return self.text


class LogTail:
    """
    Keeps the last lines that the author's code, or a library that it uses, has logged.

    Attributes:
        swallowed: The first exception that was logged, as in `Result`; () for none.
        is_on: True while lines are kept.

    Assumes:
        It is installed once in a process, before the target is imported.
    """

    def __init__(self) -> None:
        # Each line with the number of times that it was logged in a row.
        self._lines: collections.deque[tuple[_Line, int]] = collections.deque(maxlen=_MOST_LINES)
        self._opened: frozenset[str] = frozenset()
        self.swallowed: tuple[str, ...] = ()
        self.is_on = True
        #: The modules that the kit and the interpreter have imported.
        self._known = frozenset(sys.modules)

    def install(self) -> None:
        """Hear all records that are made from now on."""
        make = logging.getLogRecordFactory()

        def made(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = make(*args, **kwargs)
            # A record may be made of anything; none of it is a fault of the one who logs.
            with contextlib.suppress(Exception):
                self._hear(record)
            return record

        logging.setLogRecordFactory(made)

    def open(self, package: str) -> None:
        """
        Have the target's own loggers make records of every level; a level that is set stays.

        They are those that are named like a module of `package`, the top package that TARGET names,
        or like another module that is imported and not installed.
        """
        for name in _own(package, self._known):
            logger = logging.getLogger(name)
            if logger.level == logging.NOTSET:
                logger.setLevel(_ALL)
                self._opened |= {name}

    def begin(self, *, is_on: bool = True) -> None:
        """Forget the lines that are there, and keep those to come if `is_on`."""
        self.is_on = is_on
        self.swallowed = ()
        self._lines.clear()

    def lines(self) -> tuple[str, ...]:
        """The last lines, the oldest first."""
        return tuple(f"{line}{f' ({n} times)' if n > 1 else ''}" for line, n in list(self._lines))

    def _hear(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in self._opened and not self._is_asked_for(record):
            record.levelno = _UNHEARD
        if self.is_on and locate.is_authors(record.pathname):
            self._keep(_line(record))
            self.swallowed = self.swallowed or _swallowed(record)

    def _keep(self, line: _Line) -> None:
        # Another thread may log or clear in between: a line is the worst that this can cost.
        last, count = self._lines[-1] if self._lines else (None, 0)
        if line == last:
            self._lines[-1] = line, count + 1
        else:
            self._lines.append((line, 1))

    def _is_asked_for(self, record: logging.LogRecord) -> bool:
        """True if the record would have been made if no logger had been opened."""
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if logger.level and not (logger.level == _ALL and logger.name in self._opened):
                return record.levelno >= logger.level
            logger = logger.parent
        return True


def _own(package: str, known: frozenset[str]) -> set[str]:
    """
    The top packages of the target: the one that it names, and those that nobody installed.

    The modules in `known` were imported before it.
    """
    found = {package} if package in sys.modules else set()
    for name in sys.modules.keys() - known:
        path = getattr(sys.modules.get(name), "__file__", None)
        top = name.partition(".")[0]
        if top in found or not isinstance(path, str):
            continue
        if locate.is_authors(path) and not locate.is_installed(path):
            found.add(top)
    return found


def _line(record: logging.LogRecord) -> _Line:
    text, given = record.msg, record.args
    values: Any = ()
    if isinstance(given, dict):
        values = {str(key): _plain(value) for key, value in given.items()}
    elif isinstance(given, tuple):
        values = tuple(map(_plain, given))
    text = str.__str__(text) if isinstance(text, str) else show(_plain(text))
    place = (record.pathname, record.lineno, str(record.funcName))
    return _Line(record.name, record.levelname, _short(text), values, *place)


def _plain(value: Any) -> Any:
    """A value to be put into a text; nothing of a target's code runs for it."""
    if isinstance(value, str):
        return _short(str.__str__(value))
    if type(value) in _PLAIN:
        return value
    return show(value) if isinstance(value, BaseException) else f"<{type(value).__name__}>"


def _short(text: str) -> str:
    """A text of which the tail holds on to a part alone, never to a part of a credential."""
    return text if len(text) <= _MOST_CHARS else shorten(text, _MOST_CHARS)


def _swallowed(record: logging.LogRecord) -> tuple[str, ...]:
    """The exception that a record tells: as it is shown, where it came from, where it was told."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if error is None:
        return ()
    logged = _place(record.pathname, record.lineno, str(record.funcName))
    return show(error), locate.raised(error), logged


def _place(path: str, number: int, function: str) -> str:
    return f"{locate.short(path)}:{number} in {function}"


def installed() -> LogTail:
    """A tail that hears this process from now on."""
    found = LogTail()
    found.install()
    return found
