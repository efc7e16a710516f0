"""
Harmless files that the fence changes.

    python -P benchmarks/fence/files.py DIRECTORY ...

Reads every .py, .md and .rst file below, each content once, and prints each line that differs
afterwards.
"""

import difflib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from memproto import sanitize_context

SUFFIXES = {".py", ".md", ".rst"}


def texts(directories: list[str]) -> Iterator[tuple[Path, str]]:
    """Every different content with the first path that has it; what is not UTF-8 is left out."""
    seen: set[str] = set()
    for path in itertools.chain.from_iterable(sorted(Path(d).rglob("*")) for d in directories):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        if text not in seen:
            seen.add(text)
            yield path, text


def main(directories: list[str]) -> None:
    """Print what changes, and at the end of how many."""
    files = characters = changed = 0
    for path, text in texts(directories):
        files, characters = files + 1, characters + len(text)
        clean = sanitize_context(text)
        if clean == text:
            continue
        changed += 1
        print(path)
        for line in difflib.unified_diff(text.splitlines(), clean.splitlines(), n=0, lineterm=""):
            print("   ", ascii(line[:200]))
    print(f"{files} different files, {characters} characters: {changed} change")


if __name__ == "__main__":
    main(sys.argv[1:])
