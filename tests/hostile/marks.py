"""The gallery of hostile providers: each with the rule that its verdict has to name."""

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Hostile:
    """
    One hostile provider.

    Attributes:
        target: TARGET by which the kit loads it.
        rules: Requirements of which at least one must be red.
        says: Parts of which one must have been observed of it.

    """

    target: str
    rules: tuple[str, ...]
    says: tuple[str, ...]


#: Hangs while it is imported, and so cannot be marked where it stands.
_AT_IMPORT = Hostile("tests.hostile.hangs_at_import:Hangs", ("MP-LOAD-001",), ("had not returned",))

_ROOMS = (
    *("cheating", "ending", "hanging", "hanging_extensions"),
    *("leaving", "lying", "meddling", "speaking"),
)

GALLERY: dict[str, Hostile] = {_AT_IMPORT.target: _AT_IMPORT}


def hostile(*rules: str, says: str | tuple[str, ...] = "") -> Callable[[T], T]:
    """Hang the decorated class in the gallery."""

    def hang(item: Any) -> Any:
        target = f"{item.__module__}:{item.__name__}"
        GALLERY[target] = Hostile(target, rules, (says,) if isinstance(says, str) else says)
        return item

    return hang


def load_all() -> dict[str, Hostile]:
    """Import every room of the gallery."""
    for name in _ROOMS:
        importlib.import_module(f"tests.hostile.{name}")
    return dict(GALLERY)
