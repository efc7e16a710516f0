"""
A command: `python -P -m memproto.testing.processes.confined SCRIPT`, a script that is kept on
loopback.

The script gets an interpreter of its own, so that it runs as its reader will run it.
"""

import os
import sys

from memproto.testing.processes import confinement

if __name__ == "__main__":
    confinement.confine()
    os.execv(sys.executable, [sys.executable, "-P", *sys.argv[1:]])  # noqa: S606 - the kit's own
