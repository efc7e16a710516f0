"""
The records of decisions: their numbers and their index.

A new record is `docs/decisions/YYYY-MM-DD-short-title.md` until it reaches the main branch: two
branches that number at the same time would take the same number. `number` gives each of these
drafts the next free number, in the order of their names, and mends the links to it in the whole
checkout; `python -P scripts/generate.py --number` calls it. `rewrite` lays the text of the index.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.tree import Broken, Tree

ROOT = Path(__file__).parents[1]

#: The folder of all records, below the checkout.
FOLDER = "docs/decisions"

#: The headings of a record, in their order; others may stand between them.
SECTIONS = ("Context", "Decision", "Consequences")

_DRAFT = re.compile(r"(\d{4}-\d\d-\d\d)-([a-z0-9-]+)\.md")
_NUMBERED = re.compile(r"(\d{4})-(?!\d\d-)([a-z0-9-]+)\.md")
_DATE = re.compile(r"^- Date: (\d{4}-\d\d-\d\d)$", re.MULTILINE)
_STATUS = re.compile(r"^- Status: (\S.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")

#: Files in which a link to a record may stand.
_TEXTS = ("*.md", "*.py", "*.toml", "*.yml")
_SKIPPED = {"build", "node_modules"}

_HEAD = """\
# Decisions

Each record says why the project is as it is: the situation, the choice, and the price.
A record is not rewritten when the code moves on.
A later record replaces or refines it, and its status says so.
[CONTRIBUTING.md](../../CONTRIBUTING.md#how-to-record-a-decision) says how to add one.

| number | date | decision | status |
| --- | --- | --- | --- |
"""


@dataclasses.dataclass(frozen=True)
class Record:
    """
    A record with its number.

    Attributes:
        number: Four digits, as in the name of its file.
        file: The name of its file.
        title: Its first heading.
        date: The day of the decision, as YYYY-MM-DD.
        status: One word, and perhaps which record refines or replaces it.
        text: All of it.

    """

    number: str
    file: str
    title: str
    date: str
    status: str
    text: str


class BrokenRecord(Broken):
    """A record lacks what the index needs; the message names the file and the line to add."""


def records(root: Path = ROOT) -> list[Record]:
    """
    The records that have a number, in its order.

    Raises:
        BrokenRecord: One has no title, date or status.

    """
    files = sorted(path for path in (root / FOLDER).iterdir() if _NUMBERED.fullmatch(path.name))
    return [_read(path) for path in files]


def drafts(root: Path = ROOT) -> list[Path]:
    """The records that wait for a number."""
    return sorted(path for path in (root / FOLDER).iterdir() if _DRAFT.fullmatch(path.name))


def _read(path: Path) -> Record:
    text = path.read_text("utf-8")
    title, _, _ = text.partition("\n")
    date, status = _DATE.search(text), _STATUS.search(text)
    if not (title.startswith("# ") and date and status):
        raise BrokenRecord(
            f"{path.name}: needs a first line `# TITLE`, and the lines `- Date: YYYY-MM-DD` and "
            "`- Status: accepted`"
        )
    return Record(path.name[:4], path.name, title[2:], date[1], status[1], text)


def index(root: Path = ROOT) -> str:
    """The whole text of the index."""
    return _HEAD + "".join(map(_row, records(root)))


def rewrite(tree: Tree) -> None:
    """Lay the text of the index."""
    tree.put(f"{FOLDER}/index.md", index(tree.root))


def _row(one: Record) -> str:
    status = _LINK.sub(r"\1", one.status)
    return f"| {one.number} | {one.date} | [{one.title}]({one.file}) | {status} |\n"


def number(root: Path = ROOT) -> dict[str, str]:
    """Give each draft its number, and mend the links to it; gives old names to new ones."""
    last = max((int(one.number) for one in records(root)), default=0)
    renamed: dict[str, str] = {}
    for draft in drafts(root):
        last += 1
        date, title = draft.name[:10], draft.name[11:]
        renamed[draft.name] = f"{last:04}-{title}"
        draft.write_text(_completed(draft.read_text("utf-8"), date), "utf-8")
        draft.rename(draft.with_name(renamed[draft.name]))
    if renamed:
        _mend(root, renamed)
    return renamed


def _completed(text: str, date: str) -> str:
    """A draft with the two lines behind its title, if it has none."""
    title, _, rest = text.partition("\n")
    if _DATE.search(text) and _STATUS.search(text):
        return text
    return f"{title}\n\n- Date: {date}\n- Status: accepted\n\n{rest.lstrip()}"


def _mend(root: Path, renamed: dict[str, str]) -> None:
    for path in _texts(root):
        text = path.read_text("utf-8")
        mended = text
        for old, new in renamed.items():
            mended = mended.replace(old, new)
        if mended != text:
            path.write_text(mended, "utf-8")


def _texts(root: Path) -> Iterator[Path]:
    for pattern in _TEXTS:
        for path in root.rglob(pattern):
            parts = path.relative_to(root).parts
            if not any(part in _SKIPPED or part.startswith(".") for part in parts[:-1]):
                yield path
