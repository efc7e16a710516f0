"""Whether an error says that a backend is away."""

import socket

#: How many causes of an error are looked at.
_CAUSES = 10


def is_unreachable(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, says that a connection could not be had."""
    for _ in range(_CAUSES):
        if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
            return True
        if error is None:
            return False
        error = error.__cause__ or error.__context__
    return False
