"""Repositories of plugins, and a catalog that pins them, made in a folder."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: A memory as a vendor writes it; `KEEPS` is replaced by the condition on which a turn is kept.
PLUGIN = """
import json
from pathlib import Path

from agent.memory_provider import MemoryProvider


class Tide(MemoryProvider):
    name = "tide"

    def is_available(self):
        return True

    def initialize(self, session_id, *, hermes_home, **kwargs):
        self.file = Path(hermes_home, "tide.json")

    def get_tool_schemas(self):
        return []

    def prefetch(self, query, *, session_id=""):
        return "\\n".join(self.read())

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        if KEEPS:
            lines = [*self.read(), user_content, assistant_content]
            self.file.write_text(json.dumps(lines), "utf-8")

    def read(self):
        return json.loads(self.file.read_text("utf-8")) if self.file.exists() else []


def register(ctx):
    ctx.register_memory_provider(Tide())
"""

MANIFEST = {
    "name": "tide",
    "version": "1.2.0",
    "description": "Keeps what was said.",
    "hooks": ["sync_turn"],
}


@dataclass(frozen=True)
class Repository:
    """A repository and its one commit."""

    path: Path
    sha: str


def git(folder, *words):
    """Run git in a folder, as nobody in particular; gives what it printed."""
    who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *who, "-c", "commit.gpgsign=false", "-C", str(folder), *words],
        env={**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def committed(folder):
    """A repository of all that is in the folder."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All of it")
    return Repository(folder, git(folder, "rev-parse", "HEAD"))


def repository(folder, *, keeps="True", code=PLUGIN, **manifest):
    """A vendor's repository with the plugin in `integrations/hermes`."""
    plugin = folder / "integrations" / "hermes"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(code.replace("KEEPS", keeps), "utf-8")
    (plugin / "plugin.yaml").write_text(json.dumps({**MANIFEST, **manifest}), "utf-8")
    return committed(folder)


def entry(file, made, **changed):
    """An entry that pins a repository."""
    found = {
        "name": file.stem,
        "repo": f"https://github.com/someone/{file.stem}",
        "sha": made.sha,
        "subdir": "integrations/hermes",
        "description": "Keeps what was said.",
        "maintainer": "someone",
        "category": "memory",
        "capabilities": {"provides_hooks": ["sync_turn"]},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**found, **changed}), "utf-8")
    return file
