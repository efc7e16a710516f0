"""Hosts in processes of their own, seen from a check: started, told to go, killed, looked at."""

import contextlib
import dataclasses
import os
import select
import signal
import subprocess
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from memproto.testing import incidents, locate, noise
from memproto.testing.clauses import Behind, Untestable, Violation
from memproto.testing.evidence import Died
from memproto.testing.lifetimes.ends_process import BEGINS
from memproto.testing.needs import depends_on
from memproto.testing.patience import Deadline
from memproto.testing.processes import host_copies, stacks, vitals
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookWithdrawn
from memproto.testing.wire import hidden

#: From the call of shutdown to the end of the process, by the specification.
EXIT_S = 15.0

#: Seconds that a host may need before that: loading, opening, storing.
_LIFE_S = 60.0

#: The same, where a hook that it calls hung or died before in this run, and will again.
_LIFE_AGAIN_S = 8.0

#: Operation under which a late end of a process is booked, and the seconds that it may take then.
EXIT, _EXIT_AGAIN_S = "exit", 5.0

#: Signals by which a process ends that has crashed.
_CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)

#: The operations of a host.
_CALLED = (
    "load",
    "available",
    "open",
    "declare",
    "turn_start",
    "recall",
    "record",
    "mirror",
    "compress",
    "close",
)

#: Hooks that scripts call beside the one that stores.
_TURN = ("recall", "record", "mirror", "compress")
_CALLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("interrupted", "signalled"), _TURN),
    **dict.fromkeys(("busy", "forked", "unforked"), ("recall",)),
    **dict.fromkeys(("locked", "full", "read_only", "damaged"), ("recall",)),
}

#: The rule on the time that the beginning of a turn may take.
_TURN_LATE = incidents.LATE["turn_start"]

#: Script to the number of its sessions, where it is not one.
_SESSIONS = {"twice": 2}

#: No script tells of so many turns, but one that is ended in their midst.
_TURNS = 1_000

#: Words of the interpreter on a failure that nobody caught; a stack alone may stand in a log.
TROUBLE = (
    "Exception in thread",
    "Exception ignored in",
    "Fatal Python error",
    "terminate called",
    "can't start new thread",
    "cannot schedule new futures",
)

#: The same, where the exit code says that it failed.
_STACK = "Traceback (most recent call last)"


@dataclasses.dataclass(frozen=True)
class Ended:
    """
    The end of a host.

    Attributes:
        code: Its exit code, negative for a signal; None where it was killed at its time.
        marks: The marks that it reached, in its own words.
        errors: Text that it wrote to its standard error.
        stack: The author's frames when its time was over, innermost first.

    """

    code: int | None
    marks: list[str]
    errors: str
    stack: tuple[str, ...]

    @property
    def ending(self) -> str:
        """The ending, in words."""
        if self.code is None:
            place = f", stopped at {self.stack[0]}" if self.stack else ""
            return f"it still ran after {_after(self.marks)}{place}"
        return vitals.ending(self.code)

    @property
    def begins_a_turn(self) -> bool:
        """True if its last deed was to say that a turn begins, and that did not return."""
        return self.marks[-1:] == [BEGINS] and "ending" not in self.marks

    @property
    def trouble(self) -> str:
        """The last line of what the interpreter complained about, or ""."""
        signs = TROUBLE if self.code == 0 else (*TROUBLE, _STACK)
        if not any(sign in self.errors for sign in signs):
            return ""
        lines = [line for line in self.errors.splitlines() if line.strip()]
        return hidden(lines[-1])[:300]


def crashed(ended: Ended) -> bool:
    """True if a signal ended a host by which the kit ends none: its own code has crashed."""
    return ended.code is not None and -ended.code in _CRASHES


def not_lived(ended: Ended, reason: str) -> NoReturn:
    """
    Say that a host did not come as far as it was to come.

    Raises:
        Behind: It crashed, which a rule of its own forbids.
        Untestable: It is another rule that was broken, or the machine.

    """
    last = ended.trouble or ended.errors.strip()[-300:]
    told = f"{reason}; {last}" if last else reason
    if crashed(ended):
        expected = "a session leaves the process of its host alone"
        observed = f"{reason}{f'; {ended.trouble}' if ended.trouble else ''}"
        raise Behind(
            told,
            Violation(Died(wanted=expected, ending=observed, own=True), requirement=incidents.DIED),
        )
    raise Untestable(told)


def _after(marks: list[str]) -> str:
    return f"{EXIT_S:g} s at its end" if "ending" in marks else f"{_LIFE_S:g} s"


def _assert_may_run(run: Run, script: str, route: str) -> None:
    """
    Start no host for a hook that is not called any more.

    Raises:
        HookWithdrawn: One that the script calls hung or died too often in this run.

    """
    called = _CALLS.get(script, ()) + {"turns": ("record",), "writes": ("mirror",)}.get(route, ())
    for operation in called:
        if run.watch.deaths.get(operation, 0) >= incidents.MOST_DEATHS:
            raise HookWithdrawn(f"{operation} hung or died too often to be called any more")


def orders(run: Run, script: str, texts: list[str], **told: Any) -> dict[str, Any]:
    """
    The orders of a host that runs one of the scripts, as it reads them.

    With `is_forgiving` it goes on after an exception of a hook that stores; the scripts whose texts
    have to come back end there.
    """
    if told.get("route") == "writes":
        run.learn_writing()
    keys = [run.session_key() for _ in range(_SESSIONS.get(script, 1))]
    config = run.config()
    run.freshness.config = {**config, "session_key": keys[-1]}
    return {
        **run.loading,
        "script": script,
        "texts": texts,
        "session_keys": keys,
        "turn": turn_numbers(run, keys[0]),
        "config": config,
        "write": run.writing.first,
        "manner": run.told_in.as_dict(),
        "is_forgiving": False,
        **told,
    }


def turn_numbers(run: Run, session_key: str) -> int | None:
    """The number after which another host counts its turns; None where it tells of none."""
    turns = run.watch.turns
    # As in a session of the kit, a hook that hung is not called any more.
    if turns is None or run.watch.deaths.get("turn_start"):
        return None
    return turns.reserved(session_key, _TURNS)


class HostProcess:
    """
    A host that runs one of the scripts of `ends_process` with the target.

    Guarantees:
        After `end` neither it nor a process of its group runs.
    Assumes:
        One caller at a time.
    """

    #: Module of the scripts, of which each host runs one.
    module = "memproto.testing.lifetimes.ends_process"

    def __init__(self, run: Run, script: str, texts: list[str], **told: Any) -> None:
        _assert_may_run(run, script, str(told.get("route", "")))
        asked = orders(run, script, texts, **told)
        self._run = run
        self._seen: Ended | None = None
        self._pending = b""
        self.marks: list[str] = []
        self._stacks = run.root / f"stacks-{len(list(run.root.glob('stacks-*')))}.txt"
        self._marks_read, marks = os.pipe()
        dumps = os.open(self._stacks, os.O_CREAT | os.O_RDWR, 0o600)
        self._errors = self._stacks.with_suffix(".errors")
        scale = run.context.scale
        self._hung, self._stays = "", False
        if not run.watch.patient:
            self._hung = next((name for name in _CALLED if run.watch.deaths.get(name)), "")
            self._stays = bool(run.watch.deaths.get(EXIT))
        self._life_s = (_LIFE_AGAIN_S if self._hung else _LIFE_S) * scale
        self._exit_s = (_EXIT_AGAIN_S if self._hung or self._stays else EXIT_S) * scale
        asked |= {"marks": marks, "stacks": dumps}
        try:
            host = host_copies.start(self.module, asked, self._errors, ("marks", "stacks"))
        finally:
            os.close(marks)
            os.close(dumps)
        self._process, self._stdin = host.process, host.stdin

    def comes_to(self, mark: str, times: int = 1) -> bool:
        """True if it says `mark` so often in its time; False where it ends before."""
        end = self.deadline()
        while self.marks.count(mark) < times:
            if not self._listen(end.left_s()):
                return False
        return True

    def comes_to_one_of(self, *signs: str, within_s: float = 0.0) -> bool:
        """
        True if it says what begins with one of them, in its time or in so many seconds.

        `within_s` is scaled by the run and by what the machine takes.
        """
        end = self.deadline(within_s)
        with self._run.watch.wire.hook("close", self._longest_s(within_s)):
            while not any(mark.startswith(signs) for mark in self.marks):
                if not self._listen(end.left_s()):
                    return False
        return True

    @property
    def pid(self) -> int:
        """The id of its process."""
        return int(self._process.pid)

    def work(self) -> noise.Work:
        """Its work from now on."""
        return noise.Work(self._process.pid)

    def deadline(self, within_s: float = 0.0) -> Deadline:
        """The end of a wait that begins now, of its time or of so many seconds."""
        wait_s = within_s * self._run.context.scale if within_s else self._life_s
        return Deadline(wait_s, self._run.context.slowdown)

    def _longest_s(self, within_s: float = 0.0) -> float:
        """
        Seconds after which no such wait goes on: its deadlines at their latest.

        The parent ends this process if the time is over, and would blame the hook that is named
        there. A deadline moves by a factor that is measured when it ends, and the parent would
        measure another one; so it is told the largest.
        """
        wait_s = within_s * self._run.context.scale if within_s else self._life_s
        return (wait_s + self._exit_s) * max(self._run.context.slowdown, noise.MOST)

    def _listen(self, wait_s: float) -> bool:
        if not select.select([self._marks_read], [], [], wait_s)[0]:
            return False
        data = os.read(self._marks_read, 65_536)
        *whole, self._pending = (self._pending + data).split(b"\n")
        self.marks += [line.decode("utf-8", "replace") for line in whole]
        return bool(data)

    def go(self) -> None:
        """Let one go on that waits to be told."""
        with contextlib.suppress(OSError):
            self._stdin.write(b"go\n")
            self._stdin.flush()

    def end(self) -> Ended:
        """
        Wait for its end, which is 15 s after it began to shut down; gives what became of it.

        Raises:
            Untestable: It did not end, and a hook that it calls hung before in this run; or it was
                told to begin a turn, which has rules of its own, and that hung now.

        """
        self._seen = self._seen or self._last()
        if self._seen.code is None and (self._hung or self._stays):
            known = f"{self._run.hook(self._hung)} hung" if self._hung else "a process did not end"
            raise Untestable(f"{known} before in this run, and a host of another process did now")
        if self._seen.code is None and self._seen.begins_a_turn:
            # No other host tells of turns, nor waits for that.
            self._run.watch.late.append("turn_start")
            reason = f"{self._run.hook('turn_start')} did not return in a host of another process"
            raise Untestable(reason, depends_on(_TURN_LATE))
        return self._seen

    def _last(self) -> Ended:
        with self._run.watch.wire.hook("close", self._longest_s()):
            end, is_ending = self.deadline(), False
            while self._process.poll() is None:
                if not is_ending and "ending" in self.marks:
                    is_ending = True
                    end = Deadline(self._exit_s, self._run.context.slowdown)
                left_s = end.left_s()
                if left_s <= 0:
                    break
                if not self._listen(min(left_s, 0.1)):
                    # It has closed its end, or has nothing to say just now.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(0.05)
            return self._ended()

    def _ended(self) -> Ended:
        code = self._process.poll()
        if code is None and "ending" in self.marks:
            self._run.watch.late.append(EXIT)
        dump = "" if code is not None else stacks.of(self._process.pid, self._stacks)
        self._process.kill()
        self._process.wait()
        # Texts that it stored are waited for like those that this process stores.
        self._run.watch.stored_at = monotonic()
        while self._listen(0.0):
            pass
        os.close(self._marks_read)
        with contextlib.suppress(OSError):
            self._stdin.close()
        stack = () if code is not None else tuple(locate.frames(dump))
        return Ended(code, self.marks, _text(self._errors), stack)


def _text(path: Path) -> str:
    return path.read_bytes()[-60_000:].decode("utf-8", "replace")
