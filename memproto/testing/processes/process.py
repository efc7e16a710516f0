"""A kit child seen from the parent: started, asked, watched, and ended with its offspring."""

import contextlib
import dataclasses
import os
import secrets
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, cast, get_args

import psutil

from memproto import spec
from memproto.testing import integrity, locate, noise, patience, wire
from memproto.testing.messages import (
    Done,
    Enter,
    Forged,
    Leave,
    Loaded,
    Opened,
    Reaches,
    Spent,
    Told,
    Waits,
)
from memproto.testing.processes import commands, copy, sandbox, stacks, template, vitals
from memproto.testing.processes.answer import Answer, ChildDidNotStart, Fate
from memproto.testing.processes.attempts import Attempts
from memproto.testing.processes.commands import Command, Load
from memproto.testing.settings import functions

_CHILD = "memproto.testing.judging.child"

#: Beyond a hook's budget the child gets this long to report the lateness itself.
_MARGIN_S = 1.0

#: A check between two hooks computes for milliseconds; one that does so for this long is stuck.
_STUCK_S = 20.0

_KEY_BYTES = 16

#: A silence of an interpreter that computes in a hook is looked into by then.
_LOOK_S = 0.7

#: So many looks in one silence, as long as none shows a frame of the author's.
_LOOKS = 5

#: Seconds that the loop sleeps while nothing arrives. A message wakes it.
_TICK_S = 0.05

#: Bytes of a child's output that are kept.
_KEPT_OUTPUT = 4_000


#: The kind of the message that has the second seal.
_DONE = Done.FORM[0]

#: The messages that tell the calls of a check.
_STORY = get_args(Told)


@dataclasses.dataclass(slots=True)
class _OpenHook:
    operation: str
    budget_s: float
    since: float
    patience_s: float = 0.0
    thread: int = 0
    starved_s: float = 0.0
    given: str = ""
    number: int = 0
    chars: int = 0

    @property
    def is_setting(self) -> bool:
        """True if it is a function of the user's."""
        return self.operation.startswith(functions.OPERATION)


class ChildProcess:
    """
    One kit child.

    Guarantees:
        `ask` returns, whatever the child does: soon after the budget of the hook that runs, or of
        the command. Only for `answered` does the process live on.
        After `kill` neither the child nor a process of its group runs.
        The child's output is taken in, and all but its end is dropped.
    Assumes:
        One caller at a time.
    Raises:
        ChildDidNotStart: From the constructor or the first `ask`.
    """

    def __init__(
        self,
        root: Path,
        environment: dict[str, str],
        *,
        side: spec.Side = "provider",
        scale: float = 1.0,
        frozen_s: float = vitals.FROZEN_S,
        memory_mb: int = patience.MEMORY_MB,
        owner: str = "",
    ) -> None:
        self._scale = scale
        self._owner = owner
        self._memory_mb = memory_mb
        self._frozen_s = frozen_s
        self._stacks = root / "stacks.txt"
        self._hooks: dict[int, _OpenHook] = {}
        self._opened: list[dict[str, Any]] = []
        self._told: list[Told] = []
        self._spent = 0
        self._excused_s = 0.0
        self._pending = bytearray()
        self._printed = bytearray()
        self._active = 0.0
        self._stuck_s = _STUCK_S
        self._slowdown, self._patience = 1.0, 0.0
        self._has_started = False
        #: The frames of the last silence that was looked into, and when that began.
        self._still: tuple[str, ...] = ()
        self._looked = 0.0
        self._looks = 0
        self._is_cut_off = False
        self._forged = False
        self._is_confined = False
        keys = secrets.token_bytes(_KEY_BYTES), secrets.token_bytes(_KEY_BYTES)
        self._seals = [integrity.sealer(key) for key in keys]
        self._process, *ends = self._start(root, environment, side)
        self._commands, self._results, self._output = ends
        self._listened = [self._results, self._output]
        # Before it is asked anything, and so before there is a target that could read it.
        # The first `ask` tells of one that has ended already.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._commands, b"%s\n" % b" ".join(key.hex().encode() for key in keys))
        self._seen = template.seen(self._process)
        self._attempts = Attempts(self.pid, is_confined=False)
        self._pulse = vitals.Pulse(self._seen, scale)

    def _start(
        self, root: Path, environment: dict[str, str], side: spec.Side
    ) -> tuple[subprocess.Popen[bytes] | copy.Copy, int, int, int]:
        words = [sandbox.interpreter(), "-P", "-m", _CHILD]
        cwd = str(sandbox.places(root)["work"])
        command_read, command_write = os.pipe()
        result_read, result_write = os.pipe()
        output_read, output_write = os.pipe()
        dumps = os.open(self._stacks, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        given = (command_read, result_write, dumps)
        wanted = template.Start(words, environment, cwd, side, output_write, given, self._owner)
        try:
            process = template.start(wanted)
        except OSError as error:
            copy.close(command_write, result_read, output_read)
            raise ChildDidNotStart(f"{sandbox.interpreter()} cannot be run: {error}") from None
        finally:
            copy.close(output_write, *given)
        return process, command_write, result_read, output_read

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if the process still runs."""
        return self._process.poll() is None

    @property
    def ending(self) -> str:
        """The ending of the process, or ""."""
        code = self._process.poll()
        return "" if code is None else copy.ending(code)

    def output(self) -> str:
        """The end of what the process wrote to its standard streams."""
        return self._printed.decode("utf-8", "replace").strip()

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, command: Command, budget_s: float) -> Answer:
        """
        Send a command and wait for its answer, its hooks' budgets, or `budget_s` in all.

        Raises:
            ChildDidNotStart: The process ended before it was ready; the message is its output.

        """
        self._hooks.clear()
        self._opened, self._told, self._spent, self._excused_s = [], [], 0, 0.0
        # Imports take no less time on a smaller scale; on a slower machine everything takes longer.
        scale = max(1.0, self._scale) if isinstance(command, Load) else self._scale
        self._patience = 0.0
        self._slowdown = commands.slowdown(command)
        self._stuck_s = _STUCK_S * scale * self._slowdown
        self._attempts = Attempts(self.pid, is_confined=self._is_confined)
        answer = self._follow(command, budget_s)
        if isinstance(answer.reply, Loaded):
            self._is_confined = not answer.reply.unconfined
        return dataclasses.replace(
            answer,
            opened=tuple(self._opened),
            told=tuple(self._told),
            spent=self._spent,
            forged=self._forged,
        )

    def _follow(self, command: Command, budget_s: float) -> Answer:
        self._pulse.beat()
        self._still, self._looked = (), 0.0
        began = self._active = time.monotonic()
        with contextlib.suppress(OSError):
            os.write(self._commands, (commands.written(command) + "\n").encode())
        while True:
            done = self._listen()
            now = time.monotonic()
            if done is not None:
                return dataclasses.replace(_answered(done, now - began), still=self._still)
            if self._is_cut_off or not self.alive or self._pulse.is_stopped(now):
                return self._dead(began)
            self._look_while_still(now)
            end = self._end(began, budget_s * self._scale, now)
            overrun = self._overgrown(now) or self._overrun(now, began, end)
            if overrun is not None:
                self.kill()
                return overrun

    def _end(self, began: float, budget_s: float, now: float) -> float:
        """When a command's time is over; on a busy machine it is let run on for longer."""
        end = began + budget_s + self._excused_s
        if now > end and not self._patience:
            self._patience = max(self._slowdown, noise.slowdown())
        return end + budget_s * max(self._patience - 1.0, 0.0)

    def _listen(self, wait_s: float = _TICK_S) -> Done | None:
        """Take in what came, or comes within a moment; the answer if it is among it."""
        ready = select.select(self._listened, [], [], wait_s)[0]
        if self._output in ready:
            self._keep_output()
        return self._hear() if self._results in ready else None

    def _keep_output(self) -> None:
        data = os.read(self._output, 1 << 20)
        if not data:
            self._listened.remove(self._output)
        self._printed = (self._printed + data)[-_KEPT_OUTPUT:]

    def _hear(self) -> Done | None:
        try:
            messages = list(wire.lines(self._results, self._pending, self._is_sealed))
        except EOFError:
            self._listened.remove(self._results)
            self._is_cut_off = True
            return None
        done = None
        for pid, message in messages:
            if pid == self._process.pid:
                self._has_started = True
                self._pulse.beat()
                done = self._note(message) or done
            elif type(message) is Forged:
                self._forged = True
        return done

    def _is_sealed(self, seal: bytes, message: bytes, kind: str) -> bool:
        return self._seals[kind == _DONE](message) == seal

    def _note(self, message: Any) -> Done | None:
        kind = type(message)
        if kind is Enter:
            now = self._active = time.monotonic()
            self._hooks[message.call] = _OpenHook(
                message.operation,
                message.budget_s,
                now,
                0.0,
                message.thread,
                message.starved_s,
                message.given,
                message.number,
                message.chars,
            )
        elif kind is Reaches:
            self._attempts.note(outside=message.outside)
        elif kind is Waits:
            self._active = time.monotonic()
        elif kind is Leave:
            self._active = time.monotonic()
            self._leave(self._hooks.pop(message.call, None))
        elif kind is Done:
            return cast("Done", message)
        elif kind is Opened:
            self._opened.append(message.config)
        elif kind is Spent:
            self._spent += 1
        elif kind in _STORY:
            self._told.append(message)
        return None

    def _leave(self, hook: _OpenHook | None) -> None:
        if hook is not None and hook.is_setting:
            # The time of the user's own functions is no time of the check's.
            self._excused_s += self._active - hook.since

    # -- what can go wrong ------------------------------------------------------------------------

    def _overrun(self, now: float, began: float, end: float) -> Answer | None:
        late = [hook for hook in self._hooks.values() if self._is_late(hook, now)]
        hook = min(late or self._hooks.values(), key=lambda item: item.since, default=None)
        # A function of the user's may hold the interpreter, as loading a model does.
        excused = any(item.is_setting for item in self._hooks.values())
        if self._has_started and not excused and self._pulse.stands_still(now, self._frozen_s):
            return self._ended("froze", hook or _OpenHook("", 0.0, self._pulse.last), now)
        if hook is not None and late:
            # Silence beyond the budget, of an interpreter that computes, is a freeze as well.
            still = self._pulse.stands_still(now, _MARGIN_S)
            if still:
                return self._ended("froze", hook, now)
            if self._pulse.is_undecided(now):
                return None
            unanswered = self._attempts.are_unanswered()
            ended = self._ended("late", hook, now)
            return dataclasses.replace(ended, excuse=noise.busy(), unanswered=unanswered)
        if hook is None or hook.since > end:
            return self._stuck(now, began, end)
        return None

    def _overgrown(self, now: float) -> Answer | None:
        held_mb = self._pulse.holds_mb(now)
        # Memory that a user's function takes to load a model is the provider's as well.
        if held_mb <= self._memory_mb:
            return None
        running = min(self._hooks.values(), key=lambda item: item.since, default=None)
        grown = self._ended("grew", running or _OpenHook("", 0.0, self._active), now)
        return dataclasses.replace(grown, ending=f"{held_mb:,.0f} MB of memory")

    def _is_late(self, hook: _OpenHook, now: float) -> bool:
        took_s = now - hook.since - _MARGIN_S * self._scale
        if took_s <= max(hook.budget_s, hook.patience_s):
            return False
        if not hook.patience_s:
            # On a busy machine a hook is let run on for longer; that it was late stays known.
            hook.patience_s = hook.budget_s * noise.slowdown()
        if took_s <= hook.patience_s:
            return False
        starved_s = noise.starved_s(hook.thread, self._process.pid) - hook.starved_s
        return took_s > hook.budget_s + starved_s

    def _stuck(self, now: float, began: float, end: float) -> Answer | None:
        idle_s = now - self._active
        if now <= end and (self._hooks or idle_s < self._stuck_s):
            return None
        frames, excuse = self._frames(), noise.busy()
        return Answer("overdue", took_s=now - began, stack=frames, excuse=excuse)

    def _ended(self, fate: Fate, hook: _OpenHook, now: float) -> Answer:
        return Answer(
            fate,
            operation=hook.operation,
            budget_s=hook.budget_s,
            took_s=now - hook.since,
            stack=self._frames_that_compute() if fate == "froze" else self._frames(),
            given=hook.given,
            number=hook.number,
            chars=hook.chars,
        )

    def _dead(self, began: float) -> Answer:
        done = self._last_words()
        if done is not None:
            return _answered(done, time.monotonic() - began)
        stopped = copy.ending(-signal.SIGSTOP) if self._pulse.is_stopped(time.monotonic()) else ""
        if not stopped:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_MARGIN_S)
        # One that still runs has closed its end of the wire.
        ending = stopped or self.ending or copy.ending(wire.CUT_OFF)
        running = min(self._hooks.values(), key=lambda item: item.since, default=None)
        self.kill()
        if not self._has_started:
            raise ChildDidNotStart(f"a kit child ended at its start ({ending})\n{self.output()}")
        return Answer(
            "died",
            operation=running.operation if running else "",
            took_s=time.monotonic() - began,
            stack=self._frames(),
            ending=ending,
            given=running.given if running else "",
            number=running.number if running else 0,
        )

    def _last_words(self) -> Done | None:
        """Take in what the process had still written; not for ever, where a copy of it goes on."""
        end = time.monotonic() + _MARGIN_S
        while select.select(self._listened, [], [], 0)[0] and time.monotonic() < end:
            done = self._listen(0)
            if done is not None:
                return done
        return None

    def _frames(self) -> tuple[str, ...]:
        """The author's frames; those of the main thread, if the process lives."""
        if not (self.alive and self._has_started):
            return tuple(locate.frames(stacks.written(self._stacks)))
        return tuple(locate.frames(stacks.of(self._process.pid, self._stacks)))

    def _frames_that_compute(self) -> tuple[str, ...]:
        """
        The author's frames of the thread that lets no other run.

        It may have come back at this moment, or get no processor; then those of an earlier look.
        """
        if not (self.alive and self._has_started):
            return self._frames()
        asked = next(filter(None, (vitals.busiest(self._seen) for _ in range(_LOOKS))), None)
        seen = stacks.of(asked, self._stacks) if asked else ""
        return tuple(locate.frames(seen)) or self._still or self._frames()

    def _look_while_still(self, now: float) -> None:
        """
        See in each silence which thread computes, which lets no other run.

        A look that shows no frame of the author's is done again: on a busy machine the thread that
        was asked gets no processor in time, or another one computed while they were compared, or
        none did.
        """
        if self._looked != self._pulse.last:
            self._looked, self._looks = self._pulse.last, 0
        if self._looks >= _LOOKS or not self._hooks:
            return
        if self._pulse.computes(now, _LOOK_S * self._scale):
            self._looks += 1
            busiest = vitals.busiest(self._seen)
            dump = stacks.of(busiest, self._stacks, kind=stacks.OWN) if busiest else ""
            frames = tuple(locate.frames(dump))
            if frames:
                self._still, self._looks = frames, _LOOKS

    def held_mb(self) -> float:
        """Megabytes that the process has for itself; 0 if that cannot be told."""
        with contextlib.suppress(psutil.Error, AttributeError):
            return float(self._seen.memory_full_info().uss) / (1 << 20)
        return 0.0

    def interrupt(self) -> None:
        """End the process as seen from the thread that asks it: as one that died by itself."""
        if self._seen.is_running():
            vitals.end_group(self._seen)

    def kill(self) -> None:
        """End the process, its group, and everything that it started; blocks until it is gone."""
        vitals.end_group(self._seen)
        self._process.wait()
        copy.close(self._commands, self._results, self._output)
        self._commands = self._results = self._output = -1


def _answered(done: Done, took_s: float) -> Answer:
    return Answer(
        "answered",
        done.reply,
        took_s=took_s,
        outward=done.outward,
        changed_kit=done.changed_kit,
    )
