"""A good plugin of Hermes: one Markdown file for each user, which people can read and edit."""

import contextlib
import fcntl
import hashlib
import html
import os
import re
import time
from pathlib import Path

try:
    from agent.memory_provider import MemoryProvider
except ImportError:  # the host is not installed where the tests run
    MemoryProvider = object


class Personal(MemoryProvider):
    """A line of Markdown for each text; line breaks and odd characters are escaped."""

    @property
    def name(self):
        return "personal"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        user = kwargs.get("user_id")
        named = "nobody" if user is None else hashlib.sha256(ascii(user).encode()).hexdigest()[:40]
        folder = Path(kwargs["hermes_home"], "personal")
        folder.mkdir(exist_ok=True)
        self._file = folder / f"{named}.md"
        self._is_primary = kwargs.get("agent_context", "primary") == "primary"

    def get_tool_schemas(self):
        return []

    def system_prompt_block(self):
        return ""

    def prefetch(self, query, *, session_id=""):
        words = {word for word in re.findall(r"\w+", query.lower()) if len(word) > 3}
        scores = []
        for text in self._lines():
            shared = len(words & set(re.findall(r"\w+", text.lower())))
            if shared:
                scores.append((shared, text))
        scores.sort(key=lambda pair: pair[0], reverse=True)
        return "\n".join(text for _, text in scores[:10])

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        said = re.sub(
            r"<memory-context>\s*\[.*?</memory-context>", "", user_content, flags=re.DOTALL
        )
        self._add(f"{said}\n{assistant_content}")

    def on_memory_write(self, action, target, content, metadata=None):
        if action == "add":
            self._add(content)

    def shutdown(self):
        pass

    def _add(self, text):
        if self._is_primary:
            with self._locked() as file:
                line = ("* " + _escaped(text) + "\n").encode("ascii")
                if file.write(line) < len(line):
                    raise OSError("the file takes no more")

    @contextlib.contextmanager
    def _locked(self):
        end = time.monotonic() + 8
        with self._file.open("ab", buffering=0) as file:
            while True:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.05)
            if file.tell() and not self._ends_whole():
                os.write(file.fileno(), b"\n")
            yield file

    def _ends_whole(self):
        return self._file.read_bytes().endswith(b"\n")

    def _lines(self):
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return []
        lines = data.decode("ascii", "replace").split("\n")
        return [_unescaped(line[2:]) for line in lines if line.startswith("* ")]


def _escaped(text):
    text = html.escape(text, quote=False)
    return "".join(c if " " <= c <= "~" else f"&{ord(c)};" for c in text)


def _unescaped(text):
    text = re.sub(r"&(\d{1,7});", lambda found: chr(min(int(found[1]), 0x10FFFF)), text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def register(ctx):
    ctx.register_memory_provider(Personal())
