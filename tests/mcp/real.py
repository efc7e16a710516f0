"""Parts that both tests with a real MCP memory server of a registry share."""

import os
import subprocess
import sys

from tests.mcp.servers import session

FERRY = "The ferry to Aldermoor is called Ondine."

#: Of each kind one: what is stored comes back, after a new start, for its user alone, and no more.
CLAUSES = ("MP-TURN-001", "MP-WRITE-001", "MP-RECALL-001", "MP-TENANT-001", "MP-SHUT-001")

_SERVICE = """import contextlib

@contextlib.contextmanager
def running():
    yield {{"config": {{"mcp": {settings!r}}}}}
"""


def remembers(home, settings):
    """Store in one session, and recall in another, by a turn, a mirrored write and a tool."""
    config = {"home": str(home), "user_id": "Anna/../ben", "mcp": settings}
    with session(config) as memory:
        assert memory.recall_status()["state"] == "ok", memory.recall_status()
        memory.on_turn_complete(FERRY, "I will remember Ondine.")
        memory.on_memory_write("add", "user", "Anna's dog is called Quillen.")
    with session(config, "two") as memory:
        assert FERRY in memory.enrich_turn("What is the ferry called?", [])
        assert "Quillen" in memory.handle_tool_call("mcp_search", {"query": "dog called"})
        assert memory.recall_status()["pending_writes"] == 0
        assert memory.capabilities()["isolates"] == ["profile", "user"]
    with session({**config, "user_id": "ben"}) as memory:
        assert memory.enrich_turn("What is the ferry called?", []) is None


def judged(folder, settings):
    """The output of a run of the kit on these clauses, with the server as the `service`."""
    folder.joinpath("served.py").write_text(_SERVICE.format(settings=settings), "utf-8")
    folder.joinpath("memproto.toml").write_text('service = "served:running"\n', "utf-8")
    words = [sys.executable, "-P", "-m", "pytest", "--memproto=mcp"]
    words += [f"--memproto-clause={clause}" for clause in CLAUSES]
    env = {**os.environ, "MEMPROTO_TIME_SCALE": os.environ.get("MEMPROTO_TIME_SCALE", "2")}
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, env=env, timeout=600
    )
    return f"{done.stdout}{done.stderr}\n"
