"""The properties of a test case in the file of `--junitxml`: which requirement it is, and more."""

from typing import Any

from memproto import spec
from memproto.testing.outcomes import Outcome

#: In this order.
NAMES = ("id", "level", "outcome", "clause")

_PREFIX = "memproto."


def properties(requirement_id: str, outcome: Outcome) -> list[tuple[str, str]]:
    """Properties of the test case of one requirement, with the outcome that the report has."""
    requirement = spec.requirement(requirement_id)
    values = (requirement.id, requirement.level, str(outcome), requirement.clause)
    return [(_PREFIX + name, value) for name, value in zip(NAMES, values, strict=True)]


def readable(found: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """The properties that are for readers: not those by which the kit's processes talk."""
    return [(name, value) for name, value in found if name.startswith(_PREFIX)]


def placed(longrepr: Any) -> Any:
    """Why an item was skipped, without where the kit is installed; anything else as it is."""
    if not isinstance(longrepr, tuple):
        return longrepr
    _, line, reason = longrepr
    return ("memproto/pytest_plugin/items.py", line, reason)
