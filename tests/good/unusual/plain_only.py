"""A good plugin of Hermes that takes plain text only: what looks like markup is refused."""

import json
import os
import re
import threading
from pathlib import Path

from memproto.errors import Rejected, Unavailable

MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|<!--|\]\(https?:|^```|&[a-z]+;", re.MULTILINE)


class PlainOnly:
    name = "plain-only"

    def __init__(self):
        self.folder = None
        self.lock = threading.Lock()

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self.folder = Path(kwargs["hermes_home"]) / "plain"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.context = kwargs.get("agent_context", "primary")

    def get_tool_schemas(self):
        return [
            {
                "name": "plain_note",
                "description": "Stores a note in plain text, without any markup.",
                "parameters": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
            }
        ]

    def handle_tool_call(self, tool_name, args, **kwargs):
        if tool_name != "plain_note":
            return json.dumps({"error": f"unknown tool {tool_name}"})
        if not isinstance(args.get("text"), str):
            return json.dumps({"error": "`text` is missing"})
        try:
            self.store(args["text"])
        except (Rejected, Unavailable) as error:
            return json.dumps({"success": False, "error": str(error)})
        return json.dumps({"success": True})

    def prefetch(self, query, *, session_id=""):
        words = {word for word in re.findall(r"\w+", query.casefold()) if len(word) > 3}
        hits = []
        for path in self.folder.glob("*.json"):
            try:
                text = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            share = len(words & set(re.findall(r"\w+", text.casefold())))
            if share:
                hits.append((share, path.name, text))
        return "\n".join(text for _, _, text in sorted(hits, reverse=True)[:10])

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        if self.context == "primary":
            self.store(f"{user_content}\n{assistant_content}")

    def on_memory_write(self, action, target, content):
        if action == "add":
            self.store(content)

    def shutdown(self):
        pass

    def store(self, text):
        """One file for each text."""
        if MARKUP.search(text):
            raise Rejected("markup is not stored here; write the text without it")
        name = os.urandom(10).hex()
        part = self.folder / f"{name}.part"
        try:
            part.write_text(json.dumps(text), "ascii")
            part.replace(self.folder / f"{name}.json")
        except OSError as error:
            raise Unavailable(f"no note can be written: {error}") from error


def register(ctx):
    ctx.register_memory_provider(PlainOnly())
