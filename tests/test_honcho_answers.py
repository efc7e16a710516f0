"""
The stand-in answers as a real Honcho server does, row by row of a table; and so does a real one.

MEMPROTO_HONCHO_URL names a real server with embeddings and without a language model, such as the
table calls `plain`; MEMPROTO_HONCHO_URL_KEYLESS, _WORDWISE and _UNREACHED name the other kinds.
"""

import http.client
import json
import os
import re
import time
import tomllib
import urllib.parse
import uuid
from pathlib import Path

import pytest

from memproto.reference_providers.honcho.standin import serving

ROWS = tomllib.loads(Path(__file__).with_name("honcho_answers.toml").read_text("utf-8"))["row"]

#: What the stand-in is where a real server is of that kind, of which none concludes by itself.
KINDS = {
    "plain": {},
    "keyless": {"has_embeddings": False, "embeds_messages": True},
    "wordwise": {"has_embeddings": False},
    "unreached": {"reaches_embeddings": False},
}

#: The stand-in takes so much of the time that the real server does.
PATIENCE = 0.05

#: For texts that are long; the file names them.
LONG = {
    "{a512}": "a" * 512,
    "{a513}": "a" * 513,
    "{cuneiform2048}": "\\ud808\\udc00" * 2_048,
    "{cuneiform6665}": "\\ud808\\udc00" * 6_665,
}


def kind(row):
    return row.get("server", "plain")


def real(name):
    """The address of a real server of a kind; "" if none is named."""
    return os.environ.get(
        "MEMPROTO_HONCHO_URL" + ("" if name == "plain" else f"_{name.upper()}"), ""
    )


def ask(url, send, body=None):
    """Send a request; gives status, value and seconds."""
    method, path = send.split(" ", 1)
    data = body
    for name, text in LONG.items():
        data = data and data.replace(name, text)
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    began = time.monotonic()
    try:
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return answer.status, json.loads(text) if text else None, time.monotonic() - began


def differences(value, wanted, place="answer"):
    """What of a value is not as it is wanted."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        absent = [f"{place} lacks {key!r}" for key in wanted if key not in value]
        there = ((key, part) for key, part in wanted.items() if key in value)
        return absent + [
            fault
            for key, part in there
            for fault in differences(value[key], part, f"{place}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(value, list) and len(wanted) == len(value):
        pairs = enumerate(zip(value, wanted, strict=True))
        return [f for at, pair in pairs for f in differences(*pair, f"{place}[{at}]")]
    if isinstance(wanted, str) and wanted.startswith("re:") and isinstance(value, str):
        is_so = re.match(wanted[3:], value, re.DOTALL)
    else:
        is_so = value == wanted
    return [] if is_so else [f"{place} is {str(value)[:200]!r}, and not {wanted!r}"]


def replay(url, row, patience):
    """Walk a row; gives what of its answers is otherwise."""
    workspace, found = f"row-{uuid.uuid4().hex[:16]}", []
    ask(url, "POST /v3/workspaces", json.dumps({"id": workspace}))
    base = f"/v3/workspaces/{workspace}"
    for peer in ("ada", "hermes"):
        ask(url, f"POST {base}/peers", json.dumps({"id": peer}))
    ask(url, f"POST {base}/sessions", json.dumps({"id": "s"}))
    for step in row["step"]:
        send, until = step["send"].replace("~", base), time.monotonic() + step.get("within_s", 0.0)
        while True:
            status, value, took_s = ask(url, send, step.get("body"))
            faults = [] if status == step["status"] else [f"{status}, and not {step['status']}"]
            if not faults and "answer" in step:
                faults = differences(value, json.loads(step["answer"]))
            if not faults or time.monotonic() >= until:
                break
        if took_s < step.get("least_s", 0.0) * patience:
            faults.append(f"answered after {took_s:.2f} s")
        if took_s > step.get("most_s", 60.0):
            faults.append(f"answered after {took_s:.2f} s")
        found += [f"{step['send']}: {fault}" for fault in faults]
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_stand_in_answers_as_the_table_has_it(row):
    with serving(has_model=False, derives=False, patience=PATIENCE, **KINDS[kind(row)]) as server:
        assert replay(server.url, row, PATIENCE) == []


REAL = [row for row in ROWS if real(kind(row))]


@pytest.mark.skipif(not REAL, reason="MEMPROTO_HONCHO_URL names no real server")
@pytest.mark.parametrize("row", REAL, ids=lambda row: row["name"])
def test_a_real_server_answers_as_the_table_has_it(row):
    assert replay(real(kind(row)), row, 1.0) == []


def test_an_answer_that_is_otherwise_is_told():
    wanted = {"items": [{"content": "re:^te"}], "total": 1}
    assert differences({"items": [{"content": "tea", "id": "x"}], "total": 1}, wanted) == []
    found = differences({"items": [{"content": "boat"}, {}]}, wanted)
    assert found[0] == "answer lacks 'total'"
    assert found[1].startswith("answer.items is")
    assert differences({"content": "boat"}, {"content": "re:^te"})


def test_every_kind_of_server_has_a_row():
    assert {kind(row) for row in ROWS} == set(KINDS)
