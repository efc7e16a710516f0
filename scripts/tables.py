"""Tables of the chapters that repeat the code or the catalogue."""

import re
from collections.abc import Callable, Iterator

from memproto import lifecycle, operations
from memproto.bindings import HERMES
from memproto.testing import incidents
from scripts import chapters
from scripts.chapters import FOLDER
from scripts.tree import Broken, Tree

_OVERVIEW = f"{FOLDER}/00-overview.md"
_OPERATIONS = f"{FOLDER}/20-operations.md"
_LIFECYCLE = f"{FOLDER}/25-lifecycle.md"
_CONFORMANCE = f"{FOLDER}/90-conformance.md"
_COVERAGE = f"{FOLDER}/95-coverage.md"

_ROWS = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_PICTURE = re.compile(r"^<!-- (\w+): made by .*?<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)
_CLASSES = re.compile(r"from \d+ classes of bugs")


def rewrite(tree: Tree) -> None:
    """
    Write the tables that repeat the code or the catalogue.

    They are of the status of requirements, operations, extensions, incidents, coverage, and the
    life of an instance.

    Raises:
        Broken: A class of field reports says that a requirement holds it, and none names it; or a
            picture of a life has no place.

    """
    _table(tree, _OVERVIEW, "Status of this release", lambda _: _statuses(tree))
    _table(tree, _OPERATIONS, "Operations", lambda _: _operations())
    _table(tree, _OPERATIONS, "Extensions", lambda _: _extensions())
    _table(tree, _CONFORMANCE, "Faults that are met on the way", lambda _: _incidents())
    named = _named(tree)
    _table(tree, _COVERAGE, "Classes", lambda lines: (_covered(line, named) for line in lines))
    text = tree.text(_COVERAGE)
    count = len(_body(text, "Classes")[2])
    tree.put(_COVERAGE, _CLASSES.sub(f"from {count} classes of bugs", text))
    tree.put(_LIFECYCLE, _pictures(tree.text(_LIFECYCLE)))


def _pictures(text: str) -> str:
    """The chapter with the pictures of a life between their marks."""
    marked = {match[1] for match in _PICTURE.finditer(text)}
    if missing := sorted(set(lifecycle.PICTURES) - marked):
        raise Broken(f"{_LIFECYCLE}: has no place for {missing[0]!r}; put its two marks there")
    return _PICTURE.sub(lambda match: lifecycle.marked(match[1]), text)


Lines = Callable[[list[str]], Iterator[str]]


def _table(tree: Tree, name: str, heading: str, lines: Lines) -> None:
    """Write the first table below a heading: its head is kept, `lines` gives what is below."""
    text = tree.text(name)
    start, end, rows = _body(text, heading)
    tree.put(name, text[:start] + "".join(f"{line}\n" for line in lines(rows)) + text[end:])


def _body(text: str, heading: str) -> tuple[int, int, list[str]]:
    """The place of the first table below a heading without its head, and its lines."""
    found = _ROWS.search(text, text.index(f"\n## {heading}\n"))
    assert found is not None, heading
    lines = found[0].splitlines(keepends=True)
    start = found.start() + len("".join(lines[:2]))
    return start, found.end(), [line.rstrip("\n") for line in lines[2:]]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


# -- of the code -----------------------------------------------------------------------------------


def _operations() -> Iterator[str]:
    for operation in operations.OPERATIONS.values():
        hermes = HERMES.hooks.get(operation.name)
        shown = f"`{hermes}`" if hermes else "none"
        yield _row(operation.name, f"`{operation.native}`", shown, operation.extension or "core")


def _extensions() -> Iterator[str]:
    for name, hooks in operations.EXTENSION_HOOKS.items():
        yield _row(name, ", ".join(f"`{hook}`" for hook in hooks))


def _incidents() -> Iterator[str]:
    for name, budget_s in incidents.BUDGETS_S.items():
        yield _row(name, incidents.RAISED[name], incidents.LATE[name], f"{budget_s:g}")


# -- of the catalogue ------------------------------------------------------------------------------


def _statuses(tree: Tree) -> Iterator[str]:
    """How many requirements are stable and how many drafts, whole and by chapter."""
    rows = chapters.rows(tree)
    by_chapter: dict[str, list[chapters.Row]] = {}
    for row in rows:
        by_chapter.setdefault(row["anchor"].partition("#")[0], []).append(row)
    yield _row(*_numbers(rows), "all", "")
    for name, those in sorted(by_chapter.items()):
        stable = ", ".join(row["id"] for row in those if _is_stable(row))
        if stable:
            yield _row(*_numbers(those), f"[{name}]({name})", stable)


def _numbers(rows: list[chapters.Row]) -> tuple[str, str]:
    stable = sum(_is_stable(row) for row in rows)
    return str(stable), str(len(rows) - stable)


def _is_stable(row: chapters.Row) -> bool:
    return bool(row.get("status") == "stable")


def _named(tree: Tree) -> set[tuple[str, str]]:
    """Each class of field reports that a requirement names, with the side of the requirement."""
    return {(source, row["side"]) for row in chapters.rows(tree) for source in row["sources"]}


def _covered(line: str, named: set[tuple[str, str]]) -> str:
    """A row of the table of classes, in which a cell says `held` if a requirement holds it."""
    name, title, about, *cells = (cell.strip() for cell in line.strip("|").split("|"))
    shown = []
    for side, cell in zip(("provider", "host"), cells, strict=True):
        held = cell.startswith("held")
        if held and (name, side) not in named:
            raise Broken(
                f"{_COVERAGE}: {name} is {cell!r}, and no requirement on a {side} names it; "
                "write `later: REASON` or `never: REASON`"
            )
        shown.append("held" if (name, side) in named and not held else cell)
    return _row(name, title, about, *shown)
