"""Which writes were made already, by the name that the host gave them."""

import contextlib


# Guarantees: of several claims to one name one succeeds, from any thread, until the write of that
#   one failed; no lock is taken; no more than `most` names are kept, the latest ones.
# Assumes: a single step of a dict is atomic. No two claims have one number.
class Once:
    """The names of the latest writes that wait, or that were delivered and did not raise."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def claim(self, name: str, number: int) -> bool:
        """Whether the write `number` is the only one of this name."""
        if self._numbers.setdefault(name, number) != number:
            return False
        self._names[number] = name
        if len(self._numbers) > self._most:
            with contextlib.suppress(KeyError, RuntimeError):  # another thread was first
                del self._numbers[next(iter(self._numbers))]
        return True

    def settle(self, number: int, *, is_kept: bool) -> None:
        """Note that the write has returned; the name of one that raised may be claimed again."""
        name = self._names.pop(number, None)
        if name is not None and not is_kept:
            self._numbers.pop(name, None)
