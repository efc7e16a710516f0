"""A report as one page: readable from a mail, a CI artifact or a disk, without a network."""

from pathlib import Path
from typing import Any

from memproto.report import pages, view
from memproto.report.verdict_line import verdict_line

#: Names that stand in a title of several targets before it is cut.
_MOST_NAMES = 3


def render(
    document: dict[str, Any], *, reply: str = "", home: str = "", is_own: bool = False
) -> str:
    """
    The page of a report's document, as `reading.read` or `document.build` gives it.

    Args:
        document: The report; it is not changed. Without `exit_code` none is shown.
        reply: The reply of the target's author, shown as plain text.
        home: Address of the page that links here, or "".
        is_own: The run that makes the page has made the report. Of one that is read from a file
            nobody knows who wrote it, and the page says so.

    Raises:
        MissingPackage: Jinja2 is not installed.

    """
    cleaned = view.clean(document)
    reports = cleaned["reports"]
    targets = [
        {**view.target(item, place), "line": verdict_line(item)}
        for place, item in enumerate(reports, 1)
    ]
    return pages.render(
        "report.html.j2",
        ("base.css",),
        ("report.js",),
        targets=targets,
        exit_code=cleaned.get("exit_code"),
        title=_title(targets),
        is_own=is_own,
        reply=view.clean(reply),
        home=home,
    )


def write(path: Path, document: dict[str, Any]) -> None:
    """
    Write the page of the document to `path`.

    Raises:
        OSError: The file cannot be written.

    """
    path.write_bytes(pages.encoded(render(document, is_own=True)))


def _title(targets: list[dict[str, Any]]) -> str:
    if len(targets) == 1:
        return f"{targets[0]['report']['target']}: {targets[0]['verdict']} - memproto"
    names = [item["report"]["target"] for item in targets[:_MOST_NAMES]]
    more = ", ..." if len(targets) > _MOST_NAMES else ""
    return f"{', '.join(names)}{more} - memproto" if names else "memproto"
