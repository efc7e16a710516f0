"""
A host of tests/testing/processes/test_host_copies.py: it says what it sees of itself, and ends as
it is told.
"""

import atexit
import gc
import json
import os
import signal
import sys
import threading
from pathlib import Path

from memproto.testing.lifetimes import ends_process


def report(host):
    """Facts that a program can see of the process that it runs in."""
    seen = {
        "flags": list(sys.flags),
        "arguments": sys.argv[1:],
        "main": sys.modules["__main__"].__spec__.name,
        "modules": sorted(sys.modules),
        "path": sys.path,
        "environment": dict(os.environ),
        "directory": str(Path.cwd()),
        "handlers": {n: str(signal.getsignal(n)) for n in sorted(signal.valid_signals())},
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "threads": threading.active_count(),
        "main thread": threading.main_thread().native_id == os.getpid(),
        "group": os.getpgid(0),
        # Not the objects that the template has frozen: they are never looked at again.
        "collector": [gc.isenabled(), *gc.get_threshold()],
        "streams": [str(s.encoding) + s.errors for s in (sys.stdin, sys.stdout, sys.stderr)],
        "output": os.stat(1).st_rdev,
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "heard": sys.stdin.readline(),
    }
    host.say(json.dumps(seen))


def ends(host):
    """Have everything that runs at the end of an interpreter say so, and return."""
    rest = threading.Event()
    atexit.register(lambda: host.say("atexit"))
    thread = threading.Thread(target=lambda: (rest.wait(), host.say("thread")))
    thread.start()
    threading._register_atexit(rest.set)
    host.say("returned")


def fails(host):
    """End by an error."""
    raise RuntimeError("the host has failed")


def exits(host):
    """End by a number."""
    sys.exit(7)


def dies(host):
    """End by a signal."""
    os.kill(os.getpid(), signal.SIGKILL)


def waits(host):
    """Never end."""
    host.say("waiting")
    threading.Event().wait()


def draws(host):
    """Values that are drawn anew in each process."""
    import random
    import uuid

    host.say(json.dumps([random.random(), uuid.uuid4().hex]))


if __name__ == "__main__":
    made = (report, ends, fails, exits, dies, waits, draws)
    ends_process.main({script.__name__: script for script in made})
