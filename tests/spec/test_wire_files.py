"""The files of the wire say the same: chapter, schema, errors, transcripts and the code."""

import json
import re
import tomllib

import jsonschema
import pytest

from memproto import spec
from memproto.wire import codes
from memproto.wire.methods import METHODS
from tests.spec.spec_files import SCHEMAS, SPEC
from tests.wire.transcripts import TRANSCRIPTS, lines_of

CHAPTER = (SPEC / "85-wire.md").read_text("utf-8")
ERRORS = tomllib.loads((SPEC / "wire-errors.toml").read_text("utf-8"))["error"]
SCHEMA = SCHEMAS["wire-message"]
REQUEST = SCHEMA["$defs"]["request"]

#: Requests of transcripts that are no messages on purpose.
UNKNOWN = {"frobnicate"}


def test_the_errors_of_the_file_are_those_of_the_code_and_of_the_schema():
    found = {row["name"]: row["code"] for row in ERRORS}
    assert found == codes.CODES
    allowed = SCHEMA["$defs"]["error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert sorted(allowed) == sorted(found.values())


def test_the_chapter_shows_each_error():
    shown = re.findall(r"^\| (-\d+) \| (\w+) \|", CHAPTER, re.MULTILINE)
    assert {name: int(code) for code, name in shown} == codes.CODES


def test_the_reports_are_the_errors_that_a_provider_raises():
    reports = [row["code"] for row in ERRORS if row.get("report")]
    assert [code for code in codes.NAMES if codes.to_report({"code": code, "message": ""})] == (
        reports
    )


def test_the_methods_are_in_the_chapter_and_in_the_schema_with_their_arguments():
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", CHAPTER, re.MULTILINE)
    shown = {name: re.findall(r"`(\w+)`", cell) for name, cell in rows if name in METHODS}
    params = {
        row["if"]["properties"]["method"]["const"]: row["then"]["properties"]["params"]
        for row in REQUEST["allOf"]
    }
    assert set(REQUEST["properties"]["method"]["enum"]) == {*METHODS, "initialize", "ping"}
    for name, method in METHODS.items():
        extra = ["extra"] if method.takes_more else []
        assert shown[name] == [*method.given, *method.keywords, *extra]
        assert {*params[name]["properties"]} == {*shown[name], "deadline_ms"}
        assert params[name]["required"] == [
            one for one in method.given if one not in method.defaults
        ]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_sends_messages_and_expects_messages(path):
    sent = jsonschema.Draft202012Validator(SCHEMA)
    ids: set[int] = set()
    for line in lines_of(path):
        if "start" in line:
            ids = set()
        message = line.get("send")
        if message is None or message.get("method") in UNKNOWN:
            continue
        if "id" in message:
            assert message["id"] not in ids
            ids.add(message["id"])
            sent.validate(message)


def test_the_session_of_the_chapter_is_made_of_messages():
    lines = [line[2:] for line in re.findall(r"^[→←] \{.*\}$", CHAPTER, re.MULTILINE)]
    assert len(lines) > 15
    for line in lines:
        jsonschema.validate(json.loads(line), spec.schema("wire-message"))
