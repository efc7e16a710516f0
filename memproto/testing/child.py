"""
The process that holds the provider. It reads commands, runs one check at a time, and reports.

Nothing here decides a verdict: the parent does, from what it is told, and from what it sees when
this process falls silent.
"""

import dataclasses
import faulthandler
import importlib
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from memproto import spec
from memproto.errors import KitUsageError, Misconfigured, ProviderError
from memproto.testing import clauses, incidents, locate, sandbox, watchers
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.run import Context, Run
from memproto.testing.subject import HookLate, HookRaised, Watch
from memproto.testing.wire import Wire, show

#: How often the parent is told that this interpreter still runs Python code.
BEAT_S = 0.2

#: A stack is written at the latest after this time in a hook, so that a kill finds one.
_STACK_S = 3.0


class Child:
    """
    The state of one child: its wire, its target, its watchers.

    Guarantees:
        Every command is answered by exactly one `done`, unless the process ends first.
    Assumes:
        Commands come one at a time.
    """

    def __init__(self, wire: Wire, stacks: TextIO) -> None:
        self._wire = wire
        self._stacks = stacks
        self._audit = watchers.AuditLog()
        self._target: Any = None
        self._side = "provider"
        self._busy = threading.Event()
        threading.Thread(target=self._beat, name="kit-beat", daemon=True).start()
        self._threads = watchers.thread_ids()

    def obey(self, command: dict[str, Any]) -> None:
        """Carry out one command and answer it."""
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "load": self._load,
            "check": self._check,
            "survey": self._survey,
        }
        self._busy.set()
        try:
            answer = actions[command["do"]](command)
        except KitUsageError as error:
            answer = {"usage": [type(error).__name__, error.what, error.fault, error.fix]}
        except Exception:
            answer = {"kit_error": traceback.format_exc()}
        self._busy.clear()
        self._wire.send("done", **answer)

    def _beat(self) -> None:
        while True:
            self._busy.wait()
            self._wire.send("beat")
            time.sleep(BEAT_S)

    # -- loading ----------------------------------------------------------------------------------

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        sandbox.enter(Path(command["root"]), command["env"])
        locate.called_from(Path(command["directory"]))
        sys.path[:0] = command["path"]
        self._side = command["side"]
        loader = importlib.import_module(
            "memproto.testing.hosts" if self._side == "host" else "memproto.loading"
        )
        watch = self._watch({})
        with watch.hook("load"):
            self._target = loader.load(command["target"], command["factory"])
        clauses.checks("host" if self._side == "host" else "provider")
        # Threads that importing started belong to the process from here on, not to a check.
        self._threads = watchers.thread_ids()
        return {"binding": self._target.binding, "origin": self._target.origin}

    # -- checks -----------------------------------------------------------------------------------

    def _check(self, command: dict[str, Any]) -> dict[str, Any]:
        requirement = spec.requirement(command["id"])
        check = clauses.checks(requirement.side)[requirement.id]
        run = self._run(command)
        before = _globals()
        began = time.perf_counter()
        results = judge(requirement, lambda: check.function(run), run)
        run.finish()
        took_s = time.perf_counter() - began
        changed = watchers.differences(before, _globals())
        first = dataclasses.replace(results[0], duration_s=took_s, hooks=run.watch.hooks)
        return {
            "results": [item.as_dict() for item in [first, *results[1:]]],
            "threads": self._leftover(),
            "changed": changed,
            "late": run.watch.late,
        }

    def _survey(self, command: dict[str, Any]) -> dict[str, Any]:
        run = self._run(command)
        try:
            return {"survey": importlib.import_module("memproto.testing.survey").survey(run)}
        except (HookRaised, HookLate) as failure:
            return {"results": [_incident(failure, run, "MP-CAP-003").as_dict()]}
        finally:
            run.finish()

    def _run(self, command: dict[str, Any]) -> Any:
        root = Path(command["root"])
        sandbox.enter(root, command["env"])
        context = Context(**command["context"])
        watch = self._watch(context.deaths, context.scale)
        salt = int(command["salt"])
        if self._side == "host":
            hostrun = importlib.import_module("memproto.testing.hostrun")
            return hostrun.HostRun(self._target, watch, context, salt=salt)
        home = sandbox.places(root)["memory"]
        loaded = self._target
        run = Run(loaded.build, loaded.binding, home, watch, context, salt=salt)
        run.audit = self._audit
        run.root = root
        return run

    def _watch(self, deaths: dict[str, int], scale: float = 1.0) -> Watch:
        return Watch(
            self._wire,
            scale=scale,
            deaths=deaths,
            arm=lambda budget_s: self._arm(budget_s, scale),
            disarm=faulthandler.cancel_dump_traceback_later,
        )

    def _arm(self, budget_s: float, scale: float) -> None:
        first_s = max(0.05, min(budget_s, _STACK_S * scale))
        faulthandler.dump_traceback_later(first_s, repeat=True, file=self._stacks)

    def _leftover(self) -> int:
        """How many threads the check left; they get a moment to end by themselves."""
        end = time.monotonic() + 0.2
        while (left := len(watchers.thread_ids() - self._threads)) and time.monotonic() < end:
            time.sleep(0.005)
        return left


def _globals() -> dict[str, Any]:
    return {**watchers.process_globals(), "environment": watchers.environment()}


# -- from what a check raised to results ----------------------------------------------------------


def judge(requirement: spec.Requirement, decide: Callable[[], None], run: Any) -> list[Result]:
    """
    Run a check and give its result, and a second one where another rule is violated instead.

    An exception that is none of the kit's own is an error of the kit, never the target's.
    """
    try:
        decide()
    except clauses.Violation as found:
        return _violated(requirement, found, run)
    except clauses.NotApplicable as found:
        return [Result(requirement.id, Outcome.NOT_APPLICABLE, reason=str(found))]
    except clauses.Untestable as found:
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=str(found))]
    except clauses.Inconclusive as found:
        return [Result(requirement.id, Outcome.INCONCLUSIVE, reason=str(found))]
    except (HookRaised, HookLate) as failure:
        return _met(requirement, failure, run)
    except Exception:
        return [Result(requirement.id, Outcome.KIT_ERROR, observed=traceback.format_exc()[-1500:])]
    return [Result(requirement.id, Outcome.PASS)]


def _violated(requirement: spec.Requirement, found: clauses.Violation, run: Any) -> list[Result]:
    broken = spec.requirement(found.requirement or requirement.id)
    where = _where(run, found.operation or broken.operation)
    result = Result(broken.id, failing(broken), found.expected, found.observed, where)
    return _with_own(requirement, result)


def _met(requirement: spec.Requirement, failure: HookRaised | HookLate, run: Any) -> list[Result]:
    if isinstance(failure, HookLate) and run.watch.deaths.get(failure.operation):
        hook = _hook(run, failure.operation)
        reason = f"{hook} was late before in this run, and is waited for 1 s only"
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason)]
    if isinstance(failure, HookRaised) and isinstance(failure.error, ProviderError):
        hook = _hook(run, failure.operation)
        reason = f"{hook} reported {show(failure.error)}"
        if isinstance(failure.error, Misconfigured):
            reason += "; needs: the settings `config` or `env`"
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason)]
    return _with_own(requirement, _incident(failure, run, requirement.id))


def _with_own(requirement: spec.Requirement, result: Result) -> list[Result]:
    """The result, and beside it the requirement's own where another one is violated."""
    if result.id == requirement.id:
        return [result]
    reason = f"depends on {result.id}, which is violated: {result.observed}"
    own = Result(requirement.id, Outcome.UNTESTABLE, reason=reason)
    return [own, dataclasses.replace(result, seen_in=requirement.id)]


def _incident(failure: HookRaised | HookLate, run: Any, fallback: str) -> Result:
    operation = failure.operation
    hook = _hook(run, operation)
    if isinstance(failure, HookLate):
        broken = spec.requirement(incidents.LATE.get(operation, fallback))
        expected = f"{hook} returns within {failure.budget_s:g} s"
        observed = f"it returned after {failure.took_s:.1f} s"
        return Result(broken.id, failing(broken), expected, observed, _where(run, operation))
    broken = spec.requirement(incidents.RAISED.get(operation, fallback))
    if failure.ends_process:
        broken = spec.requirement(incidents.DIED)
    where = locate.raised(failure.error) or _where(run, operation)
    observed = f"{hook} raised {describe(failure.error)}"
    return Result(broken.id, failing(broken), f"{hook} returns", observed, where)


def describe(error: BaseException) -> str:
    """`Type: message` in one line; never raises."""
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = "<its message raises>"
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def failing(requirement: spec.Requirement) -> Outcome:
    """The outcome of a violation: only a MUST fails."""
    return Outcome.FAIL if requirement.level == "MUST" else Outcome.WARN


def _hook(run: Any, operation: str) -> str:
    hook: str = run.hook(operation)
    return hook


def _where(run: Any, operation: str) -> str:
    where: str = run.where(operation)
    return where


# -- the process ----------------------------------------------------------------------------------


def main() -> None:
    """Serve commands from the first descriptor on the command line until it closes."""
    commands, results, stacks = (int(word) for word in sys.argv[1:4])
    for descriptor in (commands, results, stacks):
        os.set_inheritable(descriptor, False)
    with os.fdopen(stacks, "a", encoding="utf-8", errors="replace") as file:
        faulthandler.enable(file=file)
        child = Child(Wire(results), file)
        with os.fdopen(commands, encoding="utf-8") as source:
            for line in source:
                command = json.loads(line)
                if command["do"] == "bye":
                    break
                child.obey(command)
        # A thread that a provider left must not keep this process: its exit has a check of its own.
        os._exit(0)


if __name__ == "__main__":
    main()
