"""The filters that a client may use."""

from typing import Any

from .limits import Refused
from .store import Json


def filtered(
    among: list[Json], filters: Json | None, model: str, columns: tuple[str, ...]
) -> list[Json]:
    """Those whose columns have the wanted values; an unknown column is refused."""
    for key, wanted in (filters or {}).items():
        if key not in columns:
            says = "is not allowed to be filtered on or does not exist on"
            raise Refused(422, f"Column '{key}' {says} {model}")
        among = [each for each in among if _fits(each[key], wanted)]
    return among


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(value.get(key) == part for key, part in wanted.items())
    return wanted == "*" or bool(value == wanted)
