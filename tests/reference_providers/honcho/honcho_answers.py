"""The rows of honcho_answers.toml, and how one is replayed against a server."""

import http.client
import json
import re
import time
import tomllib
import urllib.parse
import uuid
from pathlib import Path

ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["row"]

#: For texts that are long; the file names them.
LONG = {
    "{a512}": "a" * 512,
    "{a513}": "a" * 513,
    "{cuneiform2048}": "\\ud808\\udc00" * 2_048,
    "{cuneiform6665}": "\\ud808\\udc00" * 6_665,
}


def kind(row):
    return row.get("server", "plain")


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
    """The parts of a value that are not as they are wanted."""
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
