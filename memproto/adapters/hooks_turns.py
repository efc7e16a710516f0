"""The whole turn that a plugin of hooks is told: its tool calls, and each turn once."""

import contextlib
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.adapters.texts import plain_text

logger = logging.getLogger("memproto.adapters.hooks")

_FILE = "recorded-turns.jsonl"
_MOST = 1000


# Guarantees: of the latest turns each is told once, from any thread, also after a new start in the
#   same home; a turn that raised may come again. If the file cannot be written that is logged,
#   and holds until the process ends.
# Assumes: one instance at a time writes in one home.
class RecordedTurns:
    """The ids of the latest turns that the functions were told of, kept below `home`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[str, None] = {}
        self._file: Path | None = None

    def open(self, home: Any) -> None:
        """Read what was kept in a home."""
        self._file = Path(home) / _FILE if isinstance(home, str) and home else None
        self._taken = dict.fromkeys(self._kept())

    @contextlib.contextmanager
    def once(self, turn_id: str) -> Iterator[bool]:
        """Gives whether the turn is a new one; what is raised within leaves it new."""
        with self._lock:
            is_new = turn_id not in self._taken
            self._taken.setdefault(turn_id)
        try:
            yield is_new
        except BaseException:
            if is_new:
                self._taken.pop(turn_id, None)
            raise
        if is_new:
            self._keep(turn_id)

    def _keep(self, turn_id: str) -> None:
        with self._lock, self._reported():
            if len(self._taken) > 2 * _MOST:
                self._shorten()
            elif self._file is not None:
                with self._file.open("a", encoding="ascii") as file:
                    file.write("\n" + json.dumps(turn_id))  # the line before may be torn

    def _shorten(self) -> None:
        self._taken = dict.fromkeys(list(self._taken)[-_MOST:])
        if self._file is not None:
            new = self._file.with_suffix(".new")
            new.write_text("\n".join(map(json.dumps, self._taken)), encoding="ascii")
            new.replace(self._file)

    def _kept(self) -> list[str]:
        if self._file is None or not self._file.exists():
            return []
        text = ""
        with self._reported():
            text = self._file.read_text(encoding="ascii", errors="replace")
        return [turn_id for line in text.splitlines() for turn_id in _read(line)]

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            logger.warning("ids of turns are not kept: %s", type(error).__name__)


def _read(line: str) -> Iterator[str]:
    """The id of a line; a line that was torn by a crash holds none."""
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, str):
            yield found


# -- tool calls -----------------------------------------------------------------------------------


def tool_calls(messages: list[Any]) -> Iterator[tuple[str, dict[str, Any], str, str]]:
    """Name, arguments, result and id of each tool call of a turn's messages, in order."""
    answered = {m.get("tool_call_id"): m for m in messages if isinstance(m, Mapping)}
    for message in messages:
        calls = message.get("tool_calls") if isinstance(message, Mapping) else None
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping):
                result = answered.get(call.get("id"), {})
                function = call["function"]
                name, args = str(function.get("name", "")), _arguments(function.get("arguments"))
                yield name, args, plain_text(result.get("content")), str(call.get("id", ""))


def _arguments(given: Any) -> dict[str, Any]:
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        arguments = None
    return dict(arguments) if isinstance(arguments, Mapping) else {}
