"""
A server of the wire that follows a script: for checks of hosts, run by its path.

`python -I -S scripted_server.py FOLDER` reads `FOLDER/script.json` and notes in
`FOLDER/notes.jsonl` what it hears, with the time of the system's monotonic clock. Standard library
only, so that it starts at once. `programs.py` says what a script holds.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

#: Seconds after which it ends, whatever its script says.
LONGEST_S = 90.0

#: Characters that are noted of a line.
_NOTED_CHARS = 20_000

_HELPER = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(90)\n"

_DEFAULTS = {"available": True, "declare": {}, "recall": None}


class Server:
    """One process; requests are answered on the thread that reads."""

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, "script.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - it loads as little as it can
            self.script = json.load(file)
        self.folder = folder
        path = os.path.join(folder, "notes.jsonl")  # noqa: PTH118 - as above
        self.notes = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.counts: dict[str, int] = {}
        self.held: list[bytes] = []
        self.writing = threading.Lock()

    def note(self, event: str, **more: object) -> None:
        """Add a line to the notes."""
        line = json.dumps({"at_s": time.monotonic(), "event": event, "pid": os.getpid(), **more})
        os.write(self.notes, line.encode() + b"\n")

    def run(self) -> None:
        """Serve until the input ends."""
        self.note("started", variables=sorted(os.environ))
        if self.script.get("helper"):
            words = [sys.executable, "-I", "-S", "-c", _HELPER, self.folder]
            helper = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            self.note("helper", helper=helper.pid)
        if self.script.get("stubborn"):
            signal.signal(signal.SIGTERM, lambda *_: self.note("terminated"))
        for line in sys.stdin.buffer:
            text = line.decode("utf-8", "surrogateescape")
            self.note("heard", line=text[:_NOTED_CHARS], length=len(line))
            self.take(text)
        self.note("input ended")
        while self.script.get("stubborn"):
            time.sleep(1.0)

    def take(self, text: str) -> None:
        """Answer a line as the script has it."""
        try:
            message = json.loads(text)
        except ValueError:
            return
        if not isinstance(message, dict) or "id" not in message:
            return
        method = str(message.get("method"))
        self.counts[method] = number = self.counts.get(method, 0) + 1
        moves = self.script.get("moves", {}).get(method, [])
        move = moves[min(number, len(moves)) - 1] if moves else {}
        if "until" in move:
            # Further requests are heard meanwhile.
            threading.Thread(target=self.make, args=(message, move), daemon=True).start()
        else:
            self.make(message, move)

    def make(self, message: dict, move: dict) -> None:  # type: ignore[type-arg]
        """Answer one request by its move."""
        if "errors" in move:
            for _ in range(move["errors"]):
                os.write(2, b"x" * 1023 + b"\n")
        while "until" in move and not os.path.exists(os.path.join(self.folder, move["until"])):  # noqa: PTH110, PTH118 - as above
            time.sleep(0.002)
        if "exits" in move:
            self.note("exits")
            os._exit(move["exits"])
        answer = self.answer(message, move)
        if move.get("is_late"):
            self.held.append(answer)
        elif not move.get("is_silent"):
            lines = [text.encode() + b"\n" for text in move.get("before", [])]
            self.write(b"".join([*self.held, *lines, answer]))
            self.held.clear()
            self.note("answered", id=message["id"])
        while move.get("is_deaf"):
            time.sleep(1.0)

    def answer(self, message: dict, move: dict) -> bytes:  # type: ignore[type-arg]
        """The line of an answer."""
        method = message.get("method")
        result = move.get("answer", _DEFAULTS.get(str(method)))
        if method == "initialize" and "answer" not in move:
            result = {"wire": 1, "name": self.script["name"], "methods": []}
        return (
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n"
        )

    def write(self, data: bytes) -> None:
        """Write bytes to the host, all of them."""
        with self.writing:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(1, rest) :]


def main(folder: str) -> None:
    """Serve by the script of a folder."""
    timer = threading.Timer(LONGEST_S, os._exit, (9,))
    timer.daemon = True
    timer.start()
    Server(folder).run()


if __name__ == "__main__":
    main(sys.argv[1])
