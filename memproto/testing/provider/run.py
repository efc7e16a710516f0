"""Tools of a provider-side check: new instances, unique sessions, facts to plant, routes."""

import contextlib
import dataclasses
import itertools
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import sleep
from typing import Any, NoReturn, TypeVar

from memproto.adapters.homes import own_folder
from memproto.bindings import Binding
from memproto.operations import CORE_HOOKS, OPERATIONS
from memproto.testing import incidents, locate, patience
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import EXAMPLES, Context
from memproto.testing.evidence import Evidence
from memproto.testing.facts import BY_NAME, QUESTION, WAYS, Fact, Facts
from memproto.testing.instruments.load_step import LoadStep
from memproto.testing.instruments.watchers import AuditLog
from memproto.testing.needs import KEEPING, NO_REFUSAL, Declaration, Need, Setting
from memproto.testing.processes.sandbox import HOST_HOME
from memproto.testing.provider import conversation, routes
from memproto.testing.provider.calls import Calls
from memproto.testing.provider.freshness import Freshness
from memproto.testing.provider.preparation import Preparation
from memproto.testing.provider.selection import MANNERS, PLAIN, Manner, improving, unheard
from memproto.testing.provider.subject import HookRaised, HookUnpaid, Subject, Watch
from memproto.testing.provider.write_action import ADD_ONLY, Way, Writing
from memproto.testing.wire import show
from memproto.types import SPEC_VERSION

T = TypeVar("T")

#: Every hook of an extension is driven somewhere, but the prompt only in its own chapter: what
#: stands in the prompt need not come back by recall, and recall is how the kit reads.
_EXTENSION_HOOKS = tuple(
    row.native for row in OPERATIONS.values() if row.extension not in ("", "prompt")
)

#: More than a check stores in one session: what a narrow limit does is for MP-RECALL-007.
_RECALL_CHARS = 1_000_000

#: A wait that is made longer stays below the time after which a check that does nothing is stuck.
_LONGEST_S = 15.0

#: The rest of a session before it ends, where an end that comes at once may be why a text is lost.
_REST_S = 3.0

#: The checks of a process leave this for those after them, if a fact came after a turn with its
#: question, and not before.
_BY_TURN = "brought by the turn before"

#: Route to the operation that stores by it.
_ROUTE_OPERATIONS = {"turns": "record", "writes": "mirror", "tools": "call_tool"}

#: Nothing that was stored came back at first contact, and the provider declares nothing.
_IF_NOTHING_COMES_BACK = (
    Setting("service", where="its backend is missing"),
    Setting("env", where="its backend is missing"),
    Setting("settle", where="it is fresh later"),
)


class Run:
    """
    One check's view of the target. Every run has a home, a user and a session of its own.

    Attributes:
        binding: The binding that the provider was written for.
        build: Gives a new instance, unguarded.
        home: The directory that instances get unless another one is asked for.
        facts: A source of facts that no other check of this run plants.
        context: See `Context`.
        freshness: When what was stored can be recalled.
        is_confined: True if its network namespace is the target's own.
        loading: Values that another process needs to load the same target.
        shared: Values that checks of this process leave for those that come after them.
        tag: Mark in the ids of this check's user, profile and sessions.
        numbers: Numbers that tell its sessions apart, if the provider does not keep them apart.
        route: The route by which the check stores, of those that it needs; "" if it needs none.
        asked: For each route that was tried, in which ways recall brought the fact.
        begun: For each home, the number of sessions that were to begin in it.
        unkept: Number of texts the check missed that never came back, of a selective provider.
        doubts: True if something did not come back, and none ever did for a question.
        observed: Declarations that a provider which cannot declare was seen to keep.
        limits: The `limits` of each config.

    """

    def __init__(
        self,
        factory: Callable[[], Any],
        binding: Binding,
        home: Path,
        watch: Watch,
        context: Context,
        *,
        salt: int = 0,
    ) -> None:
        self.binding = binding
        self.home = home
        self.context = context
        self.watch = watch
        self.freshness = Freshness(watch)
        self._preparation = Preparation(lambda: self.shared)
        self.facts = Facts(context.seed * 1009 + salt)
        self.audit: AuditLog | None = None
        self.load_step: LoadStep | None = None
        self.root = home.parent
        self.is_confined = False
        self.loading: dict[str, Any] = {}
        self.shared: dict[str, Any] = {}
        self.observed: dict[str, Any] = {}
        self.limits = {"recall_chars": _RECALL_CHARS}
        self.asked: dict[str, list[str]] = {}
        self.route = ""
        self.begun: Counter[str] = Counter()
        self.unkept = 0
        self._told_in = PLAIN
        self.doubts = False
        self._routes = dict(context.routes)
        self.build = factory
        self._latest: Any = None
        self.numbers = itertools.count(1)
        self.tag = f"{salt:04x}{context.seed % 65536:04x}"
        self._open: list[Subject] = []

    # -- instances --------------------------------------------------------------------------------

    def provider(self) -> Subject:
        """A new instance from the same factory, not initialized."""
        subject = Subject(self.watch_load(), self.binding, self.watch)
        subject.writing, subject.manner = self.writing, self._told_in
        subject.preparation = self._preparation
        extensions = self.context.capabilities.get("extensions")
        subject.declared = tuple(extensions) if isinstance(extensions, list) else None
        return subject

    def watch_load(self) -> Any:
        """Build an instance under the load budget, without connections and programs."""
        guard = self.load_step.guarding() if self.load_step else contextlib.nullcontext()
        failure: HookRaised | None = None
        with self.watch.hook("load"):
            try:
                with guard:
                    self._latest = self.build()
                self.binding.configure(self._latest, self.context.config)
                self.binding.connect(self._latest, conversation.unfit)
            except BaseException as error:
                failure = HookRaised("load", error)
        if failure is not None:
            raise failure
        # Else the first hook that is asked for would pay for it with its own budget.
        self.binding.look(self._latest)
        return self._latest

    def hook(self, operation: str) -> str:
        """The hook that serves `operation`, in the author's binding."""
        if operation == "load":
            return "the class or factory"
        return self.binding.hook(operation)

    def where(self, operation: str) -> str:
        """File, line and name of the hook that serves `operation`."""
        if operation == "load" or self._latest is None:
            return ""
        return locate.hook(self._latest, operation, self.binding)

    def session_key(self) -> str:
        """
        A session id that no other check uses.

        If the provider keeps sessions apart, a check has only one: a text stored in it is to
        be found again under the same id.
        """
        if "session" in self.declared("isolates", ["profile"]):
            return f"session-{self.tag}"
        return f"session-{self.tag}-{next(self.numbers)}"

    def config(self, home: Path | None = None, **extra: Any) -> dict[str, Any]:
        """Values that a conforming host hands to initialize; an `extra` of None drops its key."""
        place = home or self.home
        own_folder(place)
        base: dict[str, Any] = {
            "home": str(place),
            "protocol": {
                "version": SPEC_VERSION,
                "host": "memproto-kit",
                "hooks": [*CORE_HOOKS, *_EXTENSION_HOOKS],
                "contexts": ["primary"],
            },
            "deadlines": {
                "enrich_s": self.binding.budgets_s.get("recall", 5.0),
                "compress_s": 120.0,
                "shutdown_s": 15.0,
            },
            "limits": dict(self.limits),
            "platform": "cli",
            "agent_context": "primary",
            "agent_identity": f"profile-{self.tag}",
            "user_id": f"user-{self.tag}",
        }
        asked = {**base, **self.context.config, **extra}
        # None leaves a key out, unless the operator set it: then it is there in every session.
        left_out = {key for key, value in extra.items() if value is None}
        kept = {key: self.context.config[key] for key in left_out if key in self.context.config}
        return {k: v for k, v in asked.items() if k not in left_out} | kept

    def open(self, home: Path | None = None, session: str = "", **extra: Any) -> Subject:
        """A new instance, initialized for a session; closed after the check if it is still open."""
        self.settle()
        self._wait_for_the_snapshot()
        key, config = session or self.session_key(), self.config(home, **extra)
        HOST_HOME.name(self.binding.home_variable, config["home"])
        self.begun[config["home"]] += 1
        subject = self.provider()
        self._open.append(subject)
        self.freshness.config = {**config, "session_key": key}
        subject.open(key, config)
        return subject

    def close(self, subject: Subject) -> None:
        """Shut an instance down, once."""
        if subject in self._open:
            self._open.remove(subject)
        subject.close()

    def finish(self) -> None:
        """Shut down what the check left open; what that raises is no part of the check."""
        for subject in list(self._open):
            self._open.remove(subject)
            with contextlib.suppress(Exception):
                subject.close()
        HOST_HOME.put_back()

    @contextlib.contextmanager
    def session(
        self, home: Path | None = None, session: str = "", **extra: Any
    ) -> Iterator[Subject]:
        """An initialized instance that is shut down at the end of the block."""
        subject = self.open(home, session, **extra)
        yield subject
        self.close(subject)

    def place(self, name: str) -> Path:
        """A directory beside the home, for a second profile."""
        return self.home.with_name(f"{self.home.name}-{name}")

    def own_home(self, name: str) -> Path:
        """The home of that name, if sessions have homes of their own; else the process's one."""
        return self.place(name) if self.binding.own_homes else self.home

    def of_part(self, items: Iterable[T]) -> list[T]:
        """Those of the items that belong to the part of the check that is made here."""
        number, parts = self.context.part
        return list(items)[number::parts]

    # -- declarations -----------------------------------------------------------------------------

    def declared(self, key: str, default: Any) -> Any:
        """The provider's declaration under `key`, or the specification's default."""
        return {**self.context.capabilities, **self.observed}.get(key, default)

    @property
    def declares(self) -> dict[str, Any]:
        """The declarations in the settings for a provider that cannot."""
        return self.context.declares

    @property
    def mirrors(self) -> dict[str, list[str]]:
        """Target to the actions that are told and take effect, as declared or observed."""
        declared: dict[str, list[str]] = self.declared("mirrors", ADD_ONLY)
        told = self.binding.actions_told()
        if told == Binding.actions_told(self.binding):
            return declared
        return {target: [a for a in actions if a in told] for target, actions in declared.items()}

    @property
    def writing(self) -> Writing:
        """The way to mirror a text so that it is stored; knowledge of it serves all checks."""
        mirrors = self.mirrors
        found: Writing = self.shared.setdefault(f"writing by {mirrors}", Writing(mirrors))
        return found

    def learn_writing(self) -> None:
        """Find out which way of writing is not refused, for a process that does not try them."""
        if len(self.writing.to_try()) > 1:
            with self.session(self.own_home("writing")) as subject, contextlib.suppress(HookRaised):
                subject.write(self.facts.new().text)

    def serves(self, route: str) -> bool:
        """True if the provider stores by `route`, as declared or as observed at first contact."""
        if route == "writes" and self.writing.is_by_replace:
            return self._replace_brings()
        if route == "writes" and not self.writing.stores:
            return False
        if route not in self._routes:
            # First contact ended before it was known, as where a race ends the process at times.
            self._routes[route] = self.find_out(route)
        return self._routes[route] in ("declared", "observed")

    def find_out(self, route: str) -> str:
        """
        Try whether what is stored by `route` comes back: "observed", else "absent".

        A provider that cannot declare may keep each session to itself, or take one of the targets
        of a write only: that is seen here too.
        """
        if route != "writes" or self.writing.took:
            return "observed" if self._comes_back(route, self.writing) else "absent"
        taken = self._ways_taken() if self.writing.stores else []
        if taken:
            self.writing.prefer(taken[0])
        if not self.binding.can_declare and taken and self.declared("mirrors", None) is None:
            self.observed["mirrors"] = {target: [action] for action, target in taken}
        return "observed" if taken else "absent"

    def _ways_taken(self) -> list[Way]:
        """The ways of writing that bring a text back; one is enough of who can declare."""
        taken: list[Way] = []
        for way in self.writing.to_try():
            if self._comes_back("writes", Writing({way[1]: [way[0]]})):
                taken.append(way)
                if self.binding.can_declare:
                    break
        return taken

    def _comes_back(self, route: str, writing: Writing, *, thorough: bool = False) -> bool:
        with self.aside():
            return self._survey(route, writing, thorough=thorough)

    def _survey(self, route: str, writing: Writing, *, thorough: bool) -> bool:
        home, is_own = self.own_home(f"survey-{route}"), self.binding.own_homes
        tag = f"session-{self.tag}-{next(self.numbers)}"

        @contextlib.contextmanager
        def opened(which: str) -> Iterator[Subject]:
            with self.session(home, session="" if is_own else f"{tag}-{which}") as subject:
                subject.writing = writing
                yield subject

        later = ("second",) if is_own else ("second", "first")
        asked = self.asked.setdefault(f"{route} by {writing.first}", [])

        def is_back(subject: Subject, fact: Fact) -> bool:
            asked[:] = self._ways_back(subject, fact, thorough=thorough)
            return bool(asked)

        back_in = routes.survey(opened, self.facts.new(), route, later, is_back)
        if back_in == "first":
            self.observed["isolates"] = ["session"]
        return bool(back_in)

    def _ways_back(self, subject: Subject, fact: Fact, *, thorough: bool) -> list[str]:
        """
        Ways in which recall brings a fact, of which the query is a question.

        One that does for the question is asked in no other way, unless that is to be `thorough`.
        """
        found = [QUESTION] if self._brings(subject, fact) else []
        if found and not thorough:
            return found
        others = {way: fact.asked(way) for way in WAYS if way != QUESTION}
        back = routes.bringing(subject, others.values())
        if not back and self.declared("recall_basis", "query") == "previous":
            back = [asked for asked in others.values() if self._next_turn_brings(subject, asked)]
        found += [way for way, asked in others.items() if asked in back]
        if BY_NAME in found:
            never = self.facts.new()
            if never.is_in(routes.recalled(subject, never.name)):
                # It repeats what it is asked.
                found.remove(BY_NAME)
        return found

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """
        The calls and the looks of the body are no part of the check.

        A replay script makes the calls of its check, and none by which the kit learns how to ask
        and to tell.
        """
        told, self.watch.calls = self.watch.calls, Calls()
        try:
            with unheard():
                yield
        finally:
            self.watch.calls = told

    def find_way(self) -> str:
        """
        The way in which recall brings what was stored by each of the routes that are served.

        It is the question where that brings something by all of them, or nothing does by any. Else
        it is one that does for all, or for the first route.
        """
        if "asking" not in self.shared:
            self.facts.way = QUESTION
            if not self.asked:
                for route in filter(self.serves, routes.ROUTES):
                    self._comes_back(route, self.writing)
            self.shared["asking"] = self._common_way()
        way: str = self.shared["asking"]
        self.facts.way = way
        return way

    def _common_way(self) -> str:
        asked = {key: ways for key, ways in self.asked.items() if ways}
        if all(QUESTION in ways for ways in asked.values()):
            return QUESTION
        for key in [key for key, ways in asked.items() if ways == [QUESTION]]:
            self._comes_back(key.partition(" ")[0], self.writing, thorough=True)
        known = [ways for ways in self.asked.values() if ways]
        common = [way for way in WAYS if all(way in ways for ways in known)]
        return (common or known[0])[0]

    def _replace_brings(self) -> bool:
        """True if a replace that fits no entry brings a text, where nothing else is mirrored."""
        if "replace brings" not in self.shared:
            self.shared["replace brings"] = self._comes_back("writes", self.writing)
        return bool(self.shared["replace brings"])

    def answers_questions(self) -> bool:
        """True if something that is stored by a route that is served came back for a question."""
        if "answers questions" not in self.shared:
            served = [route for route in routes.ROUTES if self.serves(route)]
            known = any(self._routes[route] == "observed" for route in served)
            found = known or any(self.find_out(route) == "observed" for route in served)
            self.shared["answers questions"] = found
        return bool(self.shared["answers questions"])

    def needs_route(self, *any_of: str) -> str:
        """
        The first of the routes that the provider serves.

        Raises:
            NotApplicable: It declares `stores` and none of them is in it.
            Untestable: It cannot or did not declare, and none was observed.

        """
        served = [route for route in any_of if self.serves(route)]
        if served and self.is_selective:
            served = [route for route in served if route in self.manner.routes] or served
            if served[0] not in self.manner.routes:
                tried = f"no fact that was told by {' or '.join(served)} came back in any manner"
                raise Untestable(f"retention is selective, and {tried}", KEEPING)
        if served:
            # A hook that hung too often is not called any more; another route may still do.
            return next((route for route in served if not self._withdrawn(route)), served[0])
        if all(self.lacks(_ROUTE_OPERATIONS[route]) for route in any_of):
            hooks = " or ".join(self._hooks(any_of))
            raise NotApplicable(f"the provider has no {hooks} of its own")
        wanted = " or ".join(any_of)
        if "writes" in any_of and "writes" in self.declared("stores", ["writes"]):
            self._needs_way_in()
        if "stores" in self.context.capabilities:
            raise NotApplicable(f"the provider does not declare that it stores {wanted}")
        reason = f"nothing stored through {wanted} came back at first contact{self.context.logged}"
        raise Untestable(reason, (*_IF_NOTHING_COMES_BACK, self.declaration("stores")))

    def declaration(self, key: str) -> Need:
        """The place in which an author of the binding declares `key`."""
        if self.binding.can_declare:
            return Declaration(key, self.hook("declare"))
        return Setting(f"declares.{key}")

    @property
    def is_selective(self) -> bool:
        """True if the provider keeps what it finds worth keeping, as declared."""
        return bool(self.declared("retention", "verbatim") == "selective")

    @property
    def manner(self) -> Manner:
        """The way to tell a selective provider facts so that it keeps them; found out once."""
        if "manner" not in self.shared:
            known = self.context.manner
            self.shared["manner"] = Manner.from_dict(known) if known else self._find_manner()
        manner: Manner = self.shared["manner"]
        return manner

    @property
    def told_in(self) -> Manner:
        """The way in which facts are told at present."""
        return self._told_in

    def tell_in(self, manner: Manner) -> None:
        """Make and tell facts in that manner from now on."""
        self._told_in = manner
        self.facts.use(manner.templates)
        if not manner.is_sure and manner.routes and self.binding.own_homes:
            self.facts.sift = self._sifted

    def _find_manner(self) -> Manner:
        with self.aside():
            found = improving(map(self._tried, MANNERS))
        self._told_in = PLAIN
        if self.asked:
            self.shared["asking"] = self.facts.way = self._first_way()
        return found

    def _first_way(self) -> str:
        return next((way for way in WAYS for ways in self.asked.values() if way in ways), QUESTION)

    def _tried(self, manner: Manner) -> tuple[Manner, float]:
        """The manner with what came back in it, and how much of what was told twice at a time."""
        self._told_in = manner
        back = {
            (route, number): bool(self._kept(route, [self.facts.of(number)]))
            for route in routes.ROUTES
            if self._may_store(route)
            for number in manner.templates
        }
        by = tuple(dict.fromkeys(route for (route, _), found in back.items() if found))
        templates = tuple(sorted({number for (_, number), found in back.items() if found}))
        if not by:
            return manner, 0.0
        told = [self.facts.of(number) for number in (*templates, *templates)]
        kept = [fact for route in by for fact in self._kept(route, told[:4])]
        share = len(kept) / (len(told[:4]) * len(by))
        found = dataclasses.replace(manner, templates=templates, routes=by, is_sure=share == 1.0)
        return found, share

    def _may_store(self, route: str) -> bool:
        stores = self.declared("stores", routes.ROUTES)
        writes = route != "writes" or self.writing.stores
        return route in stores and writes and not self.lacks(_ROUTE_OPERATIONS[route])

    def _kept(self, route: str, told: list[Fact], home: str = "survey") -> list[Fact]:
        """Facts that come back when they are told in one session."""
        place = self.own_home(f"{home}-{next(self.numbers)}")
        try:
            with self.session(place) as subject:
                if route == "tools" and not subject.has("tools"):
                    return []
                for fact in told:
                    routes.plant(subject, fact, route)
            with self.session(place) as again:
                return [fact for fact in told if self._is_back(again, fact, route)]
        except HookUnpaid:
            raise
        except (HookRaised, Untestable, Violation):
            return []

    def _is_back(self, subject: Subject, fact: Fact, route: str) -> bool:
        ways = self._ways_back(subject, fact, thorough=False)
        known = self.asked.setdefault(route, [])
        known += [way for way in ways if way not in known]
        return bool(ways)

    def _sifted(self, told: list[Fact]) -> list[Fact]:
        """Facts that it keeps, as one that goes by their texts does each time."""
        self.facts.sift = None
        try:
            with self.aside():
                return self._kept(self.manner.routes[0], told, "sieve")
        finally:
            self.facts.sift = self._sifted
            # A name that is looked for in files is not to be found there.
            for place in self.home.parent.glob(f"{self.home.name}-sieve-*"):
                shutil.rmtree(place, ignore_errors=True)

    def _needs_way_in(self) -> None:
        """Go on only where `mirrors` names an action by which a text comes in."""
        if not self.writing.stores:
            raise NotApplicable("`mirrors` names no action by which a text comes in")
        if self.writing.is_by_replace:
            raise NotApplicable("`mirrors` names replace alone, which brings no new text in")

    def _withdrawn(self, route: str) -> bool:
        return self.watch.deaths.get(_ROUTE_OPERATIONS[route], 0) >= incidents.MOST_DEATHS

    def _hooks(self, any_of: tuple[str, ...]) -> list[str]:
        return [self.hook(_ROUTE_OPERATIONS[route]) for route in any_of]

    def lacks(self, operation: str) -> bool:
        """
        True if the provider has no hook of that name, and no declaration says that it has.

        A hook that stores, and that is the one of its host's base class, stores nothing: no setting
        can help, and it is as one that is not there.
        """
        if self.binding.may_lack_hooks:
            provider, hook = self.provider().provider, self.hook(operation)
            stores = operation in ("record", "mirror")
            inherited = getattr(provider, "inherited_hooks", ()) if stores else ()
            return hook in provider.missing_hooks or hook in inherited
        if self.binding.can_declare or not OPERATIONS[operation].extension:
            return False
        return not self.provider().has(operation)

    # -- planting and bringing back ---------------------------------------------------------------

    def plant(self, subject: Subject, fact: Fact, route: str) -> None:
        """
        Store a fact by one route.

        Raises:
            HookRaised: The hook raised something that is no report.
            Untestable: The provider refused, and said so.

        """
        try:
            routes.plant(subject, fact, route)
        except HookRaised as failure:
            if failure.is_report:
                reason = f"a plain fact was refused: {show(failure.error)}"
                raise Untestable(reason, NO_REFUSAL) from None
            raise

    def brings_back(self, subject: Subject, fact: Fact) -> bool:
        """True if recall brings the fact, settled, or as fresh as the provider declares."""
        found = self._brings(subject, fact)
        self.note(found=found)
        return found

    def note(self, *, found: bool) -> None:
        """Note whether recall brought a fact, for who has to know whether it ever does."""
        if found:
            self.shared["question brings"] = True
        self.doubts |= "question brings" not in self.shared

    def brings_absent(self, subject: Subject, fact: Fact) -> bool:
        """As `brings_back`, for a fact that is to stay away."""
        with self._preparation.of_absence():
            if self.declared("recall_basis", "query") != "previous":
                return self.brings_back(subject, fact)
            # The turn is what it recalls by; a wait before it would be one more in vain.
            self.settle()
            found = self._next_turn_brings(subject, fact)
            self.note(found=found)
            return found

    def _brings(self, subject: Subject, fact: Fact) -> bool:
        self.settle()
        if self.declared("recall_basis", "query") != "previous":
            return routes.brings(subject, fact, self.freshness_s)
        # If a turn brought one, a wait before the turn brings nothing.
        waits = _BY_TURN not in self.shared
        if waits and routes.brings(subject, fact, self.freshness_s):
            return True
        if not waits and fact.is_in(routes.recalled(subject, fact.query)):
            return True
        if self._next_turn_brings(subject, fact):
            self.shared[_BY_TURN] = True
            return True
        return False

    def _next_turn_brings(self, subject: Subject, fact: Fact) -> bool:
        """True if the turn after one with the question brings the fact."""
        self.turn_before(subject, fact.query)
        self.settle()
        return routes.brings(subject, fact, self.freshness_s)

    def turn_before(self, subject: Subject, query: str) -> None:
        """Make the turn whose question the next recall answers, if it goes by the turn before."""
        if self.declared("recall_basis", "query") == "previous":
            routes.tolerant(lambda: subject.record(query, "Let me see."))

    def reopened_brings_back(self, fact: Fact, home: Path | None = None) -> bool:
        """True if a new instance on the same home brings the fact back."""
        with self.session(home) as again:
            return self.brings_back(again, fact)

    def settle(self) -> None:
        """Wait by the user's `settle` for what was stored since the last time, if there is one."""
        self.freshness.settle()

    def _wait_for_the_snapshot(self) -> None:
        """Let what was stored be fresh before a session that shows what is known at its start."""
        if self.declared("recall_basis", "query") == "session":
            sleep(self.freshness_s)

    def read_back_count(self, subject: Subject, text: str) -> int | None:
        """The times that the text is stored, by the user's `read_back`; None without it."""
        self.settle()
        return self.freshness.functions.stored(subject.provider, text)

    @property
    def freshness_s(self) -> float:
        """Scaled seconds until what was stored last can be recalled; 0 once it is settled."""
        consistency = self.declared("consistency", "immediate")
        eventual = consistency.get("eventual", {}) if isinstance(consistency, dict) else {}
        return self.freshness.wait_s(float(eventual.get("freshness_s", 0)) * self.context.scale)

    @property
    def rest_s(self) -> float:
        """Scaled seconds in which a writer in the background gets done, if nothing is wrong."""
        return _REST_S * self.context.scale * self.context.slowdown

    # -- small helps ------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        """Number of generated examples that the profile asks for."""
        return EXAMPLES[self.context.profile]

    def violated(
        self, evidence: Evidence, *, operation: str = "", requirement: str = ""
    ) -> NoReturn:
        """Report the requirement under check (or another one) as violated."""
        raise Violation(evidence, operation=operation, requirement=requirement)

    def wait_until(
        self, condition: Callable[[], bool], within_s: float = patience.HAPPENS_S
    ) -> bool:
        """Poll `condition` until it holds; False when it did not within the scaled time."""
        scale, slowdown = self.context.scale, self.context.slowdown
        longest_s = _LONGEST_S * scale * slowdown
        return patience.happens_by(
            condition, patience.Deadline(within_s * scale, slowdown, longest_s)
        )

    def stays_silent(self, condition: Callable[[], bool], for_s: float = patience.SILENT_S) -> bool:
        """True if `condition` holds at no moment of the scaled time, which is waited out."""
        return patience.stays_silent(condition, for_s * self.context.scale)
