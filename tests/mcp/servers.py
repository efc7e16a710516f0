"""Sessions of the mcp provider with the stand-in, well or with one thing wrong with it."""

import contextlib
import os
import sys
from pathlib import Path

import psutil

from memproto.reference_providers.mcp import McpMemoryProvider, standin

ODD = Path(__file__).with_name("odd_server.py")


def over_streams(home, fault="none", **more):
    command = [sys.executable, "-P", str(ODD), "{home}/texts.jsonl", fault]
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    # A machine that is busy takes its time to start an interpreter.
    given = {**standin.SETTINGS, "command": command, "env": env, "start_s": 60, **more}
    return {"home": str(home), "mcp": given}


def over_http(home, url, **more):
    return {"home": str(home), "mcp": {**standin.SETTINGS, "url": url, "start_s": 60, **more}}


@contextlib.contextmanager
def session(config, key="one"):
    memory = McpMemoryProvider()
    memory.initialize(key, config)
    try:
        yield memory
    finally:
        memory.shutdown()


def children():
    """The processes that sessions of this one started, and theirs."""
    found = psutil.Process().children(recursive=True)
    return [one for one in found if one.is_running() and "--http" not in _words(one)]


def _words(process):
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return process.cmdline()
    return []


def the_server():
    """The process of the odd server itself, and not its guard."""
    (found,) = [one for one in children() if str(ODD) in _words(one)[2:4]]
    return found


def stored(home):
    """Number of texts that the server has on its disk."""
    file = Path(home, "texts.jsonl")
    return len(file.read_text("utf-8").splitlines()) if file.exists() else 0
