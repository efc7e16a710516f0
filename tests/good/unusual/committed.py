"""
A good provider in the shape of git: objects by their hash, trees, commits, and one ref.

Nothing that was written is changed. A change makes a new tree and a new commit, and takes effect
when the ref names it; history stays, as git's does.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
import zlib
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memproto import MemoryProvider, errors

if TYPE_CHECKING:
    from collections.abc import Iterator


class Repository:
    """Objects and one ref below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ref = root / "refs" / "heads" / "main"
        self.ref.parent.mkdir(parents=True, exist_ok=True)
        (root / "objects").mkdir(exist_ok=True)
        (root / "lock").touch()

    def put(self, kind: str, content: Any) -> str:
        data = f"{kind} ".encode() + json.dumps(content, sort_keys=True).encode("ascii")
        name = hashlib.sha256(data).hexdigest()
        path = self.root / "objects" / name[:2] / name[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self._whole(path, zlib.compress(data))
        return name

    def get(self, name: str) -> Any:
        data = zlib.decompress((self.root / "objects" / name[:2] / name[2:]).read_bytes())
        return json.loads(data.partition(b" ")[2])

    def head(self) -> str | None:
        try:
            return self.ref.read_text("ascii").strip()
        except FileNotFoundError:
            return None

    def tree(self) -> list[list[str]]:
        head = self.head()
        return [] if head is None else self.get(self.get(head)["tree"])

    def commit(self, tree: list[list[str]], subject: str) -> None:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        content = {"tree": self.put("tree", tree), "parent": self.head(), "when": when}
        self._whole(self.ref, self.put("commit", {**content, "subject": subject}).encode("ascii"))

    @contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        end = time.monotonic() + seconds
        with (self.root / "lock").open("rb") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.02)
            yield

    @staticmethod
    def _whole(path: Path, data: bytes) -> None:
        part = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
        try:
            part.write_bytes(data)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


class Committed(MemoryProvider):
    """One commit for each write."""

    name = "committed"  # type: ignore[assignment]

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self.limit = config["limits"].get("recall_chars")
        self.records = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        self.texts: dict[str, str] = {}
        try:
            self.repository = Repository(Path(config["home"], "memory.git"))
        except OSError as error:
            raise errors.Misconfigured(f"no repository can be made: {error}") from error

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "mirrors": {"memory": ["add", "replace", "remove"], "user": ["add", "replace"]},
            "extensions": ["prompt"],
        }

    def system_prompt_block(self) -> str:
        return "What was said in earlier conversations is kept in a repository."

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked = self._terms(user_message)
        found = []
        try:
            for place, (_, blob) in enumerate(self.repository.tree()):
                text = self._text(blob)
                shared = len(asked & self._terms(text))
                if shared:
                    found.append((shared, place, text))
        except (OSError, ValueError, zlib.error):
            return None
        answer = ""
        for _, _, text in sorted(found, reverse=True)[:12]:
            longer = f"{answer}\n* {text}" if answer else f"* {text}"
            if self.limit is not None and len(longer) > self.limit:
                break
            answer = longer
        if found and not answer:
            return max(found)[2][: self.limit]
        return answer or None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said = re.sub(
            r"(?s)<memory-context>\n\[System note: The following.*?</memory-context>",
            "",
            user_message,
        )
        self._change("turn", f"{said}\n\n{assistant_response}", None)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        match action:
            case "add":
                self._change(target, content, None)
            case "replace":
                self._change(target, content, old_text or "")
            case "remove":
                self._change(target, None, old_text or "")
            case _:
                raise errors.Rejected(f"{action!r} is no action")

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        return

    def shutdown(self) -> None:
        return

    def _change(self, kind: str, text: str | None, old: str | None) -> None:
        if not self.records:
            return
        try:
            with self.repository.locked(8):
                tree = self.repository.tree()
                if old is not None:
                    tree = self._without(tree, kind, old)
                if text is not None:
                    tree = [*tree, [kind, self.repository.put("blob", text)]]
                self.repository.commit(tree, f"{kind}: {'+' if text else ''}{'-' if old else ''}")
        except (OSError, ValueError, zlib.error) as error:
            raise errors.Unavailable(f"the repository cannot be used: {error}") from error

    def _without(self, tree: list[list[str]], kind: str, old: str) -> list[list[str]]:
        mine = {blob: self._text(blob) for k, blob in tree if k == kind}
        hits = {b for b, t in mine.items() if t == old} or {b for b, t in mine.items() if old in t}
        if not old or len(hits) != 1:
            raise errors.WriteRefused(f"{len(hits)} entries have this text")
        return [row for row in tree if row[0] != kind or row[1] not in hits]

    def _text(self, blob: str) -> str:
        if blob not in self.texts:
            if len(self.texts) > 500:
                self.texts.clear()
            self.texts[blob] = self.repository.get(blob)
        return self.texts[blob]

    @staticmethod
    def _terms(text: str) -> set[str]:
        return {word for word in re.findall(r"[^\W_]+", text.casefold()) if len(word) >= 4}
