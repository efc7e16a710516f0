"""A Hermes provider that brings back on a turn what it was asked in the turn before."""

from pathlib import Path

from tests.good.journal import words


class Plugin:
    name = "plugin"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self._path = Path(kwargs["hermes_home"], "turns.txt")
        self._path.touch()
        self._prepared = ""

    def get_tool_schemas(self):
        return []

    def prefetch(self, query, *, session_id=""):
        return self._prepared

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        asked = words(user_content)
        turns = self._path.read_text("utf-8", "surrogatepass").splitlines()
        self._prepared = "\n".join(turn for turn in turns if asked & words(turn))
        with self._path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(" ".join(f"{user_content} {assistant_content}".split()) + "\n")

    def shutdown(self):
        """Every turn is on disk already."""
