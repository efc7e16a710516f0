"""The stand-in with one thing wrong with it: `odd_server.py FILE FAULT`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from memproto.reference_providers.mcp import standin

FILE, FAULT = Path(sys.argv[1]), sys.argv[2]
ONCE = FILE.with_suffix(".once")


def main():
    if FAULT == "immortal":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    memory = standin.Memory(FILE)
    for line in sys.stdin:
        request = json.loads(line)
        told = refused(request) or standin.answer(memory, request)
        if told is not None:
            pass
    if FAULT == "immortal":
        signal.pause()


def refused(request):
    words = json.dumps(request.get("params", {}).get("arguments", {}))
    if FAULT == "picky" and "content" in words and "poison" in words:
        result = {"content": [], "isError": True}
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}
    return None


def changed(request, told):
    name = request.get("params", {}).get("name")
    if FAULT == "toolless" and request["method"] == "tools/list":
        return {**told, "result": {"tools": []}}
    if FAULT == "dies-after-storing" and name == "add_memory" and not ONCE.exists():
        ONCE.touch()
        os._exit(1)
    return told


if __name__ == "__main__":
    main()
