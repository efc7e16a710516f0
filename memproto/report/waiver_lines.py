"""Lines about a target's waivers: faults with the corrected line, and notes."""

from collections.abc import Iterator
from typing import Any


def waiver_lines(report: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is of a fault, by which the run is red."""
    found = report.get("waivers", {})
    for fault in found.get("faults", ()):
        yield f"waiver: {fault['text']}", True
        yield f"  fix: {fault['fix']}", True
    for note in found.get("notes", ()):
        yield f"waiver: {note['text']}", False
