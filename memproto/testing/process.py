"""A kit child seen from the parent: started, asked, watched, and ended with its offspring."""

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Literal

import psutil

from memproto.testing import child as child_module
from memproto.testing import locate, sandbox, wire

#: Beyond a hook's budget the child gets this long to report the lateness itself.
_MARGIN_S = 1.0

#: An interpreter that runs none of the kit's code for so long, while it computes, is frozen.
_FROZEN_S = 4.0

#: Processor time after which the kit's thread must have had its turn, if it could have any:
#: interpreters change threads every 5 ms of it.
_TURN_S = 0.4

Fate = Literal["answered", "died", "late", "froze", "overdue"]


@dataclasses.dataclass(frozen=True)
class Answer:
    """
    What came of one command.

    Attributes:
        fate: answered; died (the process is gone); late (a hook passed its budget); froze (the
            interpreter stood still inside a hook); overdue (the command as a whole took too long).
        data: The child's answer, for `answered`.
        operation: The hook that was running, else "".
        budget_s: That hook's budget.
        took_s: How long the command, or the hook, had been running.
        stack: The author's frames at that moment, innermost first.
        ending: How the process ended: "exit code 3", "signal SIGSEGV".

    """

    fate: Fate
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    operation: str = ""
    budget_s: float = 0.0
    took_s: float = 0.0
    stack: tuple[str, ...] = ()
    ending: str = ""


@dataclasses.dataclass
class _OpenHook:
    operation: str
    budget_s: float
    since: float


class ChildProcess:
    """
    One kit child.

    Guarantees:
        `ask` returns within its budget plus a second, whatever the child does.
        After `kill` neither the child nor a process of its group runs.
    Assumes:
        One caller at a time.
    """

    def __init__(self, root: Path, environment: dict[str, str], *, scale: float = 1.0) -> None:
        self._scale = scale
        self._stacks = root / "stacks.txt"
        self._output = root / "output.txt"
        self._hooks: dict[int, _OpenHook] = {}
        self._pending = bytearray()
        self._is_closed = False
        self._process, self._commands, self._results = self._start(root, environment)
        self._cpu = psutil.Process(self._process.pid)

    def _start(
        self, root: Path, environment: dict[str, str]
    ) -> tuple[subprocess.Popen[bytes], int, int]:
        root.mkdir(parents=True, exist_ok=True)
        command_read, command_write = os.pipe()
        result_read, result_write = os.pipe()
        stacks = os.open(self._stacks, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        given = (command_read, result_write, stacks)
        arguments = [sandbox.interpreter(), "-P", "-m", child_module.__name__, *map(str, given)]
        with self._output.open("ab") as output:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=sandbox.places(root)["work"],
                pass_fds=given,
                start_new_session=True,
            )
        for descriptor in given:
            os.close(descriptor)
        return process, command_write, result_read

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def ending(self) -> str:
        """How the process ended, or ""."""
        code = self._process.poll()
        if code is None:
            return ""
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"

    def output(self) -> str:
        """The last lines that the process wrote to its standard streams."""
        with contextlib.suppress(OSError):
            return self._output.read_bytes()[-2000:].decode("utf-8", "replace").strip()
        return ""

    def ask(self, command: dict[str, Any], budget_s: float) -> Answer:
        """Send a command and wait for its answer, its hooks' budgets, or `budget_s` in all."""
        self._hooks.clear()
        began = time.monotonic()
        try:
            os.write(self._commands, (json.dumps(command) + "\n").encode())
        except OSError:
            return self._dead(began)
        watch = _Beats(self._cpu, began)
        while True:
            answer = self._read(watch)
            if answer is not None:
                return Answer("answered", answer, took_s=time.monotonic() - began)
            if not self.alive and not self._readable(0):
                return self._dead(began)
            overrun = self._overrun(watch, began, budget_s)
            if overrun is not None:
                self.kill()
                return overrun

    def _read(self, watch: "_Beats") -> dict[str, Any] | None:
        """Take in messages for a moment; the answer if it is among them."""
        if not self._readable(0.05):
            return None
        try:
            messages = list(wire.lines(self._results, self._pending))
        except EOFError:
            self._is_closed = True
            return None
        for message in messages:
            if message.get("pid") != self.pid:
                continue
            watch.beat()
            kind = message.get("kind")
            if kind == "enter":
                self._hooks[message["call"]] = _OpenHook(
                    message["operation"], message["budget_s"], time.monotonic()
                )
            elif kind == "leave":
                self._hooks.pop(message["call"], None)
            elif kind == "done":
                return message
        return None

    def _readable(self, wait_s: float) -> bool:
        # A closed pipe is readable for ever: without this a dead child would look alive.
        if self._is_closed:
            time.sleep(wait_s)
            return False
        return bool(select.select([self._results], [], [], wait_s)[0])

    def _overrun(self, watch: "_Beats", began: float, budget_s: float) -> Answer | None:
        now = time.monotonic()
        hook = self._longest_overdue(now)
        if self._hooks and watch.frozen(now, _FROZEN_S * self._scale):
            running = hook or min(self._hooks.values(), key=lambda item: item.since)
            return self._ended("froze", running, now)
        if hook is not None:
            # Silence beyond the budget, of an interpreter that burns CPU, is a freeze as well.
            fate: Fate = "froze" if watch.frozen(now, _MARGIN_S * self._scale) else "late"
            return self._ended(fate, hook, now)
        if now - began > budget_s * self._scale:
            return Answer("overdue", took_s=now - began, stack=self._frames())
        return None

    def _longest_overdue(self, now: float) -> _OpenHook | None:
        late = [
            hook
            for hook in self._hooks.values()
            if now - hook.since > hook.budget_s + _MARGIN_S * self._scale
        ]
        return max(late, key=lambda hook: now - hook.since, default=None)

    def _ended(self, fate: Fate, hook: _OpenHook, now: float) -> Answer:
        return Answer(
            fate,
            operation=hook.operation,
            budget_s=hook.budget_s,
            took_s=now - hook.since,
            stack=self._frames(),
        )

    def _dead(self, began: float) -> Answer:
        running = min(self._hooks.values(), key=lambda item: item.since, default=None)
        self._process.wait()
        answer = Answer(
            "died",
            operation=running.operation if running else "",
            took_s=time.monotonic() - began,
            stack=self._frames(),
            ending=self.ending,
        )
        self.kill()
        return answer

    def _frames(self) -> tuple[str, ...]:
        with contextlib.suppress(OSError):
            dump = self._stacks.read_bytes()[-60_000:].decode("utf-8", "replace")
            return tuple(locate.frames(dump))
        return ()

    def dismiss(self) -> None:
        """Let the process go: it exits at its next look at the commands, and is ended if not."""
        with contextlib.suppress(OSError):
            os.write(self._commands, b'{"do": "bye"}\n')
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self.kill()

    def kill(self) -> None:
        """End the process, its group, and everything that it started."""
        offspring = self._offspring()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        for process in offspring:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()
        for descriptor in (self._commands, self._results):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._commands = self._results = -1

    def _offspring(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            found: list[psutil.Process] = self._cpu.children(recursive=True)
            return found
        return []


class _Beats:
    """
    Tells an interpreter that stands still from one that the machine does not schedule.

    A frozen interpreter sends nothing and uses the processor; a starved one sends nothing and
    does not get it. The measure is processor time, which a loaded machine only stretches.
    """

    def __init__(self, process: psutil.Process, now: float) -> None:
        self._process = process
        self._last = now
        self._mark: float | None = None

    def beat(self) -> None:
        """Note that the interpreter ran Python code just now."""
        self._last = time.monotonic()
        self._mark = None

    def frozen(self, now: float, after_s: float) -> bool:
        """Whether nothing came for `after_s`, in which the process computed for long enough."""
        if now - self._last < child_module.BEAT_S * 2:
            return False
        if self._mark is None:
            # Asked for only once the child is silent: a look at its times is not free.
            self._mark = self._used_s()
        if now - self._last < after_s:
            return False
        return self._used_s() - self._mark > _TURN_S

    def _used_s(self) -> float:
        with contextlib.suppress(psutil.Error):
            times = self._process.cpu_times()
            return float(times.user + times.system)
        return 0.0
