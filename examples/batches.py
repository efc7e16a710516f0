"""
A provider with a bug: it writes turns three at a time, and forgets the rest at shutdown.

`pytest --memproto=batches` in this directory shows what the kit says about it.
"""

import json
from pathlib import Path


class Memory:
    name = "batches"

    def __init__(self):
        self._pending = []

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._path = Path(config["home"]) / "turns.json"
        self._turns = json.loads(self._path.read_text()) if self._path.exists() else []

    def capabilities(self):
        return {"stores": ["turns"], "single_writer": True}

    def enrich_turn(self, user_message, messages):
        return "\n".join(self._turns) or None

    def on_memory_write(self, action, target, content, old_text=None):
        pass

    def on_turn_complete(self, user_message, assistant_response):
        self._pending.append(f"{user_message}\n{assistant_response}")
        if len(self._pending) == 3:
            self._turns += self._pending
            self._pending = []
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps(self._turns))
            new.replace(self._path)

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass
