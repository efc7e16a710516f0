"""Where a thread of a host is."""

import sys
import sysconfig
import traceback
from pathlib import Path

from memproto.testing import locate

_STDLIB = str(Path(sysconfig.get_paths()["stdlib"]).resolve())


def place_of(thread: int) -> str:
    """The innermost frame of a thread that is not the standard library's."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only view of another thread
    stack = traceback.extract_stack(frame) if frame else []
    mine = [item for item in stack if not item.filename.startswith(_STDLIB)]
    return (
        f"{locate.short(mine[-1].filename)}:{mine[-1].lineno} in {mine[-1].name}" if mine else "?"
    )
