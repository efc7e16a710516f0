"""Which operations may fail with their backend, and whether an error says that it is away."""

import socket

#: Operations that may fail with their backend. To start, to answer whether it is available and to
#: end, a provider needs none.
MAY_NEED_A_BACKEND = frozenset(
    {
        *("recall", "record", "mirror", "compress", "call_tool", "prewarm", "end", "switch"),
        *("delegation", "compress_notes", "record_turn", "items", "export", "forget"),
    }
)

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
