"""
Letters to the authors of packages: a short issue for each target with red lines that are true.

A letter is ready for the author's tracker. It holds the lines of a MUST that were read against the
source and are true, with a user's loss, the place and the mend, and the commands that show them.
"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from census.entries import CHECKOUT, Entry
from census.outcomes import Found, Red
from census.readings import Reading
from census.table import in_code
from memproto import spec

FOLDER = Path(__file__).parent / "letters"

_SETTINGS = "memproto.toml"

#: Characters of one observation.
_MOST_CHARS = 400


def written(
    entries: Mapping[str, Entry],
    outcomes: Mapping[str, Found],
    readings: Mapping[tuple[str, str], Reading],
) -> dict[str, str]:
    """Target to letter, for each package of somebody else with a line that is true."""
    found = {}
    for name, entry in entries.items():
        if name not in outcomes or entry.version == CHECKOUT:
            continue
        rows = [
            (row, readings[name, row.id])
            for row in outcomes[name].red_musts
            if (name, row.id) in readings and readings[name, row.id].reading == "true"
        ]
        if rows:
            found[name] = "\n".join(_lines(entry, rows)) + "\n"
    return found


def _lines(entry: Entry, rows: list[tuple[Red, Reading]]) -> Iterator[str]:
    many = "one thing" if len(rows) == 1 else f"{len(rows)} things"
    yield f"# {entry.package} {entry.version}: {many} that a user of it may lose by"
    yield ""
    yield f"Thank you for {entry.package}."
    yield "We judged it with memproto, a conformance kit for the memory of agents."
    yield "We read each line below against its source."
    yield "If one is wrong, please say so: then the kit is at fault, and we mend it."
    for row, reading in rows:
        item = spec.requirement(row.id)
        yield from ("", f"## {row.id}", "", item.text, "")
        yield f"- A user's loss: {item.intent}"
        yield f"- Seen: {in_code(row.observed or 'the line says all', _MOST_CHARS)}"
        yield f"- In the source, `{reading.where}`: {reading.text}"
        yield f"- A mend: {item.fix}"
    yield from ("", "## See it again", "")
    yield from _again(entry, [row.id for row, _ in rows])


def _again(entry: Entry, ids: list[str]) -> Iterator[str]:
    """The commands that show the lines, in a new directory."""
    if entry.files:
        yield "In a new directory with these files:"
        yield ""
        for name, held in entry.files.items():
            fence = "`" * max(3, _longest_run(held) + 1)
            yield from (
                f"{f'`{name}`'}",
                "",
                f"{fence}{_language(name)}",
                held.rstrip("\n"),
                fence,
                "",
            )
    yield "```console"
    yield "python -m venv judged && . judged/bin/activate"
    yield "pip install 'memproto[kit]'"
    for words in entry.installs:
        yield f"pip install {words}"
    if entry.is_of_npm:
        yield f"npm install --ignore-scripts {shlex.quote(entry.pin)}"
    chosen = " ".join(f"--memproto-clause={key}" for key in ids)
    yield f"pytest --memproto={shlex.quote(entry.target)} {chosen}"
    yield "```"
    if entry.left_out:
        yield ""
        yield "Not installed:"
        yield ""
        yield from (f"- `{name}`: {why}" for name, why in entry.left_out.items())
    if entry.notes:
        yield from ("", f"Set up for this run: {entry.notes}")


def _language(name: str) -> str:
    return "toml" if name == _SETTINGS else ""


def _longest_run(held: str) -> int:
    """The length of the longest run of backticks in a text."""
    longest = run = 0
    for sign in held:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    return longest
