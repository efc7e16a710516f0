"""
The program of a server: started in a group of its own, written to without blocking, and ended.

Its standard error is read all the time. A caller that waits for an answer reads the standard
output by itself, since a thread that hands each answer over costs more than the answer; a thread
reads what comes while nobody waits. Another one writes only if the program does not read what it
is sent.
"""

import contextlib
import errno
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from memproto import shell
from memproto.wire.codec import MAX_LINE
from memproto.wire.faults import NotStarted

#: Bytes of the standard error that are kept.
_KEPT_BYTES = 64 * 1024

#: Bytes that wait for a program which does not read; two of the longest lines.
_WAITING_BYTES = 2 * MAX_LINE

#: Seconds that a program has to end after its input, and after SIGTERM.
PATIENCE_S = 2.0

#: Seconds that the thread which stands by leaves to callers, before it reads what has come.
_STAND_BY_S = 0.01

#: Seconds between two looks whether a silent program is still there.
_LOOK_S = 0.5

#: Seconds that the last lines of an ended program are waited for.
_LAST_WORDS_S = 2 * _LOOK_S

#: Seconds that a program has to end by itself whose host dropped it.
_ABANDONED_S = 20.0

#: Lines of the standard error that a message shows, and their characters.
_SHOWN_LINES, _SHOWN_CHARS = 5, 600


class Clogged(Exception):
    """The program does not read, and no more can wait for it."""


class Program:
    """
    A running program.

    Guarantees:
        `write` does not block. `end` leaves no process of the group behind.
        Safe from any thread.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str],
        heard: Callable[[bytes], None],
        ended: Callable[[], None],
        left: Callable[[], None],
    ) -> None:
        """
        Start the program.

        `heard` gets each line with its line feed, an overlong one cut at the limit, and `ended` is
        called once, behind the last line; both run on the thread that reads, one at a time. `left`
        is called when the thread that stands by has read, and reads no more: a caller that was
        refused by `lead` meanwhile is to try again.

        Raises:
            NotStarted: The system does not start it.

        """
        self.command = tuple(command)
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=dict(env),
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            fault, fix = _refusal(error, self.command, cwd)
            raise NotStarted(shown(self.command), fault, fix=fix) from None
        self.pid = self._process.pid
        self._owner = os.getpid()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._input = self._process.stdin
        self._outlet = _Outlet(self._input.fileno())
        self._kept = _Tail(_KEPT_BYTES)
        self._ending = threading.Lock()
        self._status: int | None = None
        self._is_abandoned = False
        self._output, errors = self._process.stdout, self._process.stderr
        self._heard, self._ended, self._left = heard, ended, left
        #: Held by the thread that reads.
        self._leading = threading.Lock()
        self._poll = select.poll()
        self._poll.register(self._output.fileno(), select.POLLIN)
        self._rest = bytearray()
        self._is_skipping = False
        self._is_read_out = threading.Event()
        self._threads = [
            threading.Thread(target=task, name=f"wire-{what}-{self.pid}", daemon=True)
            for what, task in (
                ("reader", self._stand_by),
                ("stderr", lambda: self._drain(errors)),
            )
        ]
        for thread in self._threads:
            thread.start()

    # -- while it runs -----------------------------------------------------------------------------

    def write(self, line: bytes) -> None:
        """
        Hand over a line, in order.

        Raises:
            Clogged: The program has not read what waits for it.
            BrokenPipeError: It has closed its input.

        """
        self._outlet.send(line)

    def close_input(self) -> None:
        """Close its standard input behind what was handed over, as far as it takes that."""
        self._outlet.finish(PATIENCE_S)
        with contextlib.suppress(OSError):
            self._input.close()

    @property
    def is_ours(self) -> bool:
        """True in the process that started it: a fork of it has no thread that would listen."""
        return os.getpid() == self._owner

    def said(self) -> str:
        """The last lines of its standard error, in one; of an ended program, all that it said."""
        if self._is_over():
            # Its last lines may still be in the pipe; the thread ends behind them.
            self._threads[-1].join(_LAST_WORDS_S)
        lines = [line.strip() for line in self._kept.text().splitlines() if line.strip()]
        return " | ".join(lines[-_SHOWN_LINES:])[-_SHOWN_CHARS:]

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        if self._status is None and self._is_over():
            self._reap()
        return self._status

    def lead(self, is_done: Callable[[], bool], until: float | None) -> bool:
        """
        Read what comes, until `is_done` or a moment of the monotonic clock, or the end of it all.

        False, at once, if another thread reads. The one that gets True wakes those that got False.
        """
        if not self._leading.acquire(blocking=False):
            return False
        try:
            while not self._is_read_out.is_set() and not is_done():
                rest_s = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
                if rest_s <= 0:
                    break
                self._read_some(rest_s)
        except BaseException:
            # A signal came between the system's answer and the next line of this code: a part may
            # be lost, so that the line it belongs to is none.
            self._rest.clear()
            self._is_skipping = True
            raise
        finally:
            self._leading.release()
        return True

    def hear_out(self, patience_s: float) -> bool:
        """Hear the output to its end; True if that came within so many seconds."""
        until = time.monotonic() + patience_s
        while not self._is_read_out.is_set() and time.monotonic() < until:
            if not self.lead(lambda: False, until):
                self._is_read_out.wait(_STAND_BY_S)
        if not self._is_read_out.is_set():
            return False
        # The thread that read the end lets go of the lock behind the last line.
        with self._leading:
            return True

    def _read_some(self, patience_s: float) -> None:
        """Read a part of the output, if one comes in so many seconds; the caller leads."""
        part = b""
        with contextlib.suppress(OSError, ValueError):
            has_more = self._poll.poll(patience_s * 1000)
            if not has_more:
                if not self._is_over():
                    return
                # An ended program may have written between the two looks. If there is nothing, a
                # process that it started holds the stream open.
                has_more = self._poll.poll(0)
            if has_more:
                part = os.read(self._output.fileno(), 1 << 18)
            if part:
                self._split(part)
                return
        self._is_read_out.set()
        if self._rest:
            self._heard(bytes(self._rest))
        self._ended()

    def _split(self, part: bytes) -> None:
        """Hear the lines that end in a part, and keep its rest."""
        begin = 0
        while (end := part.find(b"\n", begin)) >= 0:
            line = part[begin : end + 1]
            begin = end + 1
            if self._rest:
                line = bytes(self._rest) + line
                self._rest.clear()
            if not self._is_skipping:
                self._heard(line)
            self._is_skipping = False
        if not self._is_skipping:
            self._rest += part[begin:]
        if len(self._rest) > MAX_LINE:
            line = bytes(self._rest)
            self._rest.clear()
            self._is_skipping = True
            self._heard(line)

    def _stand_by(self) -> None:
        """Read what comes while no caller reads, to the end."""
        output = self._output.fileno()
        poll = select.poll()
        poll.register(output, select.POLLIN)
        while not self._is_read_out.is_set():
            # Wakes with a caller that reads, and leaves it to that; so it does at most once in a
            # hundredth of a second, however many answers come.
            if not poll.poll(_LOOK_S * 1000) and not self._is_over():
                continue
            if not self._is_read_out.wait(_STAND_BY_S) and self._leading.acquire(blocking=False):
                try:
                    if not self._is_read_out.is_set():
                        self._read_some(0.0)
                finally:
                    self._leading.release()
                self._left()
        with self._leading:
            self._output.close()
        if self._is_abandoned and self.wait(_ABANDONED_S):
            self._reap()

    def _drain(self, stream: IO[bytes]) -> None:
        errors = stream.fileno()
        poll = select.poll()
        poll.register(errors, select.POLLIN)
        with stream, contextlib.suppress(OSError, ValueError):
            while True:
                if not poll.poll(_LOOK_S * 1000):
                    # As in `_read_some`: it may have written before it ended.
                    if not self._is_over():
                        continue
                    if not poll.poll(0):
                        return
                part = os.read(errors, 1 << 16)
                if not part:
                    return
                self._kept.add(part)

    # -- the end -----------------------------------------------------------------------------------

    def wait(self, patience_s: float) -> bool:
        """True if it ends by itself within so many seconds; it is not reaped."""
        until = time.monotonic() + patience_s
        pause_s = 0.001
        while not self._is_over():
            if time.monotonic() >= until:
                return False
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.05)
        return True

    def end(self, patience_s: float = PATIENCE_S) -> None:
        """
        Close the input, wait, then SIGTERM, then SIGKILL to the whole group; blocks until then.

        Nothing happens in a process that did not start it.
        """
        if not self.is_ours:
            return
        with self._ending:
            self.close_input()
            if not self.wait(patience_s):
                self._signal(signal.SIGTERM)
                self.wait(PATIENCE_S)
            # While it is not reaped, its number, which is the group's, stands for nobody else.
            self._signal(signal.SIGKILL)
            self.wait(PATIENCE_S)
            self._reap()
        current = threading.current_thread()
        for thread in self._threads:
            if thread is not current:
                thread.join(PATIENCE_S)

    def abandon(self) -> None:
        """Close the input, by which the program ends by itself; does not block."""
        if not self.is_ours or self._status is not None:
            return
        # The thread that reads is there until the program ends, and reaps it then.
        self._is_abandoned = True
        self._outlet.drop()
        with contextlib.suppress(OSError):
            self._input.close()
        if self._is_over():
            self._signal(signal.SIGKILL)
            self._reap()

    def _signal(self, number: int) -> None:
        if self._status is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _is_over(self) -> bool:
        """True if it has ended, whoever reaped it."""
        if self._status is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            look = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, look) is not None
        except ChildProcessError:
            return True

    def _reap(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._status = self._process.wait(0.1)


class _Outlet:
    """Writes to a pipe without blocking; a thread goes on where the reader is slow."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._waiting: deque[memoryview] = deque()
        self._bytes = 0
        self._is_broken = False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def send(self, line: bytes) -> None:
        with self._changed:
            if self._is_broken:
                raise BrokenPipeError("the input is closed")
            if self._waiting and self._bytes + len(line) > _WAITING_BYTES:
                raise Clogged(f"{self._bytes:,} bytes wait for it already")
            self._waiting.append(memoryview(line))
            self._bytes += len(line)
            if self._thread is None:
                self._write_on()
                if self._is_broken:
                    raise BrokenPipeError("the input is closed")
            if self._waiting and self._thread is None:
                self._thread = threading.Thread(target=self._go_on, name="wire-writer", daemon=True)
                self._thread.start()

    def finish(self, patience_s: float) -> None:
        """Wait until all is written; then nothing more is."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting or self._is_broken, patience_s)
            self._break()
            thread = self._thread
        if thread is not None:
            thread.join(patience_s)

    def drop(self) -> None:
        with self._changed:
            self._break()

    def _break(self) -> None:
        self._is_broken = True
        self._waiting.clear()
        self._changed.notify_all()

    def _write_on(self) -> None:
        """Write what the pipe takes; the lock is held."""
        try:
            while self._waiting:
                part = self._waiting[0]
                written = os.write(self._descriptor, part)
                self._bytes -= written
                if written < len(part):
                    self._waiting[0] = part[written:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._break()

    def _go_on(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        while True:
            poll.poll(100)
            with self._changed:
                if not self._is_broken:
                    self._write_on()
                if not self._waiting or self._is_broken:
                    self._thread = None
                    self._changed.notify_all()
                    return


class _Tail:
    """The last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = b""
        self._lock = threading.Lock()

    def add(self, part: bytes) -> None:
        with self._lock:
            self._data = (self._data + part)[-self._limit :]

    def text(self) -> str:
        with self._lock:
            return self._data.decode("utf-8", "replace")


def shown(command: Sequence[str]) -> str:
    """A command for a message."""
    text = " ".join(command)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _refusal(
    error: OSError | ValueError, command: Sequence[str], cwd: str | None
) -> tuple[str, str]:
    """The reason why the system does not start a command, and what to do about it."""
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 - a text that came from a user
        return f"its working directory {cwd} is not there", f"make it, or correct the name: {cwd}"
    program = command[0] if command else ""
    # As the system takes it: a path begins in the program's own working directory.
    path = os.path.join(cwd or os.curdir, program)  # noqa: PTH118 - as above
    if isinstance(error, FileNotFoundError):
        if "/" in program and os.path.isfile(path):  # noqa: PTH113 - as above
            return f"{_first_line(path)} names a program that is not there", (
                "install that program, or name the one that runs the file in front of it"
            )
        if "/" not in program and os.path.isfile(path):  # noqa: PTH113 - as above
            return f"no program {program!r} is on PATH", f"name the file here as ./{program}"
        fault = "there is no such file" if "/" in program else f"no program {program!r} is on PATH"
        return fault, "name a program that can be started, and its arguments"
    if isinstance(error, PermissionError):
        if os.path.isdir(path):  # noqa: PTH112 - as above
            return "it is a directory", "name a program inside of it, and its arguments"
        return "it is not executable", (
            f"chmod +x {shell.quote(program)}; or name the program that runs it in front of it"
        )
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "the system does not know how to run it (Exec format error)", (
            "name the program that runs it in front of it; or begin it with a line such as "
            "#!/usr/bin/env python3"
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"the system does not start it ({reason})", (
        "name a program that can be started, and its arguments"
    )


def _first_line(path: str) -> str:
    """The line of a script that names what runs it, as a subject of a sentence."""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - as above
        line = file.readline(200).decode("utf-8", "replace").strip()
        if line.startswith("#!"):
            return f"its first line, {line},"
    return "it"
