"""
The board: targets by requirements, as a static site.

Targets stand in the order of the alphabet, and nothing is summed up to a number: which rule
matters to whom, the reader decides. The same reports give the same bytes.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memproto.errors import KitUsageError
from memproto.report import classes, html, matrix, pages, reading, view
from memproto.report.measured import page as measured_page
from memproto.report.measured import reading as measured_reading
from memproto.report.verdict_line import verdict_line

#: Characters of a target's name that its page's file name holds.
_MOST_CHARS = 60


@dataclasses.dataclass(frozen=True)
class Entry:
    """
    One target of one report.

    Attributes:
        label: Unique on its side of the board: the target, or its report's file; both if that is
            there twice, and a number if both are.
        page: Its page, relative to the site.
        report: As in the file, with printable texts.
        reply: The reply of its author, or "".

    """

    label: str
    page: str
    report: dict[str, Any]
    reply: str

    @property
    def verdict(self) -> str:
        """The verdict, or that the kit failed."""
        return str(self.report["verdict"] or "KIT ERROR")

    @property
    def highest(self) -> str:
        """The highest class that holds; "none" for none, and "" for a host, which has none."""
        return classes.held(self.report) or ("none" if classes.of(self.report) else "")

    @property
    def day(self) -> str:
        """The day on which it was judged, as in 2026-11-29; "" if the report does not say."""
        return str((self.report.get("waivers") or {}).get("date", ""))

    @property
    def line(self) -> str:
        """The verdict line, as a run prints it last."""
        return verdict_line(self.report)


def write(
    paths: Iterable[Path], site: Path, *, spec_url: str = "", by_file: bool = False
) -> list[Entry]:
    """
    Write the site of these reports; gives what it shows, in its order.

    With `by_file` a target is called as its report's file is. A reply to NAME.json is taken from
    NAME.reply.md beside it. `spec_url` is where the chapters of the specification are read, or "".
    Measurements among the reports stand below the verdicts, and change nothing in them.

    Raises:
        KitUsageError: A report cannot be read, none holds a target, or an address is none.
        OSError: The site cannot be written.

    """
    named = list(dict.fromkeys(paths))
    measured = {path for path in named if measured_reading.is_one(path)}
    measurements = [measured_reading.read(path) for path in named if path in measured]
    entries = read((path for path in named if path not in measured), by_file=by_file)
    for name, page in render(entries, measurements, spec_url=_checked(spec_url)).items():
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pages.encoded(page))
    return entries


def read(paths: Iterable[Path], *, by_file: bool = False) -> list[Entry]:
    """
    The targets of the reports, in the order of the board.

    With `by_file` a target is called as its report's file is.

    Raises:
        KitUsageError: A report or reply cannot be read, or none holds a target.

    """
    found = []
    for path in dict.fromkeys(paths):
        stem, reply = view.clean(path.name.removesuffix(".json")), _reply(path)
        found += [(report, stem, reply) for report in view.clean(reading.read(path))["reports"]]
    if not found:
        fix = "name reports of runs that judged something"
        raise KitUsageError("memproto board", "no report holds a target", fix)
    # Files and targets that are alike in all of it have still one order.
    found.sort(key=_place)
    labelled = zip(_labels(found, by_file=by_file), found, strict=True)
    taken: set[str] = set()
    return [
        Entry(label, f"targets/{_slug(label, taken)}.html", report, reply)
        for label, (report, _, reply) in sorted(labelled, key=_order)
    ]


def render(
    entries: list[Entry], measurements: Iterable[dict[str, Any]] = (), *, spec_url: str = ""
) -> dict[str, str]:
    """File name to page, for the whole site."""
    measured = _measured(measurements)
    sides = [matrix.side(name, entries) for name in ("provider", "host")]
    shared = {"sides": [side for side in sides if side["chapters"]], "spec_url": spec_url}
    styles = ("base.css", "board.css")
    return {
        "index.html": pages.render(
            "board.html.j2", measured_page.STYLES, ("board.js",), measured=measured, **shared
        ),
        "rules.html": pages.render("rules.html.j2", styles, (), **shared),
        **{entry.page: _page(entry) for entry in entries},
        **{one.page: measured_page.render(one.document, home="index.html") for one in measured},
    }


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One measurement: its page, relative to the site, the document, and what is shown of it."""

    page: str
    document: dict[str, Any]
    shown: dict[str, Any]


def _measured(documents: Iterable[dict[str, Any]]) -> list[Measurement]:
    """By corpus and fingerprint, so that the order of the files is of no account."""
    found = sorted(
        documents,
        key=lambda one: (one["corpus"]["name"], one["measure"]["seed"], one["fingerprint"]),
    )
    return [
        Measurement(f"measured-{number}.html", one, measured_page.shown(one))
        for number, one in enumerate(found, 1)
    ]


def _page(entry: Entry) -> str:
    document = {"reports": [entry.report]}
    return html.render(document, reply=entry.reply, home="../index.html")


def _place(item: tuple[dict[str, Any], str, str]) -> tuple[Any, ...]:
    report, stem, _ = item
    return report["side"], report["target"], stem, report["fingerprint"]


def _order(labelled: tuple[str, tuple[dict[str, Any], str, str]]) -> tuple[Any, ...]:
    """Providers first, by the alphabet."""
    label, (report, _, _) = labelled
    return report["side"] == "host", label.casefold(), label


def _labels(found: list[tuple[dict[str, Any], str, str]], *, by_file: bool) -> list[str]:
    """
    A name of each target that is its own.

    Two files may have one name, and one file two reports on a target. The file stands first where
    a name needs both: a table cuts long names off, and two reports on one target differ by it.
    """
    plain = [(item["side"], stem if by_file else item["target"]) for item, stem, _ in found]
    both = [(item["side"], stem, item["target"]) for item, stem, _ in found]
    met: Counter[tuple[str, ...]] = Counter()
    labels = []
    for name, full in zip(plain, both, strict=True):
        met[full] += 1
        place = f", {met[full]}" if met[full] > 1 else ""
        is_own = plain.count(name) == 1
        labels.append(name[1] if is_own else f"{full[1]} ({full[2]}{place})")
    return labels


def _slug(label: str, taken: set[str]) -> str:
    """A file name of plain letters that no other page has."""
    bare = re.sub(r"[^a-z0-9]+", "-", label.lower())[:_MOST_CHARS].strip("-") or "target"
    name, count = bare, 1
    while name in taken:
        count += 1
        name = f"{bare}-{count}"
    taken.add(name)
    return name


def _reply(path: Path) -> str:
    file = path.with_name(path.name.removesuffix(".json") + ".reply.md")
    return reading.read_text(file).strip() if file.is_file() else ""


def _checked(spec_url: str) -> str:
    if spec_url and not re.match(r"https?://|\.{0,2}/", spec_url):
        fix = "give one that begins with https://, http://, / or ./"
        raise KitUsageError(f"--spec-url {spec_url}", "is no address of a page", fix)
    return spec_url.rstrip("/")
