"""
The survivors that were read: `survivors.toml` has a class and a reason for each.

A row names a change by its key. One row may stand for several changes of a line: it leaves `now`
out, and holds for whatever becomes of the line; or it leaves `was` out as well, and holds for a
whole definition.
"""

import dataclasses
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memproto import spec
from tests.mutation.keys import Key
from tests.mutation.subjects import ROOT, SUBJECTS

FILE = Path(__file__).with_name("survivors.toml")

#: The classes of a survivor, each with what its reason says.
CLASSES = {
    "equivalent": "no caller can tell the change",
    "no promise": "a caller can tell it, and no requirement promises otherwise",
    "hole of a check": "a requirement promises otherwise, and its check does not see it",
    "hole of the specification": "a user would mind, and no requirement says so",
}

_FIELDS = {"subject", "where", "was", "now", "nth", "class", "reason", "allowed_by", "violates"}


class Unreasoned(Exception):
    """A row does not say what a row has to say."""


@dataclasses.dataclass(frozen=True)
class Survivor:
    """
    One row.

    Attributes:
        subject: Name of the subject.
        where: The file and the definition.
        was: The line before, or "" for each of the definition.
        now: The line afterwards, or "" for any.
        nth: Number among equal lines of the definition.
        kind: One of `CLASSES`.
        reason: Why it is of that class.
        allowed_by: For *no promise* the sentence that lets it, or the requirement that stops short.
        violates: For *hole of a check* the requirement that it violates.

    """

    subject: str
    where: str
    was: str
    now: str
    nth: int
    kind: str
    reason: str
    allowed_by: str = ""
    violates: str = ""

    def holds(self, key: Key) -> bool:
        """True if the row is about this change."""
        return (
            (self.subject, self.where) == (key.subject, key.where)
            and self.was in ("", key.was)
            and self.now in ("", key.now)
            and (not self.was or self.nth == key.nth)
        )


def read(file: Path = FILE) -> list[Survivor]:
    """
    All rows.

    Raises:
        Unreasoned: A row lacks its class, its reason, or what its class asks for.

    """
    return [_row(raw) for raw in tomllib.loads(file.read_text("utf-8")).get("survivor", [])]


def _row(raw: dict[str, Any]) -> Survivor:
    name = f"{raw.get('subject')} {raw.get('where')}: {raw.get('was', 'the whole definition')!r}"
    if unknown := set(raw) - _FIELDS:
        raise Unreasoned(f"{name}: {sorted(unknown)} is no field")
    if raw.get("subject") not in SUBJECTS or not raw.get("where"):
        raise Unreasoned(f"{name}: subject or where is missing")
    if raw.get("class") not in CLASSES:
        raise Unreasoned(f"{name}: class is none of {', '.join(CLASSES)}")
    if not str(raw.get("reason", "")).strip():
        raise Unreasoned(f"{name}: has no reason")
    if raw["class"] == "no promise" and not raw.get("allowed_by"):
        raise Unreasoned(f"{name}: allowed_by is missing, the sentence that lets it")
    if raw["class"] == "hole of a check" and raw.get("violates") not in spec.requirements():
        raise Unreasoned(f"{name}: violates is no requirement")
    if raw.get("now") and not raw.get("was"):
        raise Unreasoned(f"{name}: now without was")
    return Survivor(
        raw["subject"],
        raw["where"],
        raw.get("was", ""),
        raw.get("now", ""),
        raw.get("nth", 1),
        raw["class"],
        raw["reason"],
        raw.get("allowed_by", ""),
        raw.get("violates", ""),
    )


def row_of(key: Key, rows: Iterable[Survivor]) -> Survivor | None:
    """The row of a change, the most exact one, or None."""
    found = [row for row in rows if row.holds(key)]
    return max(found, key=lambda row: (bool(row.was), bool(row.now)), default=None)


def stale(rows: Iterable[Survivor], root: Path = ROOT) -> list[str]:
    """The rows whose line or definition is no longer in the source."""
    found = []
    for row in rows:
        name, _, definition = row.where.partition(":")
        file = root / name
        text = file.read_text("utf-8") if file.exists() else ""
        lines = "\n".join(line.strip() for line in text.splitlines())
        last = definition.rpartition(".")[2]
        is_there = not last or f"def {last}(" in text or f"class {last}" in text
        if not (text and is_there and row.was in lines):
            found.append(f"{row.subject} {row.where}: {row.was!r}")
    return found


def template(key: Key) -> str:
    """A row for a survivor, which still lacks its class and its reason."""
    lines = ["[[survivor]]", f'subject = "{key.subject}"', f'where = "{key.where}"']
    lines += [f"{name} = {_toml(text)}" for name, text in (("was", key.was), ("now", key.now))]
    if key.nth > 1:
        lines.append(f"nth = {key.nth}")
    return "\n".join([*lines, 'class = ""', 'reason = ""'])


def _toml(text: str) -> str:
    if "\n" not in text and "'" not in text:
        return f"'{text}'"
    if "'''" not in text:
        return f"'''\n{text}'''" if "\n" in text else f"'''{text}'''"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
