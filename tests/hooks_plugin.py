"""A plugin that has functions for the hooks of an agent's loop, and no provider."""

import json
import os
from pathlib import Path


class Notebook:
    """Keeps what was said in one file of lines, and recalls the lines that share a word."""

    home = ""

    def _file(self) -> Path:
        return Path(self.home or os.environ["HERMES_HOME"]) / "notebook.jsonl"

    def _lines(self):
        found = self._file().read_text(encoding="utf-8") if self._file().exists() else ""
        return [json.loads(line) for line in found.splitlines()]

    def keep(self, session_id, text):
        with self._file().open("a", encoding="utf-8") as file:
            file.write(json.dumps([session_id, text]) + "\n")

    # -- hooks --------------------------------------------------------------------------------

    def on_session_start(self, hermes_home="", **_):
        self.home = hermes_home  # a host of hooks alone gives none

    def pre_llm_call(self, user_message, **_):
        words = {word.strip(".?!").lower() for word in user_message.split() if len(word) > 3}
        known = [text for _, text in self._lines() if words & set(text.lower().split())]
        return {"context": "\n".join(known)} if known else None

    def post_llm_call(self, session_id, user_message, assistant_response, **_):
        self.keep(session_id, f"user said : {user_message} / {assistant_response}")

    def post_tool_call(self, tool_name, args, result, session_id="", **_):
        if tool_name == "memory":
            self.keep(session_id, f"remembered : {args.get('content', '')}")


def register(ctx):
    notebook = Notebook()
    ctx.register_hook("on_session_start", notebook.on_session_start)
    ctx.register_hook("pre_llm_call", notebook.pre_llm_call)
    ctx.register_hook("post_llm_call", notebook.post_llm_call)
    ctx.register_hook("post_tool_call", notebook.post_tool_call)
    ctx.register_cli_command("notebook", lambda *_: None)
