"""
The numbers of a server of the wire: python benchmarks/wire.py [--turns N] [--starts N] COMMAND...

Each row is a figure with its bound; the exit code is 1 if one is missed. The server needs to store
turns verbatim in files below its home. Times are compared in the same run with a bare echo, and
with the least exchange of JSON between two Python processes.
"""

import argparse
import json
import logging
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from memproto.errors import ProviderError
from memproto.wire import WireProvider

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    # Behind the installed package: `memproto` is not to come from the checkout.
    sys.path.append(str(ROOT))

from tests.wire import fuzzing  # noqa: E402 - needs the path above

#: A program that gives back what it reads, and nothing else.
_ECHO = "import os\nwhile part := os.read(0, 1 << 18): os.write(1, part)\n"

#: A program that decodes each line and answers None by its id, and nothing else.
_LEAST = """
import json, os
rest = b""
while part := os.read(0, 1 << 18):
    *lines, rest = (rest + part).split(b"\\n")
    for line in lines:
        answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": None}
        os.write(1, json.dumps(answer).encode() + b"\\n")
"""

_SIZES = (100, 10_000, 100_000)

_GREETING = {"wire": [1], "spec_version": "1.0", "host": {"name": "benchmark", "version": "1"}}


class Rows:
    """The figures, printed as they come."""

    def __init__(self) -> None:
        self.missed = 0

    def add(self, what: str, figure: str, bound: str = "", *, holds: bool | None = None) -> None:
        """Print a row; None for a figure that is held against no bound."""
        self.missed += holds is False
        verdict = {True: "holds", False: "MISSED", None: ""}[holds]
        print(f"| {what} | {figure} | {bound} | {verdict} |", flush=True)


def opened(command: list[str], home: Path, key: str = "s1") -> WireProvider:
    """A session over the wire."""
    provider = WireProvider(command)
    provider.initialize(key, {"home": str(home), "limits": {}, "protocol": {}})
    return provider


def per_call_us(call: Callable[[], Any], rounds: int) -> float:
    """The median of microseconds for a call."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - began) / 1000)
    return statistics.median(times)


def bare_program(source: str) -> subprocess.Popen[bytes]:
    """A Python process with unbuffered pipes."""
    words = [sys.executable, "-c", source]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def exchanged(program: subprocess.Popen[bytes], line: bytes, size: int = 0) -> bytes:
    """The answer of a bare program to a line: `size` bytes, or one line."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(line)
    found = program.stdout.read(1 << 18)
    while len(found) < size or not found.endswith(b"\n"):
        found += program.stdout.read(1 << 18)
    return found


def round_trips(rows: Rows, command: list[str], home: Path) -> None:
    """A recall beside a bare echo of as many bytes and the least exchange of JSON, in turns."""
    provider = opened(command, home)
    with bare_program(_ECHO) as echo, bare_program(_LEAST) as least:
        for size in _SIZES:
            text = "Where is it? " * (size // 13)
            params = {"user_message": text, "messages": [], "deadline_ms": 5000}
            request = {"jsonrpc": "2.0", "id": 7, "method": "recall", "params": params}
            line = json.dumps(request).encode() + b"\n"

            def bare(line: bytes = line) -> None:
                exchanged(echo, line, len(line))

            def by_json(request: dict[str, Any] = request) -> None:
                json.loads(exchanged(least, json.dumps(request).encode() + b"\n"))

            def over_the_wire(text: str = text) -> None:
                provider.enrich_turn(text, [])

            calls = (bare, by_json, over_the_wire)
            rounds = [[per_call_us(call, 50) for call in calls] for _ in range(8)]
            plain, floor, wire = (statistics.median(times) for times in zip(*rounds, strict=True))
            ratio = statistics.median(times[2] / times[0] for times in rounds)
            figure = f"{wire:.0f} µs, echo {plain:.0f} µs: {ratio:.2f}"
            rows.add(f"round trip, {size:,} bytes", figure, "1.30 of an echo", holds=ratio <= 1.3)
            ratio = statistics.median(times[2] / times[1] for times in rounds)
            lost = statistics.median(times[1] / times[0] for times in rounds)
            figure = f"{floor:.0f} µs, {lost:.2f} of an echo; the wire {ratio:.2f} of it"
            rows.add(f"the least exchange of JSON, {size:,} bytes", figure)
        for program in (echo, least):
            assert program.stdin is not None
            program.stdin.close()
    provider.shutdown()


def start(rows: Rows, command: list[str]) -> None:
    """The time from the start of the process to its greeting."""

    def once() -> None:
        provider = WireProvider(command)
        began = time.perf_counter()
        provider.start()
        times.append((time.perf_counter() - began) * 1000)
        provider.shutdown()

    times: list[float] = []
    for _ in range(11):
        once()
    median = statistics.median(times)
    rows.add("start to greeting", f"{median:.0f} ms", "150 ms", holds=median < 150)


def killed(rows: Rows, command: list[str], home: Path, turns: int) -> None:
    """Turns of which the server is killed at random: stored once, or reported."""
    chance = random.Random(5)
    accepted, unknown = [], []
    kills = number = 0
    while number < turns:
        provider = opened(command, home, f"s{kills}")
        assert provider._connection is not None  # noqa: SLF001 - the process is needed
        pid = provider._connection.program.pid  # noqa: SLF001
        until = number + chance.randrange(1, max(2, turns // 50))
        is_alive = True
        while is_alive and number < turns:
            number += 1
            text = f"turn-{number:06d}-of-the-run"
            if number >= until:
                victim = subprocess.Popen(
                    ["/bin/sh", "-c", f"sleep {chance.random() / 500:.5f}; kill -9 {pid}"]
                )
            try:
                provider.on_turn_complete(text, "Noted.")
                accepted.append(text)
            except ProviderError:
                unknown.append(text)
                is_alive = False
            if number >= until:
                victim.wait()
                is_alive = False
                kills += 1
        provider.shutdown()
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    if not any(text.encode() in stored for text in accepted):
        figure = "not measured: no turn stands verbatim in a file below its home"
        rows.add(f"{turns:,} turns with kills", figure)
        return
    lost = [text for text in accepted if stored.count(text.encode()) != 1]
    twice = [text for text in unknown if stored.count(text.encode()) > 1]
    figure = f"{len(accepted):,} accepted, {len(unknown)} reported, {kills} kills, {len(lost)} lost"
    holds = not lost and not twice
    rows.add(f"{turns:,} turns with kills", figure, "stored once, or reported", holds=holds)


def starts(rows: Rows, command: list[str], count: int) -> None:
    """Sessions one after another: no process and no descriptor is left."""
    before = (len(psutil.Process().children(recursive=True)), psutil.Process().num_fds())
    with tempfile.TemporaryDirectory() as home:
        for number in range(count):
            opened(command, Path(home), f"s{number}").shutdown()
    after = (len(psutil.Process().children(recursive=True)), psutil.Process().num_fds())
    figure = f"{after[0] - before[0]} processes, {after[1] - before[1]} descriptors"
    rows.add(f"{count:,} starts and ends", figure, "none left", holds=after == before)


def growth(rows: Rows, command: list[str], home: Path) -> None:
    """100 MB through one connection."""
    provider = opened(command, home)
    assert provider._connection is not None  # noqa: SLF001 - the process is needed
    server, mine = psutil.Process(provider._connection.program.pid), psutil.Process()  # noqa: SLF001
    text = "x" * 1_000_000
    sizes = []
    for number in range(100):
        provider.enrich_turn(text, [])
        if number in (19, 99):
            sizes.append((server.memory_info().rss / 1e6, mine.memory_info().rss / 1e6))
    provider.shutdown()
    (server_mb, mine_mb), (server_end_mb, mine_end_mb) = sizes
    figure = (
        f"server {server_mb:.0f} to {server_end_mb:.0f} MB, host {mine_mb:.0f} to "
        f"{mine_end_mb:.0f} MB from the 20th to the 100th"
    )
    holds = server_end_mb - server_mb < 40 and mine_end_mb - mine_mb < 40
    rows.add("100 MB through one connection", figure, "no growth over 40 MB", holds=holds)


def fuzzed(rows: Rows, command: list[str], count: int = 10_000) -> None:
    """Lines of a grammar with faults, and random bytes; then a ping."""
    last = fuzzing.LAST
    lines = fuzzing.lines(23, count)
    lines.append(json.dumps({"jsonrpc": "2.0", "id": last, "method": "ping"}).encode())
    done = subprocess.run(
        command, input=b"\n".join(lines) + b"\n", capture_output=True, timeout=300, check=False
    )
    ids = [json.loads(line)["id"] for line in done.stdout.split(b"\n") if line]
    holds = done.returncode == 0 and last in ids
    figure = f"exit status {done.returncode}, {len(ids):,} answers"
    rows.add(f"{count:,} fuzzed lines to the server", figure, "lives", holds=holds)


def fuzzed_host(rows: Rows, count: int = 10_000) -> None:
    """A server that greets, then writes fuzzed lines, and answers one recall behind them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines")
        path.write_bytes(b"\n".join(fuzzing.lines(24, count)) + b"\n")
        provider = WireProvider([sys.executable, "-c", _BABBLER, str(path)])
        found = provider.enrich_turn("Where?", [])
        is_alive = provider.ping()
        provider.shutdown()
    figure = f"recall gives {found!r}, ping {is_alive}"
    rows.add(f"{count:,} fuzzed lines to the host", figure, "lives", holds=is_alive)


#: Answers the second request behind all the lines of a file; ids of the lines are beyond its own.
_BABBLER = """
import json, sys
out = sys.stdout.buffer
for number, line in enumerate(sys.stdin.buffer):
    asked = json.loads(line)
    if asked["method"] == "recall":
        out.write(open(sys.argv[1], "rb").read())
    result = {"wire": 1, "name": "babbler", "methods": []} if number == 0 else None
    if asked["method"] == "recall":
        result = "found"
    if "id" in asked:
        out.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())
        out.write(b"\\n")
    out.flush()
"""


def main() -> int:
    """Measure; the exit code is 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--starts", type=int, default=1_000)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    if not asked.command:
        parser.error("name the command of a server")
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # Servers are killed and lines are broken on purpose.
    logging.getLogger("memproto.wire").setLevel(logging.CRITICAL)
    rows = Rows()
    print(f"`{' '.join(asked.command)}`, Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| what | figure | bound | |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        start(rows, asked.command)
        round_trips(rows, asked.command, home / "trips")
        growth(rows, asked.command, home / "growth")
        fuzzed(rows, asked.command)
        fuzzed_host(rows)
        starts(rows, asked.command, asked.starts)
        killed(rows, asked.command, home / "killed", asked.turns)
    return int(rows.missed > 0)


if __name__ == "__main__":
    sys.exit(main())
