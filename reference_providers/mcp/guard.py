"""
Runs a server over this process's standard streams, and leaves nothing of it behind.

`python guard.py PID COMMAND ARGUMENTS` is what the host PID starts in place of the command. On
Linux it is told when the host's thread dies, be it by SIGKILL, and ends the whole process group;
elsewhere the server sees the end of its input. Of what the server writes to stderr the first part
is passed on.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from typing import IO

_PR_SET_PDEATHSIG = 1

#: Bytes of a server's complaints that are kept.
_KEPT_BYTES = 65_536


def main(words: list[str]) -> int:
    """Run the command until it ends, or the host does."""
    host = int(words[0])
    # The host's own request reaches the server as well, and this process waits for it.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if sys.platform == "linux":
        signal.signal(signal.SIGUSR1, lambda *_: _ended())
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)
    if os.getppid() != host:
        return 1
    try:
        server = subprocess.Popen(words[1:], stderr=subprocess.PIPE)
    except OSError as error:
        sys.stderr.write(f"{words[1]} cannot be started: {error.strerror}\n")
        return 127
    _let_go()
    threading.Thread(target=_pass_on, args=(server.stderr,), daemon=True).start()
    server.wait()
    _ended()
    return 0


def _let_go() -> None:
    """Leave the streams to the server: its end is then seen by the host at once."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


def _pass_on(complaints: IO[bytes] | None) -> None:
    assert complaints is not None
    left = _KEPT_BYTES
    while part := os.read(complaints.fileno(), 4096):
        os.write(2, part[:left])
        left -= len(part[:left])


def _ended() -> None:
    """Take the rest of the group along, this process included."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
