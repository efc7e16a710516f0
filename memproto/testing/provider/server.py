"""
A server of the wire under the kit's hand, byte by byte: for what no host would send or leave out.

The process is one of the check's own, beside those of its sessions.
"""

import contextlib
import itertools
import json
import os
import queue
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from memproto.adapters.homes import own_folder
from memproto.testing import noise
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.evidence import Differs
from memproto.testing.messages import Waits
from memproto.testing.needs import depends_on
from memproto.testing.patience import Deadline
from memproto.testing.provider.run import Run
from memproto.testing.wire import shorten
from memproto.types import SPEC_VERSION
from memproto.wire.codec import Malformed, decode

#: Seconds that an answer may take which no rule bounds.
_ANSWER_S = 10.0

#: So many times as long a server is waited for that gets no processor.
_MOST_TIMES = 6

#: Seconds between two notes to the parent that the check waits.
_TOLD_S = 1.0

#: Seconds for the last words of a server that has ended, which stand in its pipe.
_DRAIN_S = 2.0

#: Seconds that a process may take to its end behind that of its streams.
_ENDING_S = 0.5

#: Seconds between two looks whether it has ended.
_LOOK_S = 0.02

#: Seconds that a greeting may take, however short the other times are.
_GREETING_S = 20.0


class Silent(Exception):
    """The message that was waited for did not come; the text says what there was instead."""


class RawServer:
    """
    A process of the server, with what it wrote.

    Attributes:
        stray: The lines that were no messages.

    """

    def __init__(self, run: Run, *, reads: bool = True, errors: bool = True) -> None:
        """Start it; without `reads` nobody reads its output, without `errors` none its errors."""
        self._run = run
        provider = run.build()
        self.stray: list[bytes] = []
        self._busy_s, self._told = 0.0, 0.0
        self._numbers = itertools.count(1)
        self._heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._kept: list[dict[str, Any]] = []
        read, write = os.pipe()
        if not errors:
            os.close(read)
        try:
            self.process = subprocess.Popen(
                provider.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if errors else write,
                cwd=provider.directory,
                env=provider.environment,
                start_new_session=True,
                bufsize=0,
            )
        finally:
            os.close(write)
            if errors:
                os.close(read)
        assert self.process.stdin is not None
        self._input = self.process.stdin.fileno()
        os.set_blocking(self._input, False)
        self._poll = select.poll()
        self._poll.register(self._input, select.POLLOUT)
        self._is_read = False
        if reads:
            self.listen()

    def listen(self) -> None:
        """Read what it writes from now on."""
        if self._is_read:
            return
        self._is_read = True
        output = self.process.stdout
        assert output is not None
        descriptor = output.fileno()

        def go_on() -> None:
            rest = b""
            # Only the thread that reads closes the pipe. If another one did, this one could read
            # from the pipe of the next server, which gets the same number, and steal its answer.
            with output, contextlib.suppress(OSError):
                while part := os.read(descriptor, 1 << 18):
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        self._heard.put(line + b"\n")
            self._heard.put(b"")

        threading.Thread(target=go_on, name="kit-reader", daemon=True).start()

    # -- sending -----------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Write bytes; raises `Silent` if the server has closed its input."""
        wait = self._wait(_ANSWER_S)
        rest = memoryview(data)
        try:
            while rest:
                if not self._poll.poll(wait.left_s() * 1000):
                    if wait.left_s() > 0:
                        continue
                    raise Silent("it does not read what it is sent")
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._input, rest) :]
        except OSError as error:
            fault = f"the process runs, and has closed its standard input ({error.strerror})"
            raise Silent(self._ending() or fault) from None

    def request(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        return number

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())
        self.send(b"\n")

    # -- hearing -----------------------------------------------------------------------------------

    def answer(
        self,
        number: int | None,
        within_s: float = _ANSWER_S,
        *,
        is_scaled: bool = True,
        or_none: bool = False,
    ) -> dict[str, Any]:
        """
        The answer with an id, or the next error without one for None; either with `or_none`.

        A server that stands ready and gets no processor is waited for so much longer.

        Raises:
            Silent: It did not come.

        """
        wanted = (number, None) if or_none else (number,)
        wait = self._wait(within_s, is_scaled=is_scaled)
        seen = 0
        while True:
            for message in self._kept[seen:]:
                if any(_is_for(message, one) for one in wanted):
                    self._kept.remove(message)
                    return message
            seen = len(self._kept)
            try:
                line = self._heard.get(timeout=min(wait.left_s(), _TOLD_S))
            except queue.Empty:
                if wait.left_s() > 0:
                    self._waits()
                    continue
                raise Silent(f"no answer within {within_s:g} s") from None
            if not line:
                self._heard.put(b"")
                raise Silent(
                    self._ending() or "the process runs, and has closed its standard output"
                )
            self._keep(line)

    def _wait(self, within_s: float, *, is_scaled: bool = True) -> "_Wait":
        scale = self._run.context.scale if is_scaled else 1.0
        return _Wait(self.process.pid, within_s * scale, self._run.context.slowdown)

    def _waits(self) -> None:
        """Tell the parent that the check is not stuck, at most once a second."""
        if time.monotonic() - self._told >= _TOLD_S:
            self._told = time.monotonic()
            self._run.watch.wire.send(Waits())

    def _keep(self, line: bytes) -> None:
        try:
            message = decode(line)
        except Malformed:
            if line.strip():
                self.stray.append(line)
            return
        if "method" not in message:
            self._kept.append(message)

    def rest(self, *, to_the_end: bool = False) -> list[dict[str, Any]]:
        """
        The answers that nobody asked for so far.

        With `to_the_end` all that a server has written which has ended. A program that it left
        behind may hold its output open; so the wait for the end of that is bounded.
        """
        is_over = to_the_end and self.process.poll() is not None
        ends = time.monotonic() + _DRAIN_S * self._run.context.slowdown
        with contextlib.suppress(queue.Empty):
            while line := self._heard.get(timeout=max(0.0, ends - time.monotonic()) * is_over):
                self._keep(line)
        return list(self._kept)

    def _ending(self) -> str:
        """Words for how the process ended; "" if it runs on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"the process has ended with exit status {self.process.wait(_ENDING_S)}"
        return ""

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request."""
        return self.answer(self.request(method, **params))

    # -- a life ------------------------------------------------------------------------------------

    def greet(self) -> dict[str, Any]:
        """Greet it; gives the answer."""
        number = self.request(
            "initialize",
            wire=[1],
            spec_version=SPEC_VERSION,
            host={"name": "memproto-kit", "version": SPEC_VERSION},
            max_line=16 * 1024 * 1024,
        )
        return self.answer(number, _GREETING_S, is_scaled=False)

    def open(self, home: Path | None = None) -> None:
        """Greet it and open a session that is declared."""
        greeting = self.greet()
        if "error" in greeting:
            raise Silent(f"initialize answers {shorten(json.dumps(greeting['error']))}")
        place = home or self._run.home
        own_folder(place)
        config = self._run.config(place)
        for method, params in (
            ("available", {}),
            ("open", {"session_key": self._run.session_key(), "config": config}),
            ("declare", {}),
        ):
            answer = self.ask(method, **params)
            if "error" in answer:
                raise Silent(f"{method} answers {shorten(json.dumps(answer['error']))}")

    def end_input(self) -> None:
        """Close its standard input."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def ends(self, within_s: float) -> int | None:
        """Its exit status if it ends within the time; else None."""
        wait = self._wait(within_s)
        while (status := self.process.poll()) is None and wait.left_s():
            self.busy_s()
            self._waits()
            time.sleep(_LOOK_S)
        return status

    def busy_s(self) -> float:
        """Seconds in which it computed, or waited for a processor, as they were last seen."""
        pid = self.process.pid
        with contextlib.suppress(psutil.Error, OSError):
            used = psutil.Process(pid).cpu_times()
            self._busy_s = max(self._busy_s, used.user + used.system + noise.held_up_s(pid))
        return self._busy_s

    def kill(self) -> None:
        """End the process group; the thread that reads ends with it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, None if self._is_read else self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class _Wait:
    """
    The end of a wait for a server; it comes later by the time in which that got no processor.

    Such time is looked at when the wait is over: to look takes the processor as well.
    """

    def __init__(self, pid: int, within_s: float, slowdown: float) -> None:
        self._within_s, self._began = within_s, time.monotonic()
        self._work = noise.Work(pid)
        self._deadline = Deadline(within_s, slowdown)

    def left_s(self) -> float:
        """Seconds that are left; 0 when it is over."""
        if (left_s := self._deadline.left_s()) > 0:
            return left_s
        took_s = time.monotonic() - self._began
        if took_s >= _MOST_TIMES * self._within_s:
            return 0.0
        return max(0.0, self._within_s - (took_s - self._work.held_up_s()))


def _is_for(message: dict[str, Any], number: int | None) -> bool:
    found = message.get("id")
    return type(found) is type(number) and found == number


@contextlib.contextmanager
def serving(run: Run, wanted: str, behind: Sequence[str] = (), **how: bool) -> Iterator[RawServer]:
    """
    A server for the body, ended behind it.

    If the body waited in vain, a plain session is lived with another server. If that fails as well,
    the fault is none of what the body adds to it, and the requirements `behind` say more of it;
    without those no such session is lived.

    Raises:
        Violation: The body waited in vain; `wanted` is the thing that it waited for.
        Untestable: A plain session fails as well.

    """
    server = RawServer(run, **how)
    try:
        yield server
    except Silent as silent:
        if behind and (fault := _fault_of_a_plain_session(run)):
            reason = f"a plain session over the wire fails as well ({fault})"
            raise Untestable(reason, depends_on(*behind)) from None
        raise Violation(Differs(wanted=wanted, seen=str(silent))) from None
    finally:
        server.kill()


_QUESTION = {"user_message": "Where do I keep my boat?", "messages": []}


def _fault_of_a_plain_session(run: Run) -> str:
    """The call of a short session that is not answered; "" if each of them is."""
    server = RawServer(run)
    try:
        server.open()
        server.ask("recall", **_QUESTION)
        server.ask("record", user_message=run.facts.new().text, assistant_response="Noted.")
        server.ask("ping")
        server.ask("close")
    except Silent as silent:
        return str(silent)
    finally:
        server.kill()
    return ""
