"""
Two measurements beside each other: what changed by more than chance and the machine explain.

A share has changed if the questions that were won and lost are so uneven that chance does not
explain it, and no repeat shows the contrary. A median has changed if its intervals do not meet, and
it at least doubled or halved. Times of two machines are not compared. The disk and the calls to
servers have no spread in one measurement: they have changed if they more than doubled or halved.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal

from memproto.errors import KitUsageError
from memproto.measure import intervals
from memproto.report import plot

Change = Literal["better", "worse", "same"]

#: A median that moved by a smaller factor may be due to what else the machine does.
_MOVED = 2.0

#: A change of shares that comes about by chance less often is one. Several are looked at.
_CHANCE = 0.01

#: Name of a share that is to be small, to its place below `recall`.
_WRONG = {
    "superseded shown as current": "stale",
    "another user's shown": "other",
    "something shown for absent": "absent",
}


#: Name of a load to its key below a size, its words, and the least difference that is one.
_LOADS: dict[str, tuple[str, Callable[[Any], str], float]] = {
    "disk": ("disk_bytes", plot.size, 100_000),
    "calls per turn": ("calls_per_turn", "{:g}".format, 0.5),
    "calls per question": ("calls_per_recall", "{:g}".format, 0.5),
}


@dataclasses.dataclass(frozen=True)
class Line:
    """
    One figure of one target in both measurements.

    Attributes:
        target: The target, or the baseline.
        figure: Its name.
        old: Its value before, in words.
        new: Its value now.
        change: "same" unless it changed by more than can be chance.
        why: The reason for that in figures.

    """

    target: str
    figure: str
    old: str
    new: str
    change: Change
    why: str


@dataclasses.dataclass(frozen=True)
class Comparison:
    """
    All figures that stand in both.

    Attributes:
        lines: In the order of the new one.
        notes: Figures that are not compared, and why.

    """

    lines: list[Line]
    notes: list[str]

    @property
    def is_worse(self) -> bool:
        """True if a figure is worse by more than can be chance."""
        return any(line.change == "worse" for line in self.lines)


def compare(old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """
    Compare two measurements that asked the same questions.

    Raises:
        KitUsageError: They asked others, so that nothing in them can be compared.

    """
    for name in ("budgets_chars", "repeats"):
        _check_same(old["measure"][name], new["measure"][name], name)
    _check_same(old["corpus"]["sha256"], new["corpus"]["sha256"], "corpus")
    is_one_machine = old["measure"]["environment"] == new["measure"]["environment"]
    notes = [] if is_one_machine else ["times are of other machines, and are not compared"]
    before = {(row["is_baseline"], row["target"]): row for row in old["rows"]}
    lines: list[Line] = []
    for row in new["rows"]:
        former = before.pop((row["is_baseline"], row["target"]), None)
        if former is None:
            notes.append(f"{row['target']} is not in the first one")
        elif not row["is_baseline"]:
            lines += _shares(former, row)
            lines += _times(former, row) if is_one_machine else []
            lines += _loads(former, row)
            notes += _gone(former, row)
    notes += [f"{name} is not in the second one" for is_base, name in before if not is_base]
    return Comparison(lines, notes)


def _check_same(old: Any, new: Any, name: str) -> None:
    if old != new:
        words = name.replace("_", " ")
        fault = f"are measured with other values of {words}: {old} and {new}"
        fix = "measure both with the same --seed, --repeats and corpus"
        raise KitUsageError("--compare: the files", fault[:200], fix)


def _gone(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [
        f"{new['target']}: {part} was measured before, and is not now"
        for part in ("recall", "speed")
        if old[part] and not new[part]
    ]


# -- shares ----------------------------------------------------------------------------------------


def _shares(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Line]:
    if not (old["recall"] and new["recall"]):
        return
    for chars, share in new["recall"]["found"].items():
        figure = f"evidence within {int(chars):,}" if chars != "all" else "evidence in all"
        yield from _share(new["target"], figure, old["recall"]["found"].get(chars), share, 1)
    for figure, key in _WRONG.items():
        yield from _share(new["target"], figure, old["recall"][key], new["recall"][key], -1)


def _share(
    target: str, figure: str, old: dict[str, Any] | None, new: dict[str, Any] | None, sign: int
) -> Iterator[Line]:
    if old is None or new is None or [*map(len, old["answers"])] != [*map(len, new["answers"])]:
        # Without the same questions there are no pairs; that a kind is gone is said elsewhere.
        return
    pairs = [
        Counter(zip(before, now, strict=True))
        for before, now in zip(old["answers"], new["answers"], strict=True)
    ]
    lost, won = (sum(pair[key] for pair in pairs) for key in (("1", "0"), ("0", "1")))
    chance = intervals.chance_of_pairs(lost, won)
    # A change that one corpus shows, and another one the other way round, is of the corpus.
    ways = {pair["0", "1"] > pair["1", "0"] for pair in pairs if pair["0", "1"] != pair["1", "0"]}
    change: Change = "same"
    if chance < _CHANCE and len(ways) == 1:
        change = "better" if (won > lost) == (sign > 0) else "worse"
    why = f"{won} questions more and {lost} fewer of {new['of']}, by chance {chance:.2g}"
    spread = f"repeats {_range(old['repeats'])} and {_range(new['repeats'])} %"
    values = f"{100 * old['share']:.1f} %", f"{100 * new['share']:.1f} %"
    yield Line(target, figure, *values, change, f"{why}; {spread}")


def _range(values: list[float]) -> str:
    return f"{100 * min(values):.0f}-{100 * max(values):.0f}"


# -- times -----------------------------------------------------------------------------------------


def _times(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Line]:
    if not (old["speed"] and new["speed"]):
        return
    before = {size["turns"]: size["operations"] for size in old["speed"]["sizes"]}
    for size in new["speed"]["sizes"]:
        for operation, times in size["operations"].items():
            former = before.get(size["turns"], {}).get(operation)
            if former is None:
                continue
            figure = f"{operation} at {size['turns']:,} turns, p50"
            values = plot.duration(former["p50_s"]), plot.duration(times["p50_s"])
            yield Line(new["target"], figure, *values, _moved(former, times), _spans(former, times))


def _moved(old: dict[str, Any], new: dict[str, Any]) -> Change:
    if new["p50_low_s"] > old["p50_high_s"] and new["p50_s"] > _MOVED * old["p50_s"]:
        return "worse"
    if new["p50_high_s"] < old["p50_low_s"] and _MOVED * new["p50_s"] < old["p50_s"]:
        return "better"
    return "same"


def _spans(*rows: dict[str, Any]) -> str:
    spans = [f"{plot.duration(r['p50_low_s'])} to {plot.duration(r['p50_high_s'])}" for r in rows]
    return f"intervals {spans[0]}, and {spans[1]}"


# -- loads -----------------------------------------------------------------------------------------


def _loads(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Line]:
    """The place on the disk and the calls to servers, which hardly depend on the machine."""
    if not (old["speed"] and new["speed"]):
        return
    before: dict[int, dict[str, Any]] = {size["turns"]: size for size in old["speed"]["sizes"]}
    for size in new["speed"]["sizes"]:
        former = before.get(size["turns"], {})
        for figure, (key, shown, least) in _LOADS.items():
            was, now = former.get(key), size[key]
            if was is None or now is None:
                continue
            change: Change = "same"
            if abs(now - was) >= least and max(now, was) > _MOVED * min(now, was):
                change = "worse" if now > was else "better"
            why = f"more than {_MOVED:g} times" if change != "same" else "about the same"
            name = f"{figure} at {size['turns']:,} turns"
            yield Line(new["target"], name, shown(was), shown(now), change, why)


# -- words -----------------------------------------------------------------------------------------


def as_text(found: Comparison) -> str:
    """All that changed, one line each; then the rest as a number, and the notes."""
    changed = [line for line in found.lines if line.change != "same"]
    lines = [
        f"{line.change}: {line.target}: {line.figure}: {line.old} -> {line.new} ({line.why})"
        for line in changed
    ]
    same = len(found.lines) - len(changed)
    lines.append(f"{same} of {len(found.lines)} figures differ by no more than chance")
    return "\n".join([*lines, *(f"note: {note}" for note in found.notes)])


def as_markdown(found: Comparison, cell: Any) -> str:
    """A section of Markdown; `cell` makes any text a text of a cell."""
    rows = [
        " | ".join(map(cell, (line.change, line.target, line.figure, line.old, line.new, line.why)))
        for line in found.lines
        if line.change != "same"
    ]
    parts = ["## Measured"]
    if rows:
        names = ("change", "target", "figure", "before", "now", "by")
        head = f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"
        parts.append("\n".join([head, *(f"| {row} |" for row in rows)]))
    same = len(found.lines) - len(rows)
    parts.append(f"{same} of {len(found.lines)} figures differ by no more than chance.")
    parts += [f"- {cell(note)}" for note in found.notes]
    return "\n\n".join(parts)
