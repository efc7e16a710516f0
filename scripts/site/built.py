"""
The contents that a built site must have: `python scripts/site/built.py [DIR]`.

An anchor for each requirement in its chapter and in the kill matrix, and nothing that a browser
would load from another host.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from memproto import spec

#: References that a browser loads by itself; links that a reader follows are none of it.
_LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(https?:)?//[^\"'>\s]+"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*\bhref=[\"']?(https?:)?//[^\"'>\s]+"
    r"|@import\s+[\"']?(?:url\()?(https?:)?//[^\"')\s]+"
    r"|url\([\"']?(https?:)?//[^\"')\s]+"
)


def faults(folder: Path) -> Iterator[str]:
    """Things that are missing, or loaded from elsewhere; nothing for a good site."""
    for item in spec.requirements().values():
        chapter = item.anchor.partition("#")[0].removesuffix(".md")
        for page in (f"spec/v1/{chapter}", "docs/kill-matrix"):
            file = folder / page / "index.html"
            if not file.is_file() or f'id="{item.id.lower()}"' not in file.read_text("utf-8"):
                yield f"{page} has no anchor {item.id.lower()}"
        if not (folder / "docs" / "requirements" / item.id / "index.html").is_file():
            yield f"{item.id} has no page of its own"
    for file in sorted([*folder.rglob("*.html"), *folder.rglob("*.css")]):
        for found in _LOADED.finditer(file.read_text("utf-8")):
            yield f"{file.relative_to(folder)} loads from another host: {found[0]}"


def main() -> int:
    """Say what is wrong with a built site; 1 where something is."""
    default = Path(__file__).parents[2] / "build" / "site" / "html"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    found = list(faults(folder))
    pages = len(list(folder.rglob("index.html")))
    sys.stdout.write("".join(f"{fault}\n" for fault in found) + f"{folder}: {pages} pages\n")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
