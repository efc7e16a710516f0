"""Reports as a run of this kit would write them, made in no time."""

import json
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.bindings import NATIVE
from memproto.report import document
from memproto.testing.evidence import Differs
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.waivers import Book


def judged(
    target: str = "mine",
    *,
    side: spec.Side = "provider",
    only: tuple[str, ...] = (),
    waivers: Book | None = None,
    release: str = "1.0",
    **changed: Any,
) -> document.Judged:
    """
    A target of which everything passed but what is named: `MP_TURN_002="fail"`, or a Result.

    `only` are areas (MP-TURN) that were run; all where there are none.
    """
    order = Order(target, side, waivers=waivers or Book(), release=release)
    named = {key.replace("_", "-"): value for key, value in changed.items()}
    ids = [item.id for item in spec.select(list(only), side)]
    results = [_result(key, named.get(key, "pass")) for key in ids]
    return document.Judged(order, Contact(binding=NATIVE), results)


def _result(key: str, value: Any) -> Result:
    return (
        value
        if isinstance(value, Result)
        else Result(key, Outcome(value), Differs(wanted="x", seen="seen"), "a.py:3")
    )


def built(*targets: document.Judged, **facts: Any) -> dict[str, Any]:
    """The document of these targets."""
    return document.build(list(targets), document.RunFacts(**facts))


def saved(path: Path, found: dict[str, Any]) -> Path:
    """The path, where the document is now."""
    document.write(path, found)
    return path


def changed(found: dict[str, Any], **values: Any) -> dict[str, Any]:
    """A copy whose first report has other values, and the fingerprint that goes with them."""
    copy: dict[str, Any] = json.loads(json.dumps(found))
    copy["reports"][0] |= values
    copy["reports"][0]["fingerprint"] = document.fingerprint(copy["reports"][0])
    return copy


def former(found: dict[str, Any], **values: Any) -> dict[str, Any]:
    """The same as `changed`, of a kit that knew no classes."""
    copy: dict[str, Any] = json.loads(json.dumps(found))
    for report in copy["reports"]:
        report.pop("class", None)
        report.pop("classes", None)
    return changed(copy, **values)


def row(found: dict[str, Any], requirement: str) -> dict[str, Any]:
    """The result of one requirement of the first target."""
    return next(item for item in found["reports"][0]["results"] if item["id"] == requirement)
