"""One result as pytest tells it: the phase's outcome, the message, the word and the letter."""

import dataclasses
import json
from typing import Any

import pytest

from memproto import spec
from memproto.pytest_plugin import junit
from memproto.report import message, needs
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Order

#: The property of a pytest report that names the outcome by which it is shown.
PROPERTY = "memproto-outcome"

#: In place of where the kit is installed, which pytest writes beside the reason of a skip.
_PLACE = ("memproto/pytest_plugin/items.py", 0)


@dataclasses.dataclass(frozen=True)
class Crash:
    """The one line that pytest tells of a failure: by itself, and behind the name of an item."""

    line: str
    message: str

    def __str__(self) -> str:
        return self.line


class Finding:
    """
    The message of a red item as pytest prints it, and the one line for its summary.

    pytest's summary would print a plain text again, on a CI runner all of it.
    """

    def __init__(self, text: str, line: str, message: str) -> None:
        self._text = text
        self.reprcrash = Crash(line, message)

    def __str__(self) -> str:
        return self._text

    def toterminal(self, writer: Any) -> None:
        """Write the text."""
        writer.line(self._text)


@dataclasses.dataclass(frozen=True)
class ShownResult:
    """
    One result on its way to pytest.

    Guarantees:
        The result and the order alone decide what pytest shows and counts of a requirement,
        as they decide its row in the report.
    """

    result: Result
    order: Order
    strict: bool

    @property
    def is_waived(self) -> bool:
        """True if a waiver has it not be red."""
        return self.order.waivers.covers(self.result)

    @property
    def outcome(self) -> Outcome:
        """The outcome as the report has it."""
        return Outcome.WAIVED if self.is_waived else self.result.outcome

    @property
    def is_red(self) -> bool:
        """True if the run is red for it; no warning of a defensive rule makes it so."""
        if self.outcome is Outcome.WARN:
            return self.strict and not spec.requirement(self.result.id).defensive
        return self.outcome in (Outcome.FAIL, Outcome.KIT_ERROR)

    def put(self, report: pytest.TestReport) -> None:
        """Have a report of pytest say it."""
        report.outcome, report.longrepr = self._phase()
        report.user_properties += [(PROPERTY, json.dumps([str(self.outcome), self.is_red]))]
        report.user_properties += junit.properties(self.result.id, self.outcome)

    def text(self, *, is_brief: bool = False) -> str:
        """The message of a red result."""
        return message.render(self.result, self.order, is_brief=is_brief)

    def line(self) -> str:
        """The observation of a red result, for pytest's own summary."""
        return message.in_summary(self.result)

    def _phase(self) -> tuple[Any, Any]:
        if self.is_red:
            return "failed", self.text()
        if self.outcome in (Outcome.PASS, Outcome.WARN):
            return "passed", None
        said = f"{self.outcome.replace('_', ' ')}: {self._reason()}"
        return "skipped", (*_PLACE, f"Skipped: {said}")

    def _reason(self) -> str:
        waivers = self.order.waivers
        return waivers.reason(self.result.id) if self.is_waived else needs.reason(self.result)
