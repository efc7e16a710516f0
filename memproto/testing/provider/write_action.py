"""The action, and the target, by which a text is mirrored so that the provider stores it."""

from collections.abc import Mapping, Sequence

#: An action and a target of `on_memory_write`.
Way = tuple[str, str]

#: Actions that take effect if `mirrors` is not declared.
ADD_ONLY: dict[str, list[str]] = {"memory": ["add"], "user": ["add"]}

#: Writes of a host, whichever of them take effect.
USUAL: Way = ("add", "memory")

#: The old text of a replace that is to bring a new one: it is in no store.
ABSENT = "Nobody ever said that the lamps on the quay are violet."

#: Actions by which a text comes in. A replace does where nothing fits its old text, in a mirror
#: that began after the memory which it mirrors; so it is the second choice.
_STORING = ("add", "replace")


class Writing:
    """
    The ways to store a text by a mirrored write, the best one first.

    One instance serves all checks of a process: which of the ways a provider takes that did not
    declare them, or that refuses one by a policy of its store, is learned once.

    Attributes:
        took: True if the first way was accepted once; then it stays the first.

    """

    def __init__(self, mirrors: Mapping[str, Sequence[str]]) -> None:
        named = [
            (action, target)
            for action in _STORING
            for target in sorted(mirrors)
            if action in mirrors[target]
        ]
        self._ways: list[Way] = named
        self.took = False

    @property
    def stores(self) -> bool:
        """True if any way is declared."""
        return bool(self._ways)

    @property
    def is_by_replace(self) -> bool:
        """True if a replace that fits nothing is the only way in."""
        return self.stores and all(action == "replace" for action, _ in self._ways)

    @property
    def first(self) -> Way:
        """The way to go; where none is declared, that of a host, who mirrors all the same."""
        return self._ways[0] if self._ways else USUAL

    def to_try(self) -> list[Way]:
        """The first way; and the others, as long as the first was not taken once."""
        return [self.first] if self.took else [*self._ways] or [USUAL]

    def prefer(self, way: Way) -> None:
        """Go this way first from now on."""
        self._ways = [way, *(other for other in self._ways if other != way)]
        self.took = True


def arguments(way: Way, text: str) -> tuple[str, str, str, str | None]:
    """Arguments of `on_memory_write` that store the text."""
    action, target = way
    return action, target, text, ABSENT if action == "replace" else None
