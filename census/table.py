"""The outcomes of a census as Markdown: numbers first, then one row for each target."""

from collections import Counter
from collections.abc import Iterator, Mapping

from census.entries import CHECKOUT, Entry
from census.outcomes import Found
from census.readings import Reading
from memproto import spec

#: Each state that is no verdict, in words.
_STATES = {
    "undecided": "left undecided by a busy machine",
    "kit_error": "kit error",
    "hung": "hung",
    "crashed": "crashed",
    "refused": "not found by the kit",
    "not_installed": "not installed",
}

#: Characters of a reason in a cell.
_MOST_CHARS = 160

#: The rules that the list of the most broken ones names.
_MOST_RULES = 10


def numbers(
    entries: Mapping[str, Entry],
    outcomes: Mapping[str, Found],
    readings: Mapping[tuple[str, str], Reading],
) -> str:
    """How many targets there are, how many ended how, and how their red lines were read."""
    found = [outcomes[name] for name in entries if name in outcomes]
    states = Counter(str(one.state) for one in found)
    verdicts = Counter(one.verdict for one in found if one.state == "judged")
    red = [(one.name, row.id) for one in found for row in one.red_musts]
    read = Counter(readings[key].reading for key in red if key in readings)
    rows = [
        ("targets", str(len(entries))),
        ("with a verdict", str(states["judged"])),
        *((f"of these {name}", str(count)) for name, count in sorted(verdicts.items())),
        ("without first contact", str(sum(bool(one.contact) for one in found))),
        *((said, str(states[state])) for state, said in _STATES.items()),
        ("not judged yet", str(len(entries) - len(found))),
        ("red lines of a MUST", str(len(red))),
        *(
            (f"of these read as {name}", str(read[name]))
            for name in ("true", "debatable", "refuted")
        ),
        ("of these not read yet", str(len(red) - read.total())),
    ]
    return "\n".join(["| | number |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)])


def targets(entries: Mapping[str, Entry], outcomes: Mapping[str, Found]) -> str:
    """A row for each target, by the alphabet: nothing is ranked."""
    head = "| target | version | class | verdict | violated MUST | open | judged on |"
    return "\n".join([head, "| --- " * 7 + "|", *_rows(entries, outcomes)])


def _rows(entries: Mapping[str, Entry], outcomes: Mapping[str, Found]) -> Iterator[str]:
    for name, entry in entries.items():
        one = outcomes.get(name)
        if one is None:
            yield f"| {name} | {entry.version} | | not judged yet | | | |"
            continue
        verdict = _STATES.get(one.state, one.verdict)
        red = ", ".join(row.id for row in one.red_musts) or "none"
        cells = [
            name,
            one.version,
            one.held or "none",
            verdict,
            red,
            str(len(one.unsettled.split())),
        ]
        if one.state != "judged":
            cells[2], cells[4], cells[5] = "", "", ""
        yield f"| {' | '.join(cells)} | {one.date} |"


def without(entries: Mapping[str, Entry], outcomes: Mapping[str, Found]) -> str:
    """The targets without a verdict or without first contact, and why."""
    rows = [
        f"| {name} | {in_code(outcomes[name].reason or outcomes[name].contact)} |"
        for name in entries
        if name in outcomes and (outcomes[name].reason or outcomes[name].contact)
    ]
    return "\n".join(["| target | reason |", "| --- | --- |", *(rows or ["| none | |"])])


def rules(entries: Mapping[str, Entry], outcomes: Mapping[str, Found]) -> str:
    """The requirements that most targets violate, with the mend of each."""
    counts = Counter(
        row.id for name in entries if name in outcomes for row in outcomes[name].red_musts
    )
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_RULES]
    rows = [f"| {key} | {count} | {spec.requirement(key).fix} |" for key, count in ranked]
    return "\n".join(["| MUST | violated by | mend |", "| --- | --- | --- |", *rows])


def requirements(entries: Mapping[str, Entry], outcomes: Mapping[str, Found]) -> str:
    """By requirement: how many real targets hold it, break it, and cannot show it."""
    real = [
        outcomes[name]
        for name, entry in entries.items()
        if name in outcomes and entry.version != CHECKOUT
    ]
    held = Counter(key for one in real for key in one.passed.split())
    broken = Counter(row.id for one in real for row in one.red)
    unsettled = Counter(key for one in real for key in one.unsettled.split())
    rows = [
        f"| {key} | {item.level} | {held[key]} | {broken[key]} | {unsettled[key]} |"
        for key, item in spec.requirements().items()
        if held[key] or broken[key] or unsettled[key]
    ]
    head = "| requirement | level | hold it | break it | cannot show it |"
    return "\n".join([head, "| --- " * 5 + "|", *rows])


def changes(before: Mapping[str, Found], now: Mapping[str, Found]) -> str:
    """The difference of two censuses: targets that came and went, verdicts, red lines."""
    lines = [f"{name}: new" for name in sorted(now.keys() - before.keys())]
    lines += [f"{name}: gone" for name in sorted(before.keys() - now.keys())]
    for name in sorted(now.keys() & before.keys()):
        old, new = before[name], now[name]
        parts = [
            f"{said} {a or 'none'} is {b or 'none'}"
            for said, a, b in (
                ("version", old.version, new.version),
                ("state", old.state, new.state),
                ("verdict", old.verdict, new.verdict),
                ("class", old.held, new.held),
            )
            if a != b
        ]
        were, are = {row.id for row in old.red}, {row.id for row in new.red}
        parts += [f"{key} is violated now" for key in sorted(are - were)]
        parts += [f"{key} is violated no longer" for key in sorted(were - are)]
        lines += [f"{name}: {part}" for part in parts]
    return "\n".join(lines or ["nothing changed"])


def in_code(text: str, most_chars: int = _MOST_CHARS) -> str:
    """A text of a stranger as code in a cell or a line: no bar, no markup, no other character."""
    cut = text if len(text) <= most_chars else f"{text[:most_chars]}..."
    kept = "".join(one if one.isascii() and one.isprintable() else "?" for one in cut)
    safe = kept.replace("`", "'").replace("|", "/").replace("<", "(").replace(">", ")")
    return f"`{safe}`"
