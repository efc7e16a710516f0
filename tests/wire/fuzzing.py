"""Lines for a server of the wire that fit no rule: bytes of any value, and messages with faults."""

import json
import random
import subprocess
from collections.abc import Sequence
from typing import Any

#: The id of the request behind the lines; the greatest that a message may have.
LAST = 2**53 - 1

_WHOLE = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "recall", "params": {"a": [1, "b"]}})
_METHODS = ("recall", "open", "record", "close!", "initialize", "ping", "$/cancel", "")
_VALUES = (None, 0, -1, 1e300, "x", [], {}, [[[]]], "\ud83d", 2**70, -(2**53), True)


def lines(seed: int, count: int) -> list[bytes]:
    """So many lines without a line feed, the same for a seed."""
    chance = random.Random(seed)
    makers = (_of_bytes, _mutated, _of_a_grammar, _of_a_grammar)
    return [chance.choice(makers)(chance).replace(b"\n", b"") for _ in range(count)]


def _of_bytes(chance: random.Random) -> bytes:
    return chance.randbytes(chance.randrange(80))


def _mutated(chance: random.Random) -> bytes:
    """A request with bytes changed, left out, doubled or put in."""
    data = bytearray(_WHOLE.encode())
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(3)] = chance.choice(
            (b"", b'"', b"{", b"\xff", b"null", b"9")
        )
    return bytes(data)


def _of_a_grammar(chance: random.Random) -> bytes:
    """A message whose parts are of any kind, or missing."""
    message = {
        "jsonrpc": chance.choice(("2.0", "1.0", 2)),
        "id": chance.choice((chance.randrange(10**6, 10**7), *_VALUES)),
        "method": chance.choice((*_METHODS, *_VALUES)),
        "params": chance.choice(({"user_message": chance.choice(_VALUES)}, *_VALUES)),
    }
    for key in chance.sample(sorted(message), chance.randrange(3)):
        del message[key]
    return json.dumps(message).encode()


def assert_outlived(command: Sequence[str], given: list[bytes], **options: Any) -> None:
    """
    See that a server answers a request behind these lines and ends well.

    `options` are those of `subprocess.run`.
    """
    last = json.dumps({"jsonrpc": "2.0", "id": LAST, "method": "ping", "params": {}}).encode()
    done = subprocess.run(
        command,
        input=b"\n".join([*given, last]) + b"\n",
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    assert [answer["result"] for answer in answers if answer["id"] == LAST] == [None]
    assert all(("result" in answer) != ("error" in answer) for answer in answers)
