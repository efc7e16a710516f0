"""
The smallest provider that holds the class core: a list of texts in one file, searched by words.

`pytest --memproto=smallest:Smallest --memproto-class=core`, from the directory of this file.
docs/classes.md shows what it would need for the class durable.
"""

import json
import re
from pathlib import Path
from typing import Any


class Smallest:
    """Keeps turns and added memories of one user."""

    name = "smallest"

    def is_available(self) -> bool:
        """It needs nothing."""
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Read what earlier sessions left."""
        self._path = Path(config["home"], "texts.json")
        self._limit = config["limits"].get("recall_chars")
        self._texts: list[str] = json.loads(self._path.read_text()) if self._path.exists() else []

    def capabilities(self) -> dict[str, Any]:
        """Turns and additions are stored; one session at a time."""
        return {"stores": ["turns", "writes"], "single_writer": True}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        """The texts that share most words with the question."""
        asked = set(re.findall(r"\w{4,}", user_message.lower()))
        shared = [len(asked & set(re.findall(r"\w{4,}", text.lower()))) for text in self._texts]
        best = max(shared, default=0)
        found = [text for text, number in zip(self._texts, shared, strict=True) if number == best]
        return "\n".join(found)[: self._limit] if best else None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Store one turn."""
        self._texts.append(user_message)
        self._path.write_text(json.dumps(self._texts))

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Store what is added; nothing else is declared."""
        if action == "add" and content:
            self.on_turn_complete(content, "")

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn is stored already."""

    def shutdown(self) -> None:
        """Every text is in the file already."""
