"""The transcript of a session of Claude Code: a file of JSON lines, read for its last turn."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto.fence.block import strip_memory_context

#: Marks of lines that no user wrote: of the program, of a subagent, of a compression.
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary")


@dataclasses.dataclass(frozen=True)
class LastTurn:
    """
    The last message of the user, and the last text of the answer to it.

    Attributes:
        line_id: The id of the user's line, "" if it has none.
        asked: The text of the user, without a context block.
        answered: The text, "" if there is none yet.
        asked_at: The time of the user's line as it stands there, "" if it has none.

    """

    line_id: str
    asked: str
    answered: str
    asked_at: str


def last_turn(path: Path) -> LastTurn | None:
    """
    Read a transcript to its end; None if no user said anything.

    Lines that are no JSON are left out.

    Raises:
        OSError: It cannot be read.

    """
    asked: dict[str, Any] | None = None
    answered = ""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in _messages(file):
            text = _text(line)
            if line["type"] == "user" and text:
                asked, answered = line, ""
            elif line["type"] == "assistant" and text:
                answered = text
    if asked is None:
        return None
    said = strip_memory_context(_text(asked)).strip()
    line_id, asked_at = str(asked.get("uuid") or ""), str(asked.get("timestamp") or "")
    return LastTurn(line_id, said, answered, asked_at)


def _messages(lines: Any) -> Iterator[dict[str, Any]]:
    for text in lines:
        # A transcript has far more lines of tools and files, and long ones.
        if '"user"' not in text and '"assistant"' not in text:
            continue
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(line, dict) or line.get("type") not in ("user", "assistant"):
            continue
        if not any(line.get(mark) for mark in _NOT_SAID):
            yield line


def _text(line: dict[str, Any]) -> str:
    """The text of a message; "" for one with the result of a tool."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content.strip()
    parts = [part for part in content or () if isinstance(part, dict)]
    if any(part.get("type") == "tool_result" for part in parts):
        return ""
    texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
    return "\n".join(text for text in texts if text).strip()
