"""The figures of a measurement as rows of text: for the terminal, for Markdown, and for pages."""

import dataclasses
from collections.abc import Callable
from typing import Any

from memproto.report import plot
from memproto.report.formats import markdown

#: Heads of the table of recall; the columns of the budgets stand behind the first two.
_NAMES = ("memory", "told by")
_BEHIND = ("superseded", "absent", "others'")

#: A cell without a figure.
NONE = "-"

_TITLE = "Questions of which all evidence came back"


@dataclasses.dataclass(frozen=True)
class Table:
    """
    One table.

    Attributes:
        title: Its heading.
        head: The names of its columns.
        rows: The cells of each row; the first one names it.

    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def of(document: dict[str, Any]) -> list[Table]:
    """The tables of a measurement, those of which something was measured."""
    every = (recall(document), kinds(document), speed(document), growth(document))
    return [table for table in every if table.rows]


def recall(document: dict[str, Any]) -> Table:
    """Baselines and targets by the share of questions whose evidence stands in the answer."""
    budgets = document["measure"]["budgets_chars"]
    last = str(budgets[-1])
    columns = [f"{chars:,}" for chars in budgets]
    depth = "5" if any(_items(row) for row in document["rows"]) else ""
    spread = ["repeats"] if document["measure"]["repeats"] > 1 else []
    head = [*_NAMES, *columns[:-1], f"{columns[-1]} chars", *spread, "all", *_BEHIND]
    rows = []
    for row in _with(document, "recall"):
        found = row["recall"]["found"]
        cells = [name(row), _by(row), *(percent(found[str(chars)]) for chars in budgets[:-1])]
        cells += [interval(found[last]), *([repeats(found[last])] if spread else [])]
        cells += [percent(found["all"])]
        cells += [percent(row["recall"][key]) for key in ("stale", "absent", "other")]
        cells += [percent(_items(row).get(depth))] if depth else []
        rows.append(tuple(cells))
    return Table(_TITLE, (*head, *(["recall@5"] if depth else [])), tuple(rows))


def kinds(document: dict[str, Any]) -> Table:
    """The same for each kind of question, within the last budget."""
    found = [row for row in _with(document, "recall") if any(row["recall"]["kinds"].values())]
    heads = list(found[0]["recall"]["kinds"]) if found else []
    rows = [
        (name(row), *(interval(row["recall"]["kinds"].get(kind)) for kind in heads))
        for row in found
    ]
    last = document["measure"]["budgets_chars"][-1]
    return Table(
        f"By kind of question, within {last:,} characters", ("memory", *heads), tuple(rows)
    )


def speed(document: dict[str, Any]) -> Table:
    """The times of each operation at each size: 50, 95 and 99 of 100 calls took at most this."""
    names = ("recall", "record", "write", "start", "shutdown")
    rows = []
    for row in _with(document, "speed"):
        for size in row["speed"]["sizes"]:
            times = [size["operations"].get(operation) for operation in names]
            rows.append((row["target"], f"{size['turns']:,}", *map(_times, times)))
    return Table("Times: p50, p95, p99", ("memory", "turns", *names), tuple(rows))


def growth(document: dict[str, Any]) -> Table:
    """The place that a store takes at each size, and how its figures grow with it."""
    rows = []
    for row in _with(document, "speed"):
        sizes = row["speed"]["sizes"]
        for size in sizes:
            is_last = size is sizes[-1]
            slopes = row["speed"]["slopes"] if is_last else {}
            calls = [size["calls_per_turn"], size["calls_per_recall"]]
            cells = [row["target"], f"{size['turns']:,}", plot.size(size["disk_bytes"])]
            cells += [plot.size(size["memory_bytes"])]
            cells += [NONE if value is None else f"{value:g}" for value in calls]
            cells += [_power(slopes.get(key)) for key in ("recall", "record", "disk")]
            rows.append(tuple(cells))
    head = ("memory", "turns", "disk", "memory added", "calls per turn", "calls per question")
    return Table("Growth", (*head, "recall ~", "record ~", "disk ~"), tuple(rows))


def remarks(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Name of a row, and a sentence that a reader of its figures has to know."""
    found = []
    for row in document["rows"]:
        said = []
        if row["lower_bound"]:
            said.append(f"its recall is a lower bound: {row['lower_bound']}")
        if row["told"] and row["told"]["refused"]:
            told = row["told"]
            said.append(f"it did not take {told['refused']:,} of {told['turns']:,} turns")
        if row["faults"]:
            said.append(f"{row['faults']:,} questions raised, or were lost with their process")
        said += row["notes"]
        said += [f"left out, {what}: {why}" for what, why in row["left_out"].items()]
        found += [(row["target"], text) for text in said]
    return found


def facts(document: dict[str, Any]) -> str:
    """The conditions of a measurement, in one line."""
    measure, corpus = document["measure"], document["corpus"]
    questions = sum(corpus["questions"].values())
    repeats = measure["repeats"]
    return (
        f"corpus {corpus['name']}, sha256 {corpus['sha256'][:12]} · seed {measure['seed']} · "
        f"{repeats} repeat{'s' * (repeats != 1)} · {corpus['people']} people · "
        f"{corpus['turns']:,} turns · {questions:,} questions · kit {measure['kit']}"
    )


# -- forms -----------------------------------------------------------------------------------------


def as_text(document: dict[str, Any]) -> str:
    """All of it, for a terminal."""
    parts = [facts(document)]
    for table in of(document):
        rows = [table.head, *table.rows]
        widths = [max(len(row[at]) for row in rows) for at in range(len(table.head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        parts.append("\n".join([table.title, *(f"  {line}" for line in lines)]))
    said = [f"  {who}: {text}" for who, text in remarks(document)]
    if said:
        parts.append("\n".join(["Remarks", *said]))
    return "\n\n".join(parts)


def as_markdown(table: Table, cell: Callable[[str], str] = markdown.text) -> str:
    """One table in Markdown; `cell` makes any text a text of a cell."""
    lines = [table.head, tuple("---" for _ in table.head), *table.rows]
    shown = [" | ".join(map(cell, line) if line[0] != "---" else line) for line in lines]
    return "\n".join(f"| {line} |" for line in shown)


def name(row: dict[str, Any]) -> str:
    """The name of a row; a lower bound bears a mark."""
    return f"{row['target']}{' ≥' if row['lower_bound'] else ''}"


def percent(share: dict[str, Any] | None) -> str:
    """A share in per cent."""
    return NONE if share is None else f"{100 * share['share']:.0f} %"


def interval(share: dict[str, Any] | None) -> str:
    """A share with its interval."""
    if share is None:
        return NONE
    return f"{percent(share)} ({100 * share['low']:.0f}-{100 * share['high']:.0f})"


def repeats(share: dict[str, Any] | None) -> str:
    """The least and the greatest share of one repeat, in per cent."""
    if share is None:
        return NONE
    least, most = (f"{100 * end(share['repeats']):.0f}" for end in (min, max))
    return least if least == most else f"{least}-{most}"


def _with(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [row for row in document["rows"] if row[key]]


def _by(row: dict[str, Any]) -> str:
    return row["route"] or NONE


def _items(row: dict[str, Any]) -> dict[str, Any]:
    return row["recall"]["items"] if row["recall"] else {}


def _times(found: dict[str, Any] | None) -> str:
    keys = ("p50_s", "p95_s", "p99_s")
    return NONE if found is None else ", ".join(plot.duration(found[key]) for key in keys)


def _power(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
