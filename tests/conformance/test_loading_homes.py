"""A provider that serves only homes which its operator set up."""

from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import HERMES
from memproto.conformance.provider import loading
from memproto.testing.clauses import NotApplicable
from memproto.testing.provider.subject import HookRaised, Subject, Watch
from memproto.testing.wire import Wire


class Refusing:
    """Raises what it is given when a session starts."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        raise self._error


class _Run:
    def session_key(self) -> str:
        return "s"

    def config(self, home: Path) -> dict[str, Any]:
        return {"home": str(home)}


def opened(tmp_path: Path, error: BaseException) -> None:
    with (tmp_path / "wire").open("wb") as file:
        subject = Subject(Refusing(error), HERMES, Watch(Wire(file.fileno())))
        loading._opened_in(_Run(), subject, tmp_path)


def test_a_home_that_nobody_set_up_may_be_refused(tmp_path):
    with pytest.raises(NotApplicable, match="no manifest"):
        opened(tmp_path, OSError("no manifest"))


def test_one_that_ends_the_process_is_no_refusal(tmp_path):
    with pytest.raises(HookRaised):
        opened(tmp_path, SystemExit(1))
