"""The names of writes that were made already, as the host gave them."""

import contextlib


# Guarantees: of several claims to one name one succeeds, from any thread, until the write of that
#   one failed; no lock is taken; `claim` leaves no more than `most` names, the latest ones.
# Assumes: a single step of a dict is atomic. No two claims have one number.
#
# Threads: hosts claim, any number of them at once; the thread of the writes settles.
#
# Why one claim wins: `setdefault` looks and enters in one step, and returns what stands there. The
# numbers differ, so the thread that finds its own number is the one that entered it.
# Why `settle` finds the name: the write is queued after its `claim` has returned, and the thread of
# the writes serves it later still.
#
# The bound counts names and not time: if more than `most` named writes wait, the oldest name is
# forgotten and may be claimed again. A provider that is that far behind may get a turn twice.
class Once:
    """The names of the latest writes that wait, or that were delivered and did not raise."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def claim(self, name: str, number: int) -> bool:
        """True if the write `number` is the only one of this name."""
        if self._numbers.setdefault(name, number) != number:
            return False
        self._names[number] = name
        while len(self._numbers) > self._most:
            # The oldest name stands first. Another thread may delete it between the two steps
            # (KeyError), or enter a name while the iterator starts (RuntimeError): so the length is
            # looked at again. One look would leave a name too many after each such race, for good.
            with contextlib.suppress(KeyError, RuntimeError):
                del self._numbers[next(iter(self._numbers))]
        return True

    def settle(self, number: int, *, is_kept: bool) -> None:
        """Note that the write has returned; the name of one that raised may be claimed again."""
        name = self._names.pop(number, None)
        if name is not None and not is_kept:
            self._numbers.pop(name, None)
