"""The pages that mkdocs.yml names, and those that one of them lists."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml


def pages(config: Path) -> list[str]:
    """The pages of the navigation, in its order."""
    return list(_named(yaml.safe_load(config.read_text("utf-8"))["nav"]))


def listed(root: Path) -> list[str]:
    """The records of decisions: their index is in the navigation, and leads to each of them."""
    return sorted(str(path.relative_to(root)) for path in root.glob("docs/decisions/[0-9]*.md"))


def _named(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for part in entry.values() if isinstance(entry, dict) else entry:
        if not isinstance(entry, str):
            yield from _named(part)
