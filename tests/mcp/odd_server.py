"""The stand-in with one thing wrong with it: `odd_server.py FILE FAULT`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from memproto.reference_providers.mcp import standin

FILE, FAULT = Path(sys.argv[1]), sys.argv[2]
ONCE, STARTS, HELD = (FILE.with_suffix(name) for name in (".once", ".starts", ".held"))


def main():
    with STARTS.open("a", encoding="ascii") as starts:
        starts.write("started\n")
    while HELD.exists():
        time.sleep(0.05)
    if FAULT == "immortal":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    memory = standin.Memory(FILE)
    for line in sys.stdin:
        request = json.loads(line)
        told = refused(request) or standin.answer(memory, request)
        if told is not None:
            sys.stdout.write(json.dumps(changed(request, told)) + "\n")
            sys.stdout.flush()
    if FAULT == "immortal":
        signal.pause()


def refused(request):
    words = json.dumps(request.get("params", {}).get("arguments", {}))
    if FAULT == "dies-before-storing" and '"content": "Boat 1"' in words and not ONCE.exists():
        ONCE.touch()
        os._exit(1)
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
