"""
The number of the check that runs, while it runs.

pytest shows a letter once a check has ended, and of a check whose result waits for others none.
On a terminal the number stands where the next letter will, and goes before anything is written. In
a file nothing can be taken back: a line says the number where nothing else has been said for long.
"""

import os
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from memproto.pytest_plugin.items import ClauseItem

#: Seconds without a line that ends, after which a file gets one.
SILENT_S = 20.0

#: Erases the line from the cursor on; keeps the place of the cursor, and goes back to it.
_ERASE, _KEEP, _BACK = "\x1b[K", "\x1b7", "\x1b8"


class Progress:
    """The plugin object of a run that checks one requirement after the other."""

    def __init__(self, reporter: Any, clock: Callable[[], float] = monotonic) -> None:
        self._reporter = reporter
        self._clock = clock
        self._count, self._text = 0, ""
        self._said_at = clock()
        self._is_drawn = False
        #: A verbose run names each check by itself.
        self._is_wanted = reporter.verbosity <= 0
        self._draws = reporter.isatty and os.environ.get("TERM", "dumb") != "dumb"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Show the number while the check of an item runs, and nothing of it afterwards."""
        self._count += 1
        self._text = ""
        if self._is_wanted and isinstance(item, ClauseItem):
            self._text = f"{self._count}/{len(item.session.items)} {item.requirement.id}"
            if item.waits:
                # Nothing is written of it before the end of the run.
                self._show()
        try:
            return (yield)
        finally:
            self._clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        """Give the place back to what is told; then, in the line that pytest has begun, show it."""
        self._clear()
        yield
        if report.when == "setup":
            # From here on until the next report the output is captured.
            self._show()

    def _show(self) -> None:
        text = self._text
        if not text:
            return
        writer = self._reporter._tw  # noqa: SLF001 - the writer of pytest has no public name
        if self._draws:
            left = writer.fullwidth - writer.width_of_current_line - 2
            if len(text) <= left:
                self._is_drawn = True
                self._write(f"{_KEEP} {text}{_ERASE}{_BACK}")
        elif self._clock() - self._said_at >= SILENT_S:
            self._said_at = self._clock()
            self._reporter.ensure_newline()
            if writer.width_of_current_line:
                # A quiet run has no path before its letters.
                writer.line()
            self._reporter.write_line(f"check {text}")

    def _clear(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._write(_ERASE)

    def _write(self, escapes: str) -> None:
        # Past the writer, which counts the columns that it has written.
        file = self._reporter._tw._file  # noqa: SLF001 - as above
        file.write(escapes)
        file.flush()
