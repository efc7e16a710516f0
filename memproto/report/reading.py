"""
The reader of reports: every command that takes a report reads it here.

A report that cannot be read is refused with one message: the file and line, the fault, the remedy.
"""

import json
from pathlib import Path
from typing import Any, NoReturn

from memproto import spec
from memproto.errors import MissingPackage, UnreadableReport
from memproto.report import view
from memproto.report.formats import positions
from memproto.testing.settings import files

#: The form of the documents that this kit writes and reads.
FORMAT = 1

#: A message of the schema may repeat the value that is wrong, which may be long.
_MOST_CHARS = 160

_AGAIN = "write it again with pytest --memproto TARGET --memproto-report FILE"


def read(path: Path | str) -> dict[str, Any]:
    """
    The document of the file: `format`, `exit_code` and `reports`, as report.schema.json has them.

    Numbers, verdicts and fingerprints are not recomputed: that is what `verify` is for.

    Raises:
        UnreadableReport: The file is missing, broken, foreign, newer than this kit, or does not
            agree with the schema.
        MissingPackage: jsonschema is not installed; it comes with `memproto[kit]`.

    """
    path = Path(path)
    text, document = parsed(path, _AGAIN)
    _check_form(path, text, document)
    check_schema(path, text, document, spec.schema("report"), _repair(document))
    found: dict[str, Any] = document
    return found


def read_text(path: Path) -> str:
    """
    The text of any file that a command was given.

    Raises:
        UnreadableReport: It cannot be read, or is no UTF-8.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        fault = f"cannot be read ({error.strerror or type(error).__name__})"
        raise UnreadableReport(str(path), fault, "name a file that is there") from None
    try:
        return files.decoded(data)
    except files.BrokenFile as broken:
        raise UnreadableReport(f"{path}:{broken.line}", broken.fault, broken.fix) from None


def parsed(path: Path, again: str) -> tuple[str, Any]:
    """
    The text of a file of the kit's, and its JSON; `again` is the remedy for one that is broken.

    Raises:
        UnreadableReport: It is missing, empty or no JSON.

    """
    text = read_text(path)
    if not text.strip():
        fault = "is empty: the run that was to write it did not come to its end"
        raise UnreadableReport(str(path), fault, again)
    try:
        return text, json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}"
        fault = f"is no JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        raise UnreadableReport(where, fault, _broken(text, error, again)) from None
    except (ValueError, RecursionError) as error:
        fault = f"is no JSON that can be read: {str(error)[:_MOST_CHARS]}"
        raise UnreadableReport(str(path), fault, again) from None


def _broken(text: str, error: json.JSONDecodeError, again: str) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"the file ends too early; {again}"
    return f"a report is not edited by hand; {again}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _check_form(path: Path, text: str, document: Any) -> None:
    """Tell what is no report at all, or one of another kit, from one that is only broken."""
    if not isinstance(document, dict) or not {"format", "reports"} <= set(document):
        if isinstance(document, dict) and {"format", "measure"} <= set(document):
            fault = "is a measurement, and no report of a run"
            fix = "memproto html shows one, and memproto measure --compare two beside each other"
            raise UnreadableReport(str(path), fault, fix)
        fault = "is JSON, and no report of memproto"
        raise UnreadableReport(str(path), fault, "name a file that --memproto-report wrote")
    form = document["format"]
    if isinstance(form, int) and form > FORMAT:
        where = f"{path}:{positions.line_of(text, ('format',))}"
        fault = f"has format {form}; this kit reads format {FORMAT}"
        raise UnreadableReport(where, fault, "pip install --upgrade 'memproto[kit]'")


def check_schema(path: Path, text: str, document: Any, schema: dict[str, Any], repair: str) -> None:
    """
    See that a document agrees with its schema.

    Raises:
        UnreadableReport: It does not; the message names the line.
        MissingPackage: jsonschema is not installed.

    """
    try:
        from jsonschema import Draft202012Validator
    except ModuleNotFoundError:
        fault = "reading a report needs jsonschema"
        raise MissingPackage(str(path), fault, "pip install 'memproto[kit]'") from None

    error = next(Draft202012Validator(schema).iter_errors(document), None)
    if error is None:
        return
    at = list(error.absolute_path)
    where = f"{path}:{positions.line_of(text, at)}"
    fault = view.one_line(f"{error.json_path} {_short(error.message)}")
    raise UnreadableReport(where, fault, repair)


def _repair(document: dict[str, Any]) -> str:
    """Remedy for a report that the schema refuses: it may come from a later release."""
    from memproto import __version__

    reports = document["reports"] if isinstance(document["reports"], list) else []
    kits = {str(item["kit"]) for item in reports if isinstance(item, dict) and "kit" in item}
    others = sorted(kits - {__version__})
    if not others:
        return f"a report is not edited by hand; {_AGAIN}"
    shown = view.one_line(", ".join(others))
    return f"it was written by kit {shown}, and this is {__version__}: use that one"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + "..."
