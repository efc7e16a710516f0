"""
The stand-in is asked what a real server was asked, where the recorded exchanges are there.

The file is not part of the project: HONCHO_EXCHANGES names it.
"""

import json
import os
import re
from pathlib import Path

import pytest

from memproto.reference_providers.honcho.standin import serving
from tests.reference_providers.honcho.honcho_shapes import faults, lines
from tests.reference_providers.honcho.honcho_steps import Step, send

FILE = os.environ.get("HONCHO_EXCHANGES", "")

if not FILE:
    pytest.skip("HONCHO_EXCHANGES names no file of exchanges", allow_module_level=True)

#: Labels of what the stand-in leaves out, each with its reason.
LEFT_OUT = {
    "scope": "scopes are newer than the older client",
    "clone": "no memory copies a session",
    "schedule_dream": "the real server refused it for want of a setting",
    "response_format": "there is no model that could fail at it",
    "(newer api)": "the real server did not have it either",
    "auth:": "the keys were not recorded; the steps try keys",
}

#: Rows in which what the model did, or had not done yet, decides what is null.
BY_CHANCE = {
    234: "the summary was not made yet",
    235: "the summary was not made yet",
    248: "the model answered about somebody of whom nothing was known",
    480: "the summary was of five tokens, so that it fitted",
}

_CUT = re.compile("…\\[truncated, (\\d+) (items|chars)]$")


def recorded():
    rows = [json.loads(line) for line in Path(FILE).read_text("utf-8").splitlines()]
    return [row for row in rows if not any(part in row["label"] for part in LEFT_OUT)]


def whole(value):
    """A recorded body as it was before it was cut for the record."""
    if isinstance(value, dict):
        return {key: whole(part) for key, part in value.items()}
    cut = _CUT.search(str(value[-1:] and value[-1])) if isinstance(value, list) else None
    if cut:
        return [*value[:-1], *[value[0]] * (int(cut[1]) - len(value) + 1)]
    if isinstance(value, list):
        return [whole(part) for part in value]
    cut = _CUT.search(value) if isinstance(value, str) else None
    if cut:
        kept = value[: cut.start()]
        return (kept * (int(cut[1]) // len(kept) + 1))[: int(cut[1])]
    return value


def step(row, ids):
    """The request of a row, with the ids that the stand-in gave in place of the recorded ones."""
    path = row["path"] + (f"?{row['query']}" if row["query"] else "")
    for old, new in ids.items():
        path = path.replace(old, new)
    body = whole(row["request"])
    if isinstance(body, str):
        edge = row["request_headers"]["content-type"].partition("boundary=")[2]
        body = body.replace(edge, "edge").encode()
    return Step(row["method"], path, body, row["status"])


def note_ids(row, given, ids):
    """Keep which id stands for which, of what was made."""
    for old, new in zip(row["response"], given, strict=False):
        if isinstance(old, dict) and "id" in old:
            ids[old["id"]] = new["id"]


@pytest.fixture(scope="module")
def replayed():
    """Number of each row to status and value of the stand-in's answer."""
    answers, ids = {}, {}
    with serving(derives=False) as server, serving(has_model=False) as bare:
        for peer in ("alice", "hermes"):
            # The record begins after the workspace without a model was filled.
            made = Step("POST", "/v3/workspaces/conf-nollm/peers", {"id": peer})
            send(bare.url, made, {})
        for row in recorded():
            if row["label"].startswith("deriver") and "add" not in row["label"]:
                server.derive()
            target = bare if row["label"].startswith("nollm") else server
            status, _, text = send(target.url, step(row, ids), {})
            value = json.loads(text) if isinstance(row["response"], dict | list) else None
            if row["status"] == 201 and isinstance(row["response"], list):
                note_ids(row, value, ids)
            answers[row["n"]] = status, value
    return answers


@pytest.mark.parametrize("row", recorded(), ids=lambda row: f"{row['n']}-{row['label']}")
def test_the_stand_in_answers_a_recorded_request_with_that_status_and_shape(replayed, row):
    status, value = replayed[row["n"]]
    assert status == row["status"], value
    if value is not None and row["n"] not in BY_CHANCE:
        assert faults(value, lines([row["response"]])) == []
