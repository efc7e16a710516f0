"""The checkout as a part of `scripts/generate.py` sees it: files, and what is to stand in them."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

_MARKED = re.compile(r"^<!-- (\w+): made of .*?<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)

#: Lines of a difference that `--check` shows for each file.
_SHOWN_LINES = 12


class Broken(Exception):
    """A file holds what nobody can derive; the message names the file and the repair."""


class Tree:
    """
    A checkout, over which texts are laid that are not written yet.

    A part reads a file by `text` and gives its new text to `put`; the next part reads the new one.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._laid: dict[str, str] = {}

    def text(self, name: str) -> str:
        """The text of a file, as the parts before have left it; "" for one that is not there."""
        if name in self._laid:
            return self._laid[name]
        path = self.root / name
        return path.read_text("utf-8") if path.exists() else ""

    def put(self, name: str, text: str) -> None:
        """Say what is to stand in a file."""
        self._laid[name] = text

    def names(self, folder: str, pattern: str) -> list[str]:
        """The files of a folder, relative to the checkout, in the order of their names."""
        found = sorted((self.root / folder).glob(pattern))
        return [path.relative_to(self.root).as_posix() for path in found]

    def changed(self) -> list[str]:
        """The files whose text on the disk is another one."""
        return [name for name, text in sorted(self._laid.items()) if text != self._written(name)]

    def difference(self, name: str) -> Iterator[str]:
        """The first lines of what would change in a file."""
        before, after = self._written(name).splitlines(), self._laid[name].splitlines()
        lines = difflib.unified_diff(before, after, name, name, lineterm="", n=0)
        return (line for line, _ in zip(lines, range(_SHOWN_LINES), strict=False))

    def write(self) -> list[str]:
        """Write what is changed, and give its names."""
        names = self.changed()
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._laid[name], "utf-8")
        return names

    def _written(self, name: str) -> str:
        path = self.root / name
        return path.read_text("utf-8") if path.exists() else ""


def filled(page: str, text: str, made: dict[str, tuple[str, str]]) -> str:
    """
    A page's text with what is made of kept figures between its marks; other marks are left alone.

    `made` is the name of a place to the file of the figures and the Markdown.

    Raises:
        Broken: One has no place on the page.

    """
    if missing := sorted({*made} - {match[1] for match in _MARKED.finditer(text)}):
        raise Broken(f"{page}: has no place for {missing[0]!r}; put its two marks there")

    def marked(match: re.Match[str]) -> str:
        name = match[1]
        if name not in made:
            return match[0]
        source, lines = made[name]
        return f"<!-- {name}: made of {source} -->\n\n{lines}\n\n<!-- end of {name} -->"

    return _MARKED.sub(marked, text)
