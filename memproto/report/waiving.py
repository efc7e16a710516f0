"""Writing waivers: entries at the end of a file, of which everything else stays as it is."""

import datetime as dt
import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memproto import shell, spec
from memproto.errors import InvalidSettings, KitUsageError
from memproto.report import verdicts
from memproto.report.reading import read_text
from memproto.testing import needs
from memproto.testing.outcomes import OPEN, Outcome
from memproto.testing.settings import files, settings, waiver_entries
from memproto.testing.settings.waiver_entries import PROFILES, Entry

#: File of waivers if no other is named.
FILE = "waivers.toml"

#: Characters of an observation that make the reason of a baseline's entry.
_MOST_CHARS = 200

#: Text that stands before an id in the file, and the keys that lead to the entries.
_HEADS = {
    "pyproject.toml": ("tool", "memproto", "waivers"),
    "memproto.toml": ("waivers",),
}


def place(file: Path | None, directory: Path) -> Path:
    """The file to write to: the given one, the one that the settings name, or `waivers.toml`."""
    return file or settings.waivers_file(directory) or directory / FILE


def unnamed(path: Path, directory: Path) -> str:
    """The line that the settings lack for the file to be read; "" for none."""
    named = settings.waivers_file(directory)
    if path.name in _HEADS or (named is not None and named.resolve() == path.resolve()):
        return ""
    return f'waivers = "{path.name}"'


def add(path: Path, entries: dict[str, dict[str, Any]], today: dt.date) -> list[str]:
    """
    Write entries that the file does not have; gives the ids of those that it has already.

    Raises:
        KitUsageError: An entry would be a faulty waiver, or the file cannot take one.
        OSError: The file cannot be written.

    """
    text = read_text(path) if path.exists() else ""
    known = _known(path, text)
    new = {key: value for key, value in entries.items() if key not in known}
    if not new:
        return list(entries)
    for key, value in new.items():
        _refuse_faulty(key, value, today)
    lines = [_entry(_HEADS.get(path.name, ()), key, value) for key, value in new.items()]
    added = _joined(text, lines)
    _refuse_broken(path, text + added, new)
    with path.open("ab") as file:
        file.write(added.encode())
    return [key for key in entries if key in known]


def baseline(report: dict[str, Any]) -> dict[str, str]:
    """Each requirement by which the report is red, and what was observed, as its reason."""
    strict = bool(report.get("strict"))
    return {
        row["id"]: _reason(row) for row in report["results"] if verdicts.is_red(row, strict=strict)
    }


def remaining(report: dict[str, Any], waived: Iterable[str]) -> tuple[list[str], list[str]]:
    """
    The open requirements of a report whose red ones are waived: those behind them, and the others.

    The others are those that keep the exit code from 0: they are of the class that was asked for,
    and could change the verdict.
    """
    ids, strict = set(waived), bool(report.get("strict"))
    rows = [row for row in report["results"] if row["outcome"] in OPEN - {Outcome.WAIVED}]
    behind = [row["id"] for row in rows if needs.behind(needs.of_row(row)) in ids]
    counted = verdicts.within(rows, verdicts.asked(report))
    others = [row["id"] for row in counted if verdicts.keeps_open(row, strict=strict)]
    return behind, [key for key in others if key not in behind]


def gate(report: dict[str, Any], line: str, directory: Path, others: list[str]) -> str:
    """
    The command that makes a run on the waivers exit with 0, with its settings where there are none.

    `line` is the one that the settings lack, or "". If they have a file, the line goes into it by
    hand: a line at the end of a file of TOML may be one of another table.
    """
    flag = "--memproto-host" if report["side"] == "host" else "--memproto"
    words = ["pytest", f"{flag}={report['target']}"]
    if report["profile"] != PROFILES[0]:
        words.append(f"--memproto-profile={report['profile']}")
    if report.get("class", spec.CLASSES[-1]) != spec.CLASSES[-1]:
        words.append(f"--memproto-class={report['class']}")
    if report.get("strict"):
        words.append("--memproto-strict")
    if others or report.get("allow_incomplete"):
        words.append("--memproto-allow-incomplete")
    command = shell.join(words)
    if line and settings.nearest(directory) is None:
        return f"echo {shlex.quote(line)} > memproto.toml && {command}"
    return command


def _reason(row: dict[str, Any]) -> str:
    said = " ".join(str(row["observed"] or row["rule"]).split())
    cut = said if len(said) <= _MOST_CHARS else f"{said[:_MOST_CHARS]}..."
    return f"known since the first run: {cut}"


def _known(path: Path, text: str) -> dict[str, Any]:
    """The entries of the file."""
    try:
        found: Any = files.tables(text)
    except files.BrokenFile as broken:
        raise InvalidSettings(f"{path}:{broken.line}", broken.fault, broken.fix) from None
    for key in _head(path, found):
        found = found.get(key, {}) if isinstance(found, dict) else {}
    if isinstance(found, dict):
        return found
    fix = f"name that file with --file {found}"
    raise InvalidSettings(f"{path}: waivers", "names a file, and holds no tables", fix)


def _head(path: Path, table: dict[str, Any]) -> Sequence[str]:
    if path.name == "memproto.toml" and "tool" in table:
        return ("tool", "memproto", "waivers")
    return _HEADS.get(path.name, ())


def _refuse_faulty(key: str, value: dict[str, Any], today: dt.date) -> None:
    spec.requirement(key)
    _, faults = waiver_entries.judged(Entry(key, value, "the entry", ""), today)
    if faults:
        raise KitUsageError(f"the waiver of {key}", _said(faults[0].text, key), faults[0].fix)


def _said(text: str, key: str) -> str:
    return text.rpartition(f"{key}: ")[2]


def _entry(head: Sequence[str], key: str, value: dict[str, Any]) -> str:
    lines = [f"[{'.'.join((*head, key))}]"]
    known = (*waiver_entries.KEYS, *waiver_entries.OPTIONAL)
    lines += [f"{name} = {_written(value[name])}" for name in known if name in value]
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    """A value of TOML: half a surrogate pair, which a text of TOML cannot hold, as its code."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.date):
        return str(value)
    text = str(value).encode("utf-8", "backslashreplace").decode()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _joined(text: str, entries: list[str]) -> str:
    """The added text: entries apart by an empty line, with the line ends of the file."""
    added = "\n".join(entries)
    if text and added:
        added = ("\n" if text.endswith("\n") else "\n\n") + added
    return added.replace("\n", "\r\n") if "\r\n" in text else added


def _refuse_broken(path: Path, text: str, new: dict[str, Any]) -> None:
    """Checks, whatever the file holds, that it is TOML afterwards and has the new entries."""
    try:
        known = _known(path, text)
    except InvalidSettings as fault:
        known = {"": fault.fault}
    if not set(new) <= set(known):
        fix = f"write the tables [{'.'.join((*_HEADS.get(path.name, ()), 'ID'))}], or use --file"
        raise KitUsageError(str(path), "can take no table at its end", fix)
