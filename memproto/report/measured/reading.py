"""The reader of measurements: every command that takes one reads it here."""

from pathlib import Path
from typing import Any

from memproto.errors import UnreadableReport
from memproto.measure import document
from memproto.report import reading, view

_AGAIN = "write it again with memproto measure TARGET --report FILE"


def is_one(path: Path) -> bool:
    """True if a file is a measurement, and no report of a run; one that is broken is none."""
    try:
        _, found = reading.parsed(path, _AGAIN)
    except UnreadableReport:
        return False
    return isinstance(found, dict) and "measure" in found


def read(path: Path) -> dict[str, Any]:
    """
    The measurement of a file, with texts that disturb nothing.

    Raises:
        UnreadableReport: It is missing, broken, foreign or newer than this kit.
        MissingPackage: jsonschema is not installed.

    """
    text, found = reading.parsed(path, _AGAIN)
    if not isinstance(found, dict) or "measure" not in found:
        fault = "is JSON, and no measurement of memproto"
        raise UnreadableReport(str(path), fault, "name a file that memproto measure wrote")
    form = found.get("format")
    if isinstance(form, int) and form > document.FORMAT:
        fault = f"has format {form}; this kit reads format {document.FORMAT}"
        raise UnreadableReport(str(path), fault, "pip install --upgrade 'memproto[kit]'")
    repair = f"a measurement is not edited by hand; {_AGAIN}"
    reading.check_schema(path, text, found, document.schema(), repair)
    if found["fingerprint"] != document.fingerprint(found):
        fault = "does not agree with its fingerprint: something was changed in it"
        raise UnreadableReport(str(path), fault, repair)
    cleaned: dict[str, Any] = view.clean(found)
    return cleaned
