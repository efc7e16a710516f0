"""Calls that begin at the same moment, each on a thread of its own."""

import threading
from collections.abc import Callable
from typing import Any


def together(*functions: Callable[[], Any]) -> list[BaseException | None]:
    """
    Call each function on a new thread of its own, all from one moment on.

    Blocks until every one of them is back, and gives for each what it raised, or None.
    """
    barrier = threading.Barrier(len(functions))
    raised: list[BaseException | None] = [None] * len(functions)

    def call(index: int, function: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            function()
        except BaseException as error:
            raised[index] = error

    threads = [threading.Thread(target=call, args=row) for row in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised
