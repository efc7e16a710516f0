"""
The process that holds the provider. It reads commands, runs one check at a time, and reports.

Nothing here decides a verdict: the parent does, from what it is told, and from what it sees when
this process falls silent.
"""

import contextlib
import dataclasses
import faulthandler
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from os import _exit, getpid
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

from memproto import spec
from memproto.bindings import placed
from memproto.errors import InvalidSettings, KitUsageError
from memproto.loading import named_paths
from memproto.testing import clauses, credential_forms, facts, incidents, integrity, locate
from memproto.testing.credential_forms import Hiding
from memproto.testing.evidence import NotRecalled
from memproto.testing.instruments import log_tail, swallowed, watchers
from memproto.testing.instruments.load_step import LoadStep
from memproto.testing.judging import caught, events
from memproto.testing.judging.attribution import attribute, judge
from memproto.testing.messages import (
    Beat,
    CommandFailed,
    CommandRefused,
    Done,
    Judged,
    Loaded,
    Obeyed,
    Reaches,
    Ready,
    Reply,
    Row,
    ScriptPlayed,
    SecretsNamed,
    Survey,
    Surveyed,
    Timed,
)
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes import (
    commands,
    confinement,
    flushes,
    sandbox,
    stacks,
    template_process,
)
from memproto.testing.processes.attempts import Attempts
from memproto.testing.processes.commands import (
    Check,
    Clean,
    Command,
    Load,
    NameSecrets,
    Place,
    Play,
    TakeSurvey,
    TimeHooks,
)
from memproto.testing.provider import selection, survey, visits
from memproto.testing.provider.calls import ToldCalls
from memproto.testing.provider.extensions import TurnCount
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import PAYING, UNPAID, Watch
from memproto.testing.settings.functions import Functions
from memproto.testing.wire import Wire, hidden, hide_by, plain

#: Seconds between two messages to the parent that this interpreter still runs Python code.
_BEAT_S = 0.2

#: An address that only the kernel has seen.
UNNAMED = "an address outside of the machine"

_LOADERS = {"provider": "memproto.loading", "host": "memproto.testing.host.loading"}


_RED = (Outcome.FAIL, Outcome.WARN)

#: Mark that tells the facts of a second attempt at a check from those of the first.
_ANEW = 0x5A5A

#: Of a check's time so much may pass before it is made once more.
_FOR_OTHERS = 0.2


class Child:
    """
    The state of one child: its wire, its target, its watchers.

    Guarantees:
        Every command has exactly one answer, unless the process ends first.
    Assumes:
        Commands come one at a time.
    """

    def __init__(self, wire: Wire, unconfined: str) -> None:
        self._wire = wire
        self._unconfined = unconfined
        self._audit = watchers.AuditLog()
        self._log = log_tail.installed()
        self._swallowed = swallowed.heard()
        self._unrouted = confinement.unrouted()
        self._target: Any = None
        self._step = LoadStep(audit=self._audit)
        self._side: spec.Side = "provider"
        self._functions = Functions()
        self._loading: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
        self._hidden: dict[str, str] = {}
        # True if writes are made again after a pause: in this check, and in any.
        self._repeats = self._is_repeating = True
        self._telling: ToldCalls | None = None
        self._busy = threading.Event()
        threading.Thread(target=self._beat, name="kit-beat", daemon=True).start()
        self._threads = watchers.thread_ids()
        wire.send(Ready())

    def obey(self, command: Command) -> Done:
        """Carry out one command; gives the answer to it."""
        self._busy.set()
        try:
            reply = self._carry_out(command)
        except KitUsageError as error:
            reply = CommandRefused(type(error).__name__, error.what, error.fault, error.fix)
        except Exception:
            replaced = watchers.replaced()
            reply = CommandFailed(hidden(traceback.format_exc())[-1500:], tuple(replaced))
        done = Done(reply, self._outward())
        self._busy.clear()
        return done

    def _carry_out(self, command: Command) -> Reply:
        match command:
            case Load():
                return self._load(command)
            case Check():
                return self._check(command)
            case TakeSurvey():
                return self._survey(command)
            case TimeHooks():
                return self._time_hooks(command)
            case NameSecrets():
                return SecretsNamed(tuple(survey.secrets(self._run(command.place))))
            case Clean():
                return self._clean(command)
            case Play():
                return self._play(command)
        return Obeyed()

    def _outward(self) -> tuple[tuple[str, ...], ...]:
        """Addresses outside the machine that were tried since the last command, and who asked."""
        named, self._audit.refused = self._audit.refused, {}
        found = tuple(named.items())
        if self._unconfined or (unrouted := confinement.unrouted()) == self._unrouted:
            return found
        self._unrouted = unrouted
        started = ", ".join(dict.fromkeys(self._audit.programs))
        who = f"a program ({started})" if started else "native code"
        return (*found, (UNNAMED, who))

    def _beat(self) -> None:
        while True:
            self._busy.wait()
            self._wire.send(Beat())
            sleep(_BEAT_S)

    # -- loading ----------------------------------------------------------------------------------

    def _load(self, command: Load) -> Reply:
        sandbox.enter(Path(command.root), command.env)
        if not command.flushes:
            flushes.spare()
            watchers.accept(os)
        self._hide(command.env, command.config, command.secrets)
        locate.called_from(Path(command.directory))
        sys.path[:0] = command.path
        self._side = command.side
        named = {key: getattr(command, key) for key in ("factory", "path", "root", "env")}
        self._loading = {"target": _target(command), **named}
        loader = importlib.import_module(_LOADERS[self._side])
        clauses.checks(self._side)
        try:
            with self._watch({}, command.scale).hook("load"):
                self._target = self._take(loader, command)
            if command.meets and self._side == "provider":
                self._target.binding.meet(
                    self._target.target, lambda: self._configured(command.config)
                )
        except KitUsageError as error:
            if (refused := self._step.refused_before(error)) is not None:
                return _told(events.LoadRefused(check="", seen=refused))
            raise _placed(error, command) from None
        except BaseException as error:
            if (refused := self._step.refused_before(error)) is not None:
                return _told(events.LoadRefused(check="", seen=refused))
            return _told(caught.of_loading(error))
        self._prepare(command.functions, command.scale)
        self._log.open(_package(command.target))
        # Threads that importing started belong to the process from here on, not to a check.
        self._threads = watchers.thread_ids()
        origin = "; ".join((self._target.origin, *getattr(self._target, "notes", ())))
        return Loaded(
            binding=self._target.binding.as_dict(),
            origin=origin,
            forks=bool(self._audit.forks),
            unconfined=self._unconfined,
        )

    def _take(self, loader: Any, command: Load) -> Any:
        """Load the target; a provider under guard, with what its host has imported before it."""
        target, factory = _target(command), command.factory
        if self._side == "host":
            return loader.load(target, factory)
        if not factory:
            named_paths.refuse(command.target, Path(command.directory))
        loader.import_ahead(target)
        self._step = LoadStep(audit=self._audit, factory=factory, package=_package(command.target))
        return self._step.take(lambda: loader.load(target, factory), Path(command.root))

    def _configured(self, config: dict[str, Any]) -> Any:
        found = self._target.build()
        self._target.binding.configure(found, config)
        return found

    def _prepare(self, named: dict[str, list[str]], scale: float) -> None:
        """Find the user's own functions, and let a model be loaded."""
        self._functions = Functions(named, self._run_for_the_user, scale=scale)
        self._functions.find()
        self._functions.warm()

    @contextlib.contextmanager
    def _run_for_the_user(self, operation: str, budget_s: float) -> Iterator[None]:
        with self._wire.hook(operation, budget_s):
            yield

    def _clean(self, command: Clean) -> Reply:
        self._functions.clean(command.configs)
        # Threads that the user's function left running are not the provider's.
        self._threads |= watchers.thread_ids()
        return Obeyed()

    # -- checks -----------------------------------------------------------------------------------

    def _check(self, command: Check) -> Reply:
        requirement, place = spec.requirement(command.id), command.place
        check = clauses.checks(requirement.side)[requirement.id]
        is_failing = incidents.makes_fail(requirement.id)
        # A backend that the check makes fail is not asked more often than the check knows.
        self._repeats = self._is_repeating and not is_failing
        run = self._run(place)
        before = _globals()
        began = perf_counter()
        if command.traces:
            self._swallowed = swallowed.traced()
        results = self._judged(check, run)
        if self._side == "provider" and run.doubts:
            # As text, in which the provider's code, which runs again now, finds no result.
            kept, results = json.dumps(plain([item.as_dict() for item in results])), []
            if self._asks_otherwise(run, place):
                run = self._anew(place, run, _ANEW)
                results = self._judged(check, run)
            else:
                results = [Result.from_dict(item) for item in json.loads(kept)]
        for attempt in range(1, self._attempts(run)):
            is_missed = results[0].outcome is Outcome.UNTESTABLE and run.unkept
            if not is_missed or perf_counter() - began > check.budget_s * _FOR_OTHERS:
                break
            run.finish()
            run = self._anew(place, run, _ANEW + 1 + attempt)
            results = self._judged(check, run)
        if run.watch.has_refused:
            # A verdict on calls that were not made would be none.
            unpaid = events.NotExercised(check=requirement.id, reason=UNPAID, needs=PAYING)
            results = attribute(unpaid)
        self._is_repeating &= is_failing or run.watch.repeats
        kept, results = json.dumps(plain([item.as_dict() for item in results])), []
        run.finish()
        results = [Result.from_dict(item) for item in json.loads(kept)]
        self._swallowed.begin(is_on=False)
        took_s = perf_counter() - began
        changed = watchers.differences(before, _globals())
        hooks, times = run.watch.hooks, run.watch.times
        first = dataclasses.replace(results[0], duration_s=took_s, hooks=hooks, times=times)
        return Judged(
            results=_rows([first, *results[1:]]),
            threads=self._leftover(command.grace_s),
            changed=tuple(changed),
            late=tuple(run.watch.late),
            excused=tuple(run.watch.excused),
            limited_s=run.watch.limited_s,
        )

    def _judged(self, check: clauses.Check, run: Any) -> list[Result]:
        """The results of a check, the red ones with what the target logged before."""
        is_on = check.requirement != incidents.COUNTS
        self._log.begin(is_on=is_on)
        self._swallowed.begin(is_on=is_on)
        return [
            self._with_log(item) if item.outcome in _RED else item
            for item in self._decided(check, run)
        ]

    def _with_log(self, result: Result) -> Result:
        """A red result with what the target logged; of a lost text, with what it swallowed."""
        told = self._log.swallowed
        is_lost = isinstance(result.evidence, NotRecalled)
        silenced = self._swallowed.found() if is_lost and not told else ()
        return dataclasses.replace(
            result,
            log=self._log.lines(),
            swallowed=told or silenced,
            silenced=bool(silenced),
        )

    def _decided(self, check: clauses.Check, run: Any) -> list[Result]:
        """The results of a check, with other facts where a selective provider is told them."""
        requirement = spec.requirement(check.requirement)
        if self._side == "host":
            return judge(requirement, lambda: run.decide(check.decide), run)
        if not run.is_selective or run.context.no_session:
            return judge(requirement, lambda: check.decide(run), run)
        return judge(requirement, lambda: self._of_selective(check, run), run)

    @staticmethod
    def _of_selective(check: clauses.Check, run: Run) -> None:
        run.tell_in(run.manner)
        selection.judged(check.decide, run)

    def _attempts(self, run: Any) -> int:
        """Number of times that a check is made in which a selective provider kept too little."""
        if self._side != "provider" or not run.is_selective or "manner" not in self._shared:
            return 1
        return selection.ATTEMPTS if run.manner.is_sure else selection.UNSURE_ATTEMPTS

    def _asks_otherwise(self, done: Run, place: Place) -> bool:
        """
        True if recall has to be asked in another way than by questions; found out once.

        It is asked for behind a check in which something did not come back, not within it: there
        the backend may be made to fail, or the clock be held.
        """
        if "asking" in self._shared or done.is_selective or done.watch.has_refused:
            return False
        done.finish()
        # A script makes the calls of the check, and none of these.
        run = self._anew(dataclasses.replace(place, tells=False), done, _ANEW + 1)
        try:
            way = run.find_way()
        except Exception:
            # A fault of a hook there is found by a check that calls it.
            way = self._shared["asking"] = facts.QUESTION
        run.finish()
        return way != facts.QUESTION

    def _anew(self, place: Place, done: Run, mark: int) -> Run:
        """A run for the same command with other facts, of which hook calls go on to be counted."""
        for name in [key for key in self._shared if key.startswith("_")]:
            # Facts that were observed once for several checks belong to the former attempt.
            del self._shared[name]
        run: Run = self._run(dataclasses.replace(place, salt=place.salt ^ mark))
        run.watch.calls_left = done.watch.calls_left
        run.watch.limited_s = done.watch.limited_s
        return run

    def _survey(self, command: TakeSurvey) -> Reply:
        run = self._run(command.place)
        found: dict[str, Any] = {}
        requirement = spec.requirement(spec.role("stores"))
        look = survey.survey if command.session else survey.without_session
        began_s = _computed_s()
        results = judge(requirement, lambda: found.update(look(run)), run)
        run.finish()
        if not found:
            return Judged(_rows(results))
        return Surveyed(Survey(**found), Timed(run.watch.hooks, _computed_s() - began_s))

    def _time_hooks(self, command: TimeHooks) -> Timed:
        run, began_s = self._run(command.place), _computed_s()
        survey.call_hooks(run)
        run.finish()
        return Timed(run.watch.hooks, _computed_s() - began_s)

    def _play(self, command: Play) -> Reply:
        run: Run = self._run(command.place)
        run.limits |= command.limits
        script, kept = Path(command.script), Path(command.kept)
        done, is_whole = visits.play(run, script, kept, command.budget_s)
        run.finish()
        return ScriptPlayed(done, is_whole)

    def _run(self, place: Place) -> Any:
        root, context = Path(place.root), place.context
        sandbox.enter(root, place.env)
        self._hide(place.env, context.config, context.secrets)
        watch = self._watch(context.deaths, context.scale)
        watch.repeats = self._repeats
        watch.patient = context.patient
        watch.calls_left = context.calls_left
        watch.announces = "cleanup" in self._functions
        watch.unanswered = self._attempted().are_unanswered
        watch.turns = TurnCount() if "turns" in context.capabilities.get("extensions", ()) else None
        salt = place.salt
        if self._side == "host":
            hostrun = importlib.import_module("memproto.testing.host.run")
            return hostrun.HostRun(self._target, watch, context, salt=salt)
        self._tell_calls(watch, root, tells=place.tells)
        home = sandbox.places(root)["memory"]
        loaded = self._target
        run = Run(loaded.build, loaded.binding, home, watch, context, salt=salt)
        run.audit = self._audit
        run.load_step = self._step
        run.freshness.functions = self._functions
        run.root = root
        run.loading = self._loading
        run.is_confined = not self._unconfined
        run.shared = self._shared
        if context.asking:
            self._shared.setdefault("asking", context.asking)
        run.facts.way = self._shared.get("asking", facts.QUESTION)
        return run

    def _attempted(self) -> Attempts:
        """The attempts to connect from now on; the parent hears of the first of each kind."""
        attempts = Attempts(is_confined=not self._unconfined)

        def trying(outside: bool) -> None:
            is_first = not (attempts.refused if outside else attempts.reached)
            attempts.note(outside=outside)
            if is_first:
                self._wire.send(Reaches(outside))

        self._audit.trying = trying
        return attempts

    def _hide(self, variables: dict[str, str], config: dict[str, Any], also: list[str]) -> None:
        """Have no text of this process tell a credential, of which a cut would leave a part."""
        found = credential_forms.of_variables(variables, also) | credential_forms.of_config(
            config, also
        )
        if found != self._hidden:
            self._hidden = found
            hide_by(Hiding(found))

    def _tell_calls(self, watch: Watch, root: Path, *, tells: bool) -> None:
        """Have the parent hear of each call, where it writes scripts that make them again."""
        facts.listeners.clear()
        if self._telling is not None:
            # A thread that an earlier run left may still call.
            self._telling.end()
        if tells:
            watch.calls = self._telling = telling = ToldCalls(self._wire, root)
            facts.listeners.append(telling.looked)

    def _watch(self, deaths: dict[str, int], scale: float = 1.0) -> Watch:
        binding = getattr(self._target, "binding", None)
        budgets_s = dict(getattr(binding, "budgets_s", {}))
        return Watch(self._wire, scale=scale, deaths=deaths, budgets_s=budgets_s)

    def _leftover(self, grace_s: float) -> int:
        """Number of threads and timers that the check left; they get a moment to end."""
        end = monotonic() + grace_s
        while (left := self._running()) and monotonic() < end:
            sleep(0.005)
        return left

    def _running(self) -> int:
        return len(watchers.thread_ids() - self._threads) + watchers.has_timer()


def _rows(results: list[Result]) -> tuple[Row, ...]:
    return tuple(item.as_dict() for item in results)


def _told(event: events.Event) -> Judged:
    return Judged(_rows(attribute(event)))


def _computed_s() -> float:
    """Processor seconds of this process, and of those that it started and that have ended."""
    # A provider behind a command computes elsewhere, and on the same processors.
    return sum(os.times()[:4])


def _target(command: Load) -> str:
    """The target as typed; a directory from where the user stands, which is not here."""
    typed = command.target
    packages = named_paths.packages_of(typed, Path(command.directory))
    return str(packages[0]) if len(packages) == 1 else placed(typed, Path(command.directory))


def _package(target: str) -> str:
    """The top package that TARGET names, where it is the name of a module; else ""."""
    top = target.partition(":")[0].partition(".")[0]
    return top if top.isidentifier() else ""


def _placed(error: KitUsageError, command: Load) -> KitUsageError:
    """The error with the target as it was typed, or the line of `factory` if it is about that."""
    factory = command.factory
    if error.what == f"--memproto={_target(command)}":
        error.what = f"--memproto={command.target}"
    if not factory or not error.what.endswith(f"={factory}"):
        return error
    return InvalidSettings(command.factory_place, f"{factory}: {error.fault}", error.fix)


def _globals() -> dict[str, Any]:
    seen = {"environment": watchers.environment(), "functions": watchers.replaced()}
    return {**watchers.process_globals(), **seen}


# -- the process ----------------------------------------------------------------------------------


def main() -> None:
    """
    Serve commands from the first of three descriptors on the command line until it closes.

    With one descriptor be a template, and in each of its copies do the same with its three. A
    fourth word, of one that a template started, says why it is not confined, or nothing.
    """
    words = sys.argv[1:]
    if len(words) == 1:
        (asked, results, dumps), unconfined = template_process.serve(int(words[0]))
    else:
        asked, results, dumps = map(int, words[:3])
        unconfined = words[3] if len(words) > 3 else confinement.confine()
    for descriptor in (asked, results, dumps):
        os.set_inheritable(descriptor, False)
    pid = getpid()
    # A parent that was started in the background hands down an interrupt that is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    with os.fdopen(dumps, "a", encoding="utf-8", errors="replace") as file:
        faulthandler.enable(file=file)
        stacks.write_on_demand(file)
        with os.fdopen(asked, encoding="utf-8") as source:
            seal, last_seal = (integrity.sealer(bytes.fromhex(key)) for key in next(source).split())
            wire = Wire(results, seal)
            # This frame runs already: what it holds in variables no replaced name changes.
            report, changed = wire.reporter(last_seal), template_process.watcher()
            read = commands.read
            child = Child(wire, unconfined)
            for line in source:
                done = child.obey(read(line))
                report(done, changed)
                if getpid() != pid:
                    # A copy that a provider forked ends here: it must not take the next command.
                    break
        # A thread that a provider left must not keep this process: its exit has a check of its own.
        _exit(0)


if __name__ == "__main__":
    main()
