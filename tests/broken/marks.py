"""
The shelf of broken providers: each is a good one with one hook changed, named for its fault.

`kills` is the one requirement that the fault violates; `also` names at most three more that are
violated because of it, each with the reason. The kill matrix test holds both to the letter.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """
    One broken provider or host.

    Attributes:
        target: TARGET by which the kit loads it, seen from the project's directory.
        kills: The requirement that must be red.
        says: A part of what the check must have observed, or expected.
        report: The field report whose bug this is, or its class.
        also: Further requirements that are red because of it, with the reason.
        scale: Factor on the kit's budgets, so that a hang is found in less than its full time.
        found_by: The requirement whose check meets the fault, if it is not that of `kills`.

    """

    target: str
    kills: str
    says: str
    report: str
    also: dict[str, str] = dataclasses.field(default_factory=dict)
    scale: float = 1.0
    found_by: str = ""


MUTANTS: dict[str, Mutant] = {}


def mutant(
    *,
    kills: str,
    says: str,
    report: str,
    also: dict[str, str] | None = None,
    scale: float = 1.0,
    found_by: str = "",
) -> Callable[[T], T]:
    """Put the decorated class or factory on the shelf."""

    def register(item: T) -> T:
        target = f"{item.__module__}:{item.__name__}"  # type: ignore[attr-defined]
        MUTANTS[target] = Mutant(target, kills, says, report, also or {}, scale, found_by)
        return item

    return register


def load_all() -> dict[str, Mutant]:
    """Import every file of the shelf and give all mutants by target."""
    for room in ("provider", "extensions", "host"):
        for module in pkgutil.iter_modules([str(Path(__file__).parent / room)]):
            importlib.import_module(f"tests.broken.{room}.{module.name}")
    return dict(sorted(MUTANTS.items()))
