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
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from os import _exit, getpid
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any, TextIO

from memproto import spec
from memproto.errors import KitUsageError, Misconfigured, ProviderError
from memproto.testing import clauses, incidents, locate, sandbox, survey, watchers
from memproto.testing.context import Context
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.run import Run
from memproto.testing.subject import HookLate, HookRaised, Watch
from memproto.testing.wire import Wire, plain, show

#: How often the parent is told that this interpreter still runs Python code.
_BEAT_S = 0.2

_LOADERS = {"provider": "memproto.loading", "host": "memproto.testing.hosts"}

#: A stack is written at the latest after this time in a hook, so that a kill finds one.
_STACK_S = 3.0


_decode = json.JSONDecoder().decode


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
        self._side: spec.Side = "provider"
        self._busy = threading.Event()
        threading.Thread(target=self._beat, name="kit-beat", daemon=True).start()
        self._threads = watchers.thread_ids()
        wire.send("ready")

    def obey(self, command: dict[str, Any]) -> None:
        """Carry out one command and answer it."""
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "load": self._load,
            "check": self._check,
            "survey": self._survey,
            "nothing": lambda _: {},
        }
        self._busy.set()
        try:
            answer = actions[command["do"]](command)
        except KitUsageError as error:
            answer = {"usage": [type(error).__name__, error.what, error.fault, error.fix]}
        except Exception:
            replaced = watchers.replaced()
            answer = {"kit_error": traceback.format_exc()[-1500:], "replaced": replaced}
        self._busy.clear()
        self._wire.send("done", **plain(answer))

    def _beat(self) -> None:
        while True:
            self._busy.wait()
            self._wire.send("beat")
            sleep(_BEAT_S)

    # -- loading ----------------------------------------------------------------------------------

    def _load(self, command: dict[str, Any]) -> dict[str, Any]:
        sandbox.enter(Path(command["root"]), command["env"])
        locate.called_from(Path(command["directory"]))
        sys.path[:0] = command["path"]
        self._side = command["side"]
        loader = importlib.import_module(_LOADERS[self._side])
        clauses.checks(self._side)
        try:
            with self._watch({}, command["scale"]).hook("load"):
                self._target = loader.load(_target(command), command["factory"])
        except KitUsageError:
            raise
        except BaseException as error:
            return {"results": [_not_loaded(error).as_dict()]}
        # Threads that importing started belong to the process from here on, not to a check.
        self._threads = watchers.thread_ids()
        found = {"binding": self._target.binding, "origin": self._target.origin}
        return {**found, "forks": self._audit.forks}

    # -- checks -----------------------------------------------------------------------------------

    def _check(self, command: dict[str, Any]) -> dict[str, Any]:
        requirement = spec.requirement(command["id"])
        check = clauses.checks(requirement.side)[requirement.id]
        run = self._run(command)
        before = _globals()
        began = perf_counter()
        results = judge(requirement, lambda: check.function(run), run)
        run.finish()
        took_s = perf_counter() - began
        changed = watchers.differences(before, _globals())
        first = dataclasses.replace(results[0], duration_s=took_s, hooks=run.watch.hooks)
        return {
            "results": [item.as_dict() for item in [first, *results[1:]]],
            "threads": self._leftover(command["grace_s"]),
            "changed": changed,
            "late": run.watch.late,
        }

    def _survey(self, command: dict[str, Any]) -> dict[str, Any]:
        run = self._run(command)
        found: dict[str, Any] = {}
        requirement = spec.requirement("MP-CAP-003")
        results = judge(requirement, lambda: found.update(survey.survey(run)), run)
        run.finish()
        return {"survey": found} if found else {"results": [item.as_dict() for item in results]}

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

    def _leftover(self, grace_s: float) -> int:
        """How many threads and timers the check left; they get a moment to end by themselves."""
        end = monotonic() + grace_s
        while (left := self._running()) and monotonic() < end:
            sleep(0.005)
        return left

    def _running(self) -> int:
        return len(watchers.thread_ids() - self._threads) + watchers.has_timer()


def _target(command: dict[str, Any]) -> str:
    """The target as typed; a directory from where the user stands, which is not here."""
    typed: str = command["target"]
    path = Path(command["directory"], typed)
    return str(path) if (path / "__init__.py").is_file() else typed


def _globals() -> dict[str, Any]:
    seen = {"environment": watchers.environment(), "functions": watchers.replaced()}
    return {**watchers.process_globals(), **seen}


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
    except BaseException as error:
        return [_unexpected(requirement, error)]
    return [Result(requirement.id, Outcome.PASS)]


def _unexpected(requirement: spec.Requirement, error: BaseException) -> Result:
    """
    The result of a check that raised outside of a hook.

    It is the provider's doing where the exception came through the author's code (what a hook
    returned raised when it was read, a signal handler raised), cannot be told where the provider
    changed what the kit works with, and an error of the kit else.
    """
    place = locate.raised(error)
    if place:
        expected = "plain values from the hooks, and no code of the provider between two of them"
        observed = f"outside of a hook its code raised {describe(error)}"
        return Result(requirement.id, failing(requirement), expected, observed, place)
    changed = watchers.replaced()
    if changed:
        shown = ", ".join(changed[:4])
        reason = f"the check met {describe(error)}, after the provider had changed {shown}"
        return Result(requirement.id, Outcome.UNTESTABLE, reason=reason)
    if isinstance(error, OSError):
        reason = f"the machine did not let the check work: {describe(error)}"
        return Result(requirement.id, Outcome.INCONCLUSIVE, reason=reason)
    if not isinstance(error, Exception):
        raise error
    text = "".join(traceback.format_exception(error))
    return Result(requirement.id, Outcome.KIT_ERROR, observed=text[-1500:])


def _not_loaded(error: BaseException) -> Result:
    requirement = spec.requirement(incidents.LOAD)
    if isinstance(error, HookLate) and error.excuse:
        reason = f"importing and building took {error.took_s:.1f} s, and {error.excuse}"
        return Result(requirement.id, Outcome.INCONCLUSIVE, reason=reason)
    if isinstance(error, HookLate):
        expected = f"importing and building return within {error.budget_s:g} s"
        observed = f"they returned after {error.took_s:.1f} s"
        return Result(requirement.id, Outcome.FAIL, expected, observed)
    observed = f"importing or building raised {describe(error)}"
    expected = "importing and building return to the caller"
    return Result(requirement.id, Outcome.FAIL, expected, observed, locate.raised(error))


def _violated(requirement: spec.Requirement, found: clauses.Violation, run: Any) -> list[Result]:
    broken = spec.requirement(found.requirement or requirement.id)
    where = _where(run, found.operation or broken.operation)
    result = Result(broken.id, failing(broken), found.expected, found.observed, where)
    return _with_own(requirement, result)


def _met(requirement: spec.Requirement, failure: HookRaised | HookLate, run: Any) -> list[Result]:
    if isinstance(failure, HookLate) and failure.excuse:
        late = f"{_hook(run, failure.operation)} took {failure.took_s:.1f} s"
        reason = f"{late} of {failure.budget_s:g} s, and {failure.excuse}"
        return [Result(requirement.id, Outcome.INCONCLUSIVE, reason=reason)]
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
    pid = getpid()
    # A parent that was started in the background hands down an interrupt that is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    with os.fdopen(stacks, "a", encoding="utf-8", errors="replace") as file:
        faulthandler.enable(file=file)
        child = Child(Wire(results), file)
        with os.fdopen(commands, encoding="utf-8") as source:
            for line in source:
                child.obey(_decode(line))
                if getpid() != pid:
                    # A copy that a provider forked ends here: it must not take the next command.
                    break
        # A thread that a provider left must not keep this process: its exit has a check of its own.
        _exit(0)


if __name__ == "__main__":
    main()
