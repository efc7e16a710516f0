"""
`memproto hook` with a fault, for tests that have to be red with it.

The arguments are the name of the fault and those of the command.
"""

import os
import sys
from typing import Any

from memproto.serving import hook
from tests.commands.hook_providers import HANG
from tests.frameworks import faults

#: Exit code if the hook was held by a provider that hangs.
HELD = 7

#: Seconds after which it counts as held. Nothing that it could wait for ends before.
_PATIENCE_S = 0.5


def _unwatched() -> None:
    """No thread ends the process."""

    def enter(self: Any) -> None:
        pass

    hook._Watch.__enter__ = enter  # type: ignore[method-assign]


def main(fault: str, *words: str) -> int:
    """Put the fault in, and serve one hook; gives the exit code."""
    faults.put_in(fault)
    if fault == "deadlines":
        _unwatched()
        HANG.watched(_PATIENCE_S)
    code = hook.main(words)
    HANG.finished()
    return HELD if HANG.is_held else code


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # a write that hangs would hold the end too
