"""
The readings of red lines: each violated MUST of a package held against the package's source.

A reading is `true` if the source does what the line says, `debatable` if the specification can be
read otherwise, and `refuted` if the provider keeps the sentence: then the kit is at fault.
"""

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from census.entries import Entry, Unusable
from census.outcomes import Found
from memproto import spec

FILE = Path(__file__).parent / "readings.toml"

Verdict = Literal["true", "debatable", "refuted"]

_KEYS = frozenset({"target", "version", "id", "reading", "where", "text"})


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """
    One red line that was read.

    Attributes:
        target: The entry.
        version: The version whose source was read.
        id: The requirement.
        reading: See the module.
        where: File and line of the source.
        text: The doing of the source at that place.

    """

    target: str
    version: str
    id: str
    reading: Verdict
    where: str
    text: str


def read(path: Path = FILE) -> dict[tuple[str, str], Reading]:
    """
    Target and requirement to reading.

    Raises:
        Unusable: A row is no reading, or stands there twice.
        NoSuchRequirement: A row names a requirement that there is not.

    """
    found: dict[tuple[str, str], Reading] = {}
    for row in tomllib.loads(path.read_text("utf-8")).get("reading", []):
        named = f"{row.get('target', '?')} {row.get('id', '?')}"
        if row.keys() != _KEYS or not all(isinstance(one, str) and one for one in row.values()):
            raise Unusable(f"{path.name}: {named} has not exactly {', '.join(sorted(_KEYS))}")
        if row["reading"] not in get_args(Verdict):
            raise Unusable(f"{path.name}: {named} is none of {', '.join(get_args(Verdict))}")
        spec.requirement(row["id"])
        if (row["target"], row["id"]) in found:
            raise Unusable(f"{path.name}: {named} stands there twice")
        found[row["target"], row["id"]] = Reading(**row)
    return found


def missing(
    entries: Mapping[str, Entry],
    outcomes: Mapping[str, Found],
    readings: Mapping[tuple[str, str], Reading],
) -> Iterator[tuple[str, str]]:
    """Target and requirement of each red MUST without a reading, of those marked as read."""
    for name, entry in entries.items():
        if entry.is_read and name in outcomes:
            for row in outcomes[name].red_musts:
                if (name, row.id) not in readings:
                    yield name, row.id
