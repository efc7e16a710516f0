"""Log records of level warning or worse while a provider is driven."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any


class Records(logging.Handler):
    """
    Keeps what is logged as a warning or worse.

    Attributes:
        found: The name of the logger of each record.
        said: The text of each record.

    """

    def __init__(self, said: list[str] | None = None) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []
        self.said: list[str] = [] if said is None else said

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record; a text that cannot be put together is kept as it stands."""
        self.found.append(record.name)
        try:
            self.said.append(record.getMessage())
        except Exception:
            self.said.append(str(record.msg))

    @contextlib.contextmanager
    def as_last_resort(self) -> Iterator[None]:
        """Hear what nobody else does, where a handler more would change what a program does."""
        kept, logging.lastResort = logging.lastResort, self
        try:
            yield
        finally:
            logging.lastResort = kept

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Hear what is logged in the body."""
        loggers: list[Any] = [logging.getLogger(), *logging.root.manager.loggerDict.values()]
        ends = [one for one in loggers if isinstance(one, logging.Logger) and _is_end(one)]
        for logger in ends:
            logger.addHandler(self)
        try:
            yield
        finally:
            for logger in ends:
                logger.removeHandler(self)


def _is_end(logger: logging.Logger) -> bool:
    """True if records go no further than to this logger."""
    return logger.parent is None or not logger.propagate
