"""What is lost is looked at again: a recall that brings few of many loses some by chance."""

from collections.abc import Callable
from typing import TypeVar

from memproto.testing.clauses import Untestable

_Found = TypeVar("_Found")

#: What helps where a plain entry is not among the few that recall brings.
BETTER_RECALL = "needs: a `config` under which recall brings the best ones"

#: How often a fault that was found is looked for again.
_AGAIN = 2


def seen_again(find: Callable[[], _Found]) -> _Found:
    """
    What `find` gave, where it is nothing or stands repetitions with other facts.

    Where all homes and users share one store, the checks before this one have filled it, and a
    weak ranking passes over an entry that is there.

    Raises:
        Untestable: Something was found, and not each time.

    """
    found = find()
    if found and not all(find() for _ in range(_AGAIN)):
        raise Untestable(f"what was lost once was not when repeated: {found}; {BETTER_RECALL}")
    return found
