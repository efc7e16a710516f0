"""The child processes of one target: one at a time, with the target loaded in each."""

import itertools
import time
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memproto import bindings, errors
from memproto.bindings import Binding
from memproto.errors import KitUsageError
from memproto.loading import servers
from memproto.testing import incidents
from memproto.testing.context import Context
from memproto.testing.judging import events, fates
from memproto.testing.judging.attribution import attribute
from memproto.testing.messages import CommandRefused, Loaded
from memproto.testing.outcomes import Result
from memproto.testing.processes import ascii_path, sandbox, vitals
from memproto.testing.processes.answer import Answer, ChildDidNotStart
from memproto.testing.processes.commands import Clean, Command, Load, Place
from memproto.testing.processes.process import ChildProcess
from memproto.testing.settings import functions
from memproto.testing.settings.caches import Caches
from memproto.testing.settings.order import Contact, Order

#: Seconds that a child may take for anything but a check.
OTHER_COMMANDS_S = 90.0

#: Seconds between two looks if a disowned process still runs: a look is not free.
_LOOK_S = 0.1

#: Name to the error of a command that met a fault of the user's own functions: it ends the run.
_OF_THE_USER = {error.__name__: error for error in (errors.InvalidSettings, errors.DriverFailed)}

_NOTHING: Mapping[str, str] = MappingProxyType({})


class CannotServe(Exception):
    """No process holds the target; the result says why, as that of the rule on loading."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.observed)
        self.result = result


class Abandoned(BaseException):
    """Nobody waits for what is judged any more; nothing but the end of a thread catches it."""


class Children:
    """
    Starts, asks and ends the processes that hold one target.

    Guarantees:
        A fault of the user's own functions comes out as a usage error, and as nothing else.
        A check's sessions are cleaned up after it, in the next process if its own was lost.
        Processes that one has disowned end before the next one starts, unless they were taken.

    Attributes:
        process: The one that runs, or None.
        served: The checks that it has run.
        shares: True if checks of one chapter share a process.
        started: Number of processes that were started.
        spent: Number of hook calls that were made, if the settings set a limit.
        has_frozen: True if one froze: the next is believed to after a shorter time.

    """

    def __init__(
        self,
        order: Order,
        contact: Contact,
        deaths: dict[str, int],
        root: Path,
        owner: str = "",
        *,
        flushes: bool = False,
    ) -> None:
        """
        `owner` is the one whose credentials its processes get; "" for `root` itself.

        Without `flushes` the target waits for no disk but at first contact.
        """
        self.process: ChildProcess | None = None
        self.served: list[str] = []
        self.shares = True
        self.started = 0
        self.spent = 0
        self._order = order
        self._contact = contact
        self._deaths = deaths
        self._root = root
        self._owned_by = owner or str(root)
        self._flushes = flushes
        self._is_abandoned = False
        self._spent_before = contact.spent
        self._caches = Caches(order.settings.caches, root.parent / "caches")
        self._numbers = itertools.count(1)
        #: Places of the processes that the one which runs, or ran last, has started.
        self._places: list[Path] = []
        self._chapter = ""
        self._environment: Mapping[str, str] = {}
        self.has_frozen = False
        self._opened: list[dict[str, Any]] = []

    # -- starting ---------------------------------------------------------------------------------

    def serve(self, chapter: str, environment: Mapping[str, str] = _NOTHING) -> None:
        """Have a process for a chapter, its last one while nothing is left in it."""
        kept = self.process is not None and self.process.alive
        same = (chapter, environment) == (self._chapter, self._environment)
        if not (kept and self.shares and same):
            self._environment = environment
            self.start(chapter)

    def start(self, chapter: str = "") -> Answer:
        """
        Start a process and load the target in it.

        Raises:
            CannotServe: The target did not load, in a way that is its own fault or the kit's.
            KitUsageError: At first contact: it cannot be loaded as it was asked for. At any time:
                a function of the user's does not do what its setting asks for.

        """
        self.dismiss()
        if self._is_abandoned:
            raise Abandoned
        self._end_disowned()
        self.started += 1
        self._chapter, self.served = chapter, []
        try:
            answer = self._load()
        except ChildDidNotStart as fault:
            raise _cannot_serve(self._kit_failed(str(fault))) from None
        if isinstance(answer.reply, CommandRefused):
            self.dismiss()
            self._refuse(answer.reply)
        if answer.fate != "answered":
            self._refuse_dead(answer)
        if not isinstance(answer.reply, Loaded):
            self.dismiss()
            raise CannotServe(fates.results(answer, self._load_rule)[0])
        self._contact.binding = self._binding(answer.reply)
        self._contact.origin = answer.reply.origin
        self._contact.unconfined = answer.reply.unconfined
        self.clean()
        return answer

    def _binding(self, loaded: Loaded) -> Binding:
        """The binding that a child told, as data: the code of strangers stays in children."""
        try:
            return bindings.told(loaded.binding)
        except ValueError as error:
            self.dismiss()
            said = f"what was told of its binding: {error}"
            raise _cannot_serve(self._kit_failed(said)) from None

    def start_again(self) -> None:
        """Go on for the same chapter in a new process; raises as `start` does."""
        self.start(self._chapter)

    def _load(self) -> Answer:
        root = self._new_place("process")
        settings = self._order.settings
        self._caches.enter(root / "load" / "user")
        environment = sandbox.environment(root / "load", self.variables)
        path = self._search_path()
        if ascii_path.is_needed(environment):
            environment |= ascii_path.of_interpreter(environment, root / "path")
            path = ascii_path.linked(path, root / "path")
        frozen_s = vitals.FROZEN_AGAIN_S if self.has_frozen else vitals.FROZEN_S
        scale = self._order.scale
        side = self._order.side
        self.process = ChildProcess(
            root,
            environment,
            side=side,
            scale=scale,
            frozen_s=frozen_s,
            memory_mb=settings.memory_mb,
            owner=self.owner,
        )
        command = Load(
            target=self._target(),
            factory=settings.factory,
            factory_place=settings.place("factory"),
            functions=settings.functions() if self._order.side == "provider" else {},
            side=self._order.side,
            scale=self._order.scale,
            root=str(root / "load"),
            env=self.variables,
            secrets=self._secrets,
            directory=str(self._order.directory),
            path=path,
            meets=self._contact.binding is None,
            config=self._config() if self._contact.binding is None else {},
            flushes=self._flushes
            or self._contact.binding is None
            or servers.is_server(self._order.target),
        )
        return self.ask(command, OTHER_COMMANDS_S)

    def _config(self) -> dict[str, Any]:
        """The operator's own keys of each config; those of the service count less."""
        return {**self._contact.service.get("config", {}), **self._order.settings.config}

    def _target(self) -> str:
        """The target for a child; the command of a server with the directory that it runs in."""
        order, settings = self._order, self._order.settings
        if not servers.is_server(order.target) or order.side == "host":
            for key in ("command", "cwd"):
                if getattr(settings, key):
                    fault = f"is for a target {servers.SCHEME}..., and this one is {order.target}"
                    raise settings.fault(key, fault, "leave it out")
            return order.target
        words, cwd = servers.words_of(order.target)
        folder = order.directory / (cwd or settings.cwd)
        return servers.as_target(settings.command or words, str(folder))

    def _search_path(self) -> list[str]:
        """The places of the target, and then of the functions of a file that was named."""
        own = sandbox.search_path(self._order.directory)
        folder = self._order.settings.folder
        return [*own, *(sandbox.search_path(Path(folder)) if folder else ())]

    @property
    def owner(self) -> str:
        """The owner of the credentials that its processes get: this target, if it is given any."""
        service = any(self._contact.service.get(kind) for kind in ("env", "config"))
        settings = self._order.settings
        return self._owned_by if settings.env or settings.config or service else ""

    @property
    def _secrets(self) -> list[str]:
        """Names alone: the values are in the child's environment and config anyway."""
        return sorted({*self._order.settings.from_env, *self._contact.secrets})

    @property
    def variables(self) -> dict[str, str]:
        """Variables of a child's environment beside those of all: the user's word is last."""
        service = self._contact.service.get("env", {})
        return {**self._caches.env, **service, **self._order.settings.env, **self._environment}

    def _refuse(self, refused: CommandRefused) -> None:
        if self._contact.binding is None:
            named = getattr(errors, refused.error, None)
            if not (isinstance(named, type) and issubclass(named, KitUsageError)):
                named = KitUsageError
            raise named(refused.what, refused.fault, refused.fix)
        raise _cannot_serve(events.LoadFailedAgain(check=self._load_rule, fault=refused.fault))

    def _refuse_dead(self, answer: Answer) -> None:
        binding = self._contact.binding
        if self._order.side == "host" and binding is None:
            raise errors.TargetDoesNotImport(
                f"--memproto-host={self._order.target}",
                f"{fates.described(answer, None)} while it was loaded",
                "make it import and build in a plain interpreter first",
            )
        raise _cannot_serve(fates.not_loaded(answer, binding, self._order.side))

    @property
    def _load_rule(self) -> str:
        return incidents.load_rule(self._order.side)

    def _kit_failed(self, text: str) -> events.KitFailed:
        return events.KitFailed(check=self._load_rule, text=text)

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, command: Command, budget_s: float) -> Answer:
        """
        Give the process a command; one that does not live on is let go of.

        Raises:
            InvalidSettings: A function of the user's did not do what its setting asks for.
            DriverFailed: A method of the user's driver that is no step of its host raised.

        """
        assert self.process is not None
        answer = self.process.ask(command, budget_s)
        self.spent += answer.spent
        self._opened += answer.opened
        for address, who in answer.outward:
            self._contact.outward.setdefault(address, who)
        if answer.fate != "answered":
            self.process = None
        self.has_frozen |= answer.fate == "froze"
        self._blame_the_user(answer)
        return answer

    def _blame_the_user(self, answer: Answer) -> None:
        refused = answer.reply
        if isinstance(refused, CommandRefused) and refused.error in _OF_THE_USER:
            raise _OF_THE_USER[refused.error](refused.what, refused.fault, refused.fix)
        if answer.operation.startswith(functions.OPERATION):
            key = answer.operation.removeprefix(functions.OPERATION)
            stack = f"; stopped at {answer.stack[0]}" if answer.stack else ""
            fault = (
                f"{getattr(self._order.settings, key)} had not returned after {answer.took_s:.0f} s"
            )
            if answer.fate == "died":
                fault = f"{getattr(self._order.settings, key)} ended the process ({answer.ending})"
            raise self._order.settings.fault(key, fault + stack, "make it return")

    def clean(self) -> None:
        """Have the user's `cleanup` remove what was opened since the last time, if any."""
        if self._opened and self.process is not None:
            opened, self._opened = self._opened, []
            self.ask(Clean(_distinct(opened)), OTHER_COMMANDS_S)

    def finish(self) -> None:
        """Clean up what lost processes left, in a new one."""
        if self._opened and self.process is None:
            self.start()
        self.clean()

    def place(
        self,
        name: str,
        *,
        patient: bool = False,
        stuck: Collection[str] = (),
        part: tuple[int, int] = (0, 1),
        grows: bool = False,
    ) -> Place:
        """Common part of a command about the target: a fresh root, and the context of the run."""
        root = self._new_place(name.lower())
        self._caches.enter(root / "user")
        order, contact = self._order, self._contact
        context = Context(
            seed=order.seed,
            profile=order.profile,
            scale=order.scale,
            slowdown=order.slowdown,
            config=self._config(),
            secrets=self._secrets,
            capabilities=contact.capabilities,
            routes=contact.routes,
            asking=contact.asking,
            manner=contact.manner,
            logged=contact.logged,
            deaths=self._deaths,
            stuck=sorted(stuck),
            patient=patient,
            declares=order.settings.declares,
            configured=order.settings.configures,
            caches=self._caches.directories,
            backend=order.settings.backend,
            no_session=contact.blocked if contact.sessionless else "",
            no_session_needs=tuple(need.as_dict() for need in contact.blocked_needs),
            calls_left=self._calls_left(),
            part=part,
            grows=grows,
        )
        # Parts of a check share no user and no session.
        named = f"{name} {part[0]}" if part[0] else name
        salt = zlib.crc32(named.encode()) & 0xFFFF
        return Place(str(root), self.variables, salt, bool(order.replay), context)

    def _new_place(self, name: str) -> Path:
        self._places.append(self._root / f"{name}-{next(self._numbers)}")
        return self._places[-1]

    def _calls_left(self) -> int | None:
        limit = self._order.settings.max_hook_calls
        if limit is None or self._order.side == "host":
            return None
        return (limit - self._spent_before) // self._order.workers - self.spent

    # -- ending -----------------------------------------------------------------------------------

    def take(self) -> ChildProcess | None:
        """Let go of the process; it runs on, in the caller's hands."""
        process, self.process = self.process, None
        self._places.clear()
        return process

    def dismiss(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()

    def leave(self) -> None:
        """End the process, and what it started and disowned, as the start of another one does."""
        self.dismiss()
        self._end_disowned()

    def abandon(self) -> None:
        """End the process that runs, and have no other one start; from another thread."""
        self._is_abandoned = True
        if (process := self.process) is not None:
            process.interrupt()

    def wait_for_helpers(self, for_s: float) -> None:
        """Let what the process started and disowned go on for a while, as long as both run."""
        end = time.monotonic() + for_s
        while self.process is not None and self.process.alive and time.monotonic() < end:
            if not vitals.helpers(self.process.pid, *self._places):
                return
            time.sleep(_LOOK_S)

    def _end_disowned(self) -> None:
        """End what the last process started and disowned: in time it would fill the machine."""
        if self._places:
            vitals.end_strays(*self._places)
        self._places.clear()


def _cannot_serve(event: events.Event) -> CannotServe:
    (result,) = attribute(event)
    return CannotServe(result)


def _distinct(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [config for index, config in enumerate(configs) if config not in configs[:index]]
