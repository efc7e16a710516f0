"""Kills the process that started its own, wherever it is loaded."""

import os
import signal
from pathlib import Path

from tests.good.journal import Journal

PARENT = os.getppid()

# An orphan's parent is whatever runs the machine.
if b"memproto" in Path(f"/proc/{PARENT}/cmdline").read_bytes():
    os.kill(PARENT, signal.SIGKILL)


class KillsParent(Journal):
    """Works, for the rest."""
