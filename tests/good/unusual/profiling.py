"""A good provider that knows one thing: who the user is. It mirrors the target `user` alone."""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused


class Profiling:
    """
    The profile of the user, as one JSON file that is shown whole.

    Recall brings the same for every question: a profile is short.
    """

    name = "profiling"
    _most = 400

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._path = Path(config["home"], "profile.json")
        self._room = config.get("limits", {}).get("recall_chars")
        contexts = config.get("protocol", {}).get("contexts", ["primary"])
        self._counts = config.get("agent_context", "primary") in contexts
        try:
            self._path.with_suffix(".lock").touch()
        except OSError as error:
            raise Misconfigured("the home does not take a file") from error

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["writes"],
            "mirrors": {"user": ["add", "replace", "remove"]},
            "spec_version": "1.0",
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            lines = self._read()
        except (OSError, ValueError):
            return None
        text = "\n".join(f"- {line}" for line in reversed(lines))
        return text[: self._room] or None

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if target != "user":
            return
        if not self._counts:
            return
        with self._changing() as lines:
            if action in ("replace", "remove"):
                hits = [x for x in lines if x == old_text]
                hits = hits or [x for x in lines if old_text and old_text in x]
                if len(set(hits)) != 1:
                    raise WriteRefused("this names no line of the profile, or more than one")
                lines[:] = [x for x in lines if x not in hits]
            elif action != "add":
                raise Rejected(f"{action!r} is not known")
            if action != "remove":
                if len(lines) >= self._most:
                    raise WriteRefused(f"the profile has {self._most} lines, and is full")
                lines.append(content or "")

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """A profile is told, not guessed."""

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Nothing is taken from a conversation."""

    def shutdown(self) -> None:
        """Each write was made before its hook returned."""

    def _read(self) -> list[str]:
        try:
            return list(json.loads(self._path.read_text("ascii")))
        except FileNotFoundError:
            return []

    @contextlib.contextmanager
    def _changing(self):
        end = time.monotonic() + 7
        try:
            with self._path.with_suffix(".lock").open("r") as lock:
                while True:
                    with contextlib.suppress(BlockingIOError):
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    if time.monotonic() > end:
                        raise Unavailable("another process has the profile", retry_after_s=5)
                    time.sleep(0.03)
                lines = self._read()
                yield lines
                part = self._path.with_suffix(f".{os.getpid()}.part")
                part.write_text(json.dumps(lines, indent=1), "ascii")
                part.replace(self._path)
        except (OSError, ValueError) as error:
            raise Unavailable(f"profile.json cannot be changed: {error}") from error
