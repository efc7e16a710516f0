"""The template of hosts itself: a host that has imported all it needs, and was told nothing yet."""

import gc
import os
import signal
from typing import Any

from memproto.testing.processes import copy_process

#: Its input, its errors, how far it came, its stacks, and the pipe that tells of its end.
_DESCRIPTORS = 5


def serve(descriptor: int) -> dict[str, Any]:
    """
    Be a template on a socket to the process that runs the check.

    Returns in each copy, with what that host is asked; the template ends when the socket is closed.
    """
    copier = copy_process.from_descriptor(descriptor, _DESCRIPTORS, lambda _: None)
    gc.collect()
    # The last collection of a copy, at its end, is of what it has made itself: to look at the
    # rest would make a copy of each page.
    gc.freeze()
    wanted, descriptors = copier.serve()
    try:
        return _become(wanted, descriptors)
    except BaseException:
        os._exit(1)


def _become(wanted: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
    entry, errors, *given, status = descriptors
    copy_process.replace_output((entry, 0), (errors, 2))
    os.chdir(wanted["cwd"])
    os.sched_setaffinity(0, wanted["processors"])
    copy_process.look_like(wanted["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    copy_process.tell(status)
    asked: dict[str, Any] = wanted["asked"]
    return {**asked, **dict(zip(wanted["given"], given, strict=True))}
