"""The files of the examples of requirements: JSON in which each call, answer or line has a line."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "spec" / "v1" / "examples" / "requirements"

#: Columns that a value may take before its parts get lines of their own.
_COLUMNS = 100

#: The depth of a file, one call or answer of one provider, below which nothing is broken.
_DEPTH = 3


def names() -> list[str]:
    """The ids that have an example."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def read(name: str) -> dict[str, Any]:
    """The example of a requirement."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def write(example: dict[str, Any]) -> None:
    """Write an example under its id."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{example['id']}.json").write_text(written(example), "utf-8")


def written(example: dict[str, Any]) -> str:
    """The text of a file."""
    return _text(example, 0) + "\n"


def _text(value: Any, depth: int) -> str:
    line = json.dumps(value, ensure_ascii=True)
    is_short = depth and depth + len(line) <= _COLUMNS
    if is_short or depth >= _DEPTH or not value or not isinstance(value, dict | list):
        return line
    inside, outside = " " * (depth + 1), " " * depth
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_text(part, depth + 1)}" for key, part in value.items()]
        return "{\n" + ",\n".join(inside + part for part in parts) + f"\n{outside}}}"
    parts = [_text(part, max(depth + 1, _DEPTH)) for part in value]
    return "[\n" + ",\n".join(inside + part for part in parts) + f"\n{outside}]"
