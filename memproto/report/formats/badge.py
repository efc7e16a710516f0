"""A badge of a report: an SVG of its own, or the JSON that a badge service reads."""

import html
import json
from typing import Any

from memproto.errors import KitUsageError
from memproto.report import classes

_COLOURS = {
    "CONFORMANT shared": ("#2da44e", "brightgreen"),
    "CONFORMANT durable": ("#57ab5a", "green"),
    "CONFORMANT core": ("#7f9f3f", "yellowgreen"),
    "CONFORMANT": ("#2da44e", "brightgreen"),
    "NON-CONFORMANT": ("#cf222e", "red"),
    "INCOMPLETE": ("#9a6700", "yellow"),
    "KIT ERROR": ("#57606a", "lightgrey"),
}

#: The worst of several targets is that of the badge. A host has no class; nor has a provider in a
#: report that was narrowed.
_WORST_FIRST = (
    *("KIT ERROR", "NON-CONFORMANT", "INCOMPLETE"),
    *("CONFORMANT core", "CONFORMANT durable", "CONFORMANT shared", "CONFORMANT"),
)

#: Characters of the font are about so wide, in pixels; narrow ones leave some room.
_CHAR_PX, _PAD_PX = 7, 10

_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}">
  <title>{title}</title>
  <rect width="{left}" height="20" rx="3" fill="#24292f"/>
  <rect x="{left}" width="{right}" height="20" rx="3" fill="{colour}"/>
  <rect x="{seam}" width="6" height="20" fill="{colour}"/>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{left_x}" y="14" textLength="{left_px}">{label}</text>
    <text x="{right_x}" y="14" textLength="{right_px}">{verdict}</text>
  </g>
</svg>
"""


def verdict(document: dict[str, Any], target: str | None = None) -> tuple[str, str]:
    """
    The label and the verdict with the highest class that holds: of one target, or the worst.

    Raises:
        KitUsageError: The report holds no target, or not the one that was asked for.

    """
    reports = [item for item in document["reports"] if target in (None, item["target"])]
    if not reports:
        known = ", ".join(item["target"] for item in document["reports"])
        what = "the report" if target is None else f"--target {target}"
        fault = "holds no target" if target is None else "is no target of the report"
        fix = f"its targets are {known}" if known else "name the report of a run that judged some"
        raise KitUsageError(what, fault, fix)
    found = {_said(item) for item in reports}
    releases = sorted({item["spec"] for item in reports})
    worst = next(item for item in _WORST_FIRST if item in found)
    if worst == "CONFORMANT shared" and "CONFORMANT" in found:
        # The line on all says no more than the lines on each.
        worst = "CONFORMANT"
    return f"memproto {', '.join(releases)}", worst


def _said(report: dict[str, Any]) -> str:
    """`CONFORMANT durable` for the highest class that holds, or the verdict."""
    verdict = report["verdict"] or "KIT ERROR"
    highest = None if report["selected"] or report["verdict"] is None else classes.held(report)
    return f"CONFORMANT {highest}" if highest else str(verdict)


def svg(document: dict[str, Any], target: str | None = None) -> str:
    """The badge as an SVG."""
    label, said = verdict(document, target)
    left, right = (_CHAR_PX * len(words) + _PAD_PX for words in (label, said))
    shown = {
        "label": html.escape(label),
        "verdict": html.escape(said),
        "name": html.escape(f"{label}: {said}"),
        "title": html.escape(_title(document, target, f"{label}: {said}")),
        "colour": _COLOURS[said][0],
    }
    sizes = {
        "width": left + right,
        "left": left,
        "right": right,
        "seam": left - 3,
        "left_x": left / 2,
        "right_x": left + right / 2,
        "left_px": left - _PAD_PX,
        "right_px": right - _PAD_PX,
    }
    return _SVG.format(**shown, **sizes)


def _title(document: dict[str, Any], target: str | None, said: str) -> str:
    reports = [item for item in document["reports"] if target in (None, item["target"])]
    names = ", ".join(f"{item['target']} (kit {item['kit']})" for item in reports)
    return "".join(c if c.isprintable() else "?" for c in f"{said}: {names}")


def endpoint(document: dict[str, Any], target: str | None = None) -> str:
    """The badge as JSON of the endpoint form, version 1."""
    label, said = verdict(document, target)
    form = {"schemaVersion": 1, "label": label, "message": said, "color": _COLOURS[said][1]}
    return json.dumps(form, indent=2) + "\n"
