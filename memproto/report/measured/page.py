"""A measurement as a page, in one file that asks the network for nothing."""

from typing import Any

from memproto.report import pages, view
from memproto.report.measured import plots, tables

STYLES = ("base.css", "board.css", "measure.css")


def render(document: dict[str, Any], *, home: str = "", is_own: bool = False) -> str:
    """
    The page of a measurement, as `document.build` or `reading.read` give it.

    Args:
        document: The measurement; it is not changed.
        home: Address of the page that links here, or "".
        is_own: The run that makes the page has made the measurement.

    Raises:
        MissingPackage: Jinja2 is not installed.

    """
    return pages.render("measure.html.j2", STYLES, (), m=shown(document), home=home, is_own=is_own)


def shown(document: dict[str, Any]) -> dict[str, Any]:
    """The values of a measurement that the page and the board show."""
    cleaned = view.clean(document)
    measure, corpus = cleaned["measure"], cleaned["corpus"]
    conditions = {
        "kit": measure["kit"],
        "seed": measure["seed"],
        "repeats": measure["repeats"],
        "corpus": corpus["name"],
        "corpus sha256": corpus["sha256"],
        "people": corpus["people"],
        "turns": f"{corpus['turns']:,}",
        "questions": ", ".join(f"{count} {kind}" for kind, count in corpus["questions"].items()),
        **measure["environment"],
        "fingerprint": cleaned["fingerprint"],
    }
    return {
        "tables": tables.of(cleaned),
        "remarks": tables.remarks(cleaned),
        "bars": plots.bars(cleaned),
        "budget": f"{measure['budgets_chars'][-1]:,}",
        "panels": plots.panels(cleaned),
        "legend": plots.legend(cleaned),
        "line": tables.facts(cleaned),
        "frame": {key: getattr(plots, key) for key in _FRAME},
        "facts": [(view.word(key), str(value)) for key, value in conditions.items()],
        "targets": [row["target"] for row in cleaned["rows"] if not row["is_baseline"]],
    }


_FRAME = ("WIDTH", "HEIGHT", "LEFT", "RIGHT", "TOP", "BOTTOM")
