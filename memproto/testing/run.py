"""What a provider-side check works with: new instances, unique sessions, facts to plant, routes."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from memproto.operations import CORE_HOOKS, OPERATIONS, Binding, hook_name
from memproto.testing import incidents, locate, patience, routes
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import EXAMPLES, Context
from memproto.testing.facts import Fact, Facts
from memproto.testing.freshness import Freshness
from memproto.testing.load_step import LoadStep
from memproto.testing.sandbox import HOST_HOME
from memproto.testing.subject import HookRaised, Subject, Watch
from memproto.testing.watchers import AuditLog
from memproto.testing.wire import show
from memproto.types import SPEC_VERSION

#: Every hook of an extension is driven somewhere, but the prompt only in its own chapter: what
#: stands in the prompt need not come back by recall, and recall is how the kit reads.
_EXTENSION_HOOKS = tuple(
    row.native for row in OPERATIONS.values() if row.extension not in ("", "prompt")
)

#: More than a check stores in one session: what a narrow limit does is for MP-RECALL-007.
_RECALL_CHARS = 1_000_000

#: Route to the operation that stores by it.
_ROUTE_OPERATIONS = {"turns": "record", "writes": "mirror", "tools": "call_tool"}


class Run:
    """
    One check's view of the target. Every run has a home, a user and a session of its own.

    Attributes:
        binding: The binding that the provider was written for.
        home: The directory that instances get unless another one is asked for.
        facts: A source of facts that no other check of this run plants.
        context: See `Context`.
        freshness: When what was stored can be recalled.
        loading: What another process needs to load the same target.
        shared: What checks of this process leave for those that come after them.
        tag: What the ids of this check's user, profile and sessions hold.
        numbers: What tells its sessions apart, where the provider does not keep them apart.
        observed: What a provider that cannot declare was seen to do, in the words of a declaration.

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
        self.facts = Facts(context.seed * 1009 + salt)
        self.audit: AuditLog | None = None
        self.load_step: LoadStep | None = None
        self.root = home.parent
        self.loading: dict[str, Any] = {}
        self.shared: dict[str, Any] = {}
        self.observed: dict[str, Any] = {}
        self._routes = dict(context.routes)
        self._factory = factory
        self._latest: Any = None
        self.numbers = itertools.count(1)
        self.tag = f"{salt:04x}{context.seed % 65536:04x}"
        self._open: list[Subject] = []

    # -- instances --------------------------------------------------------------------------------

    def provider(self) -> Subject:
        """A new instance from the same factory, not initialized."""
        return Subject(self.watch_load(), self.binding, self.watch)

    def watch_load(self) -> Any:
        """Build an instance under the load budget, without connections and programs."""
        guard = self.load_step.guarding() if self.load_step else contextlib.nullcontext()
        with self.watch.hook("load"), guard:
            try:
                self._latest = self._factory()
                return self._latest
            except BaseException as error:
                failure = HookRaised("load", error)
        raise failure

    def hook(self, operation: str) -> str:
        """The hook that serves `operation`, in the author's binding."""
        if operation == "load":
            return "the class or factory"
        return hook_name(operation, self.binding)

    def where(self, operation: str) -> str:
        """File, line and name of the hook that serves `operation`."""
        if operation == "load" or self._latest is None:
            return ""
        return locate.hook(self._latest, operation, self.binding)

    def session_key(self) -> str:
        """
        A session id that no other check uses.

        Where the provider keeps sessions apart, a check has only one: what is stored in it is to
        be found again under the same id.
        """
        if "session" in self.declared("isolates", ["profile"]):
            return f"session-{self.tag}"
        return f"session-{self.tag}-{next(self.numbers)}"

    def config(self, home: Path | None = None, **extra: Any) -> dict[str, Any]:
        """What a conforming host hands to initialize; an `extra` of None leaves its key out."""
        place = home or self.home
        place.mkdir(parents=True, exist_ok=True)
        base: dict[str, Any] = {
            "home": str(place),
            "protocol": {
                "version": SPEC_VERSION,
                "host": "memproto-kit",
                "hooks": [*CORE_HOOKS, *_EXTENSION_HOOKS],
                "contexts": ["primary"],
            },
            "deadlines": {"enrich_s": 5.0, "compress_s": 120.0, "shutdown_s": 15.0},
            "limits": {"recall_chars": _RECALL_CHARS},
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
        key, config = session or self.session_key(), self.config(home, **extra)
        HOST_HOME.name(config["home"] if self.binding == "hermes" else "")
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

    # -- declarations -----------------------------------------------------------------------------

    def declared(self, key: str, default: Any) -> Any:
        """What the provider declared under `key`, or the specification's default."""
        return {**self.context.capabilities, **self.observed}.get(key, default)

    def serves(self, route: str) -> bool:
        """Whether the provider stores by `route`, as declared or as observed at first contact."""
        if route not in self._routes:
            # First contact ended before it was known, as where a race ends the process at times.
            self._routes[route] = self.find_out(route)
        return self._routes[route] in ("declared", "observed")

    def find_out(self, route: str) -> str:
        """
        Try whether what is stored by `route` comes back: "observed", else "absent".

        A provider that cannot declare may keep each session to itself: that is seen here too.
        """
        native = self.binding == "native"
        home = self.place(f"survey-{route}") if native else self.home
        tag = f"session-{self.tag}-{next(self.numbers)}"

        def opened(which: str) -> contextlib.AbstractContextManager[Subject]:
            return self.session(home, session="" if native else f"{tag}-{which}")

        later = ("second",) if native else ("second", "first")
        back_in = routes.survey(opened, self.facts.new(), route, later, self.brings_back)
        if back_in == "first":
            self.observed["isolates"] = ["session"]
        return "observed" if back_in else "absent"

    def answers_questions(self) -> bool:
        """Whether something that is stored by a route that is served came back for a question."""
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
        if served and self.declared("retention", "verbatim") == "selective":
            reason = "retention is selective: nothing is certain to be kept"
            raise Untestable(f"{reason}; needs: a `config` under which it keeps everything")
        if served:
            # A hook that hung too often is not called any more; another route may still do.
            return next((route for route in served if not self._withdrawn(route)), served[0])
        if all(self.lacks(_ROUTE_OPERATIONS[route]) for route in any_of):
            raise NotApplicable(f"the provider has no {' or '.join(self._hooks(any_of))}")
        wanted = " or ".join(any_of)
        if "stores" in self.context.capabilities:
            raise NotApplicable(f"the provider does not declare that it stores {wanted}")
        reason = f"nothing stored through {wanted} came back at first contact{self.context.logged}"
        key = "`declares.stores`" if self.binding == "hermes" else "`stores` in capabilities()"
        needs = "`service` or `env` where its backend is missing, `settle` where it is fresh later"
        raise Untestable(f"{reason}; needs: {needs}, or {key}")

    def _withdrawn(self, route: str) -> bool:
        return self.watch.deaths.get(_ROUTE_OPERATIONS[route], 0) >= incidents.MOST_DEATHS

    def _hooks(self, any_of: tuple[str, ...]) -> list[str]:
        return [self.hook(_ROUTE_OPERATIONS[route]) for route in any_of]

    def lacks(self, operation: str) -> bool:
        """Whether the provider, one of the Hermes binding, has no hook of that name."""
        if self.binding != "hermes":
            return False
        return self.hook(operation) in self.provider().provider.missing_hooks

    def needs_hook(self, operation: str) -> None:
        """
        Go on only where the provider has the hook.

        Raises:
            NotApplicable: It has not: what is not served cannot be done wrong.

        """
        if self.lacks(operation):
            raise NotApplicable(f"the provider has no {self.hook(operation)}")

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
                raise Untestable(f"{reason}; needs: a `config` under which it is not") from None
            raise

    def brings_back(self, subject: Subject, fact: Fact) -> bool:
        """Whether recall brings the fact, settled, or as fresh as the provider declares."""
        self.settle()
        if routes.brings_back(subject, fact, self.freshness_s):
            return True
        return self.declared("recall_basis", "query") == "previous" and self._next_turn_brings(
            subject, fact
        )

    def _next_turn_brings(self, subject: Subject, fact: Fact) -> bool:
        """Whether the turn after one with the question brings the fact."""
        subject.record(fact.query, "Let me see.")
        self.settle()
        return routes.brings_back(subject, fact, self.freshness_s)

    def reopened_brings_back(self, fact: Fact, home: Path | None = None) -> bool:
        """Whether a new instance on the same home brings the fact back."""
        with self.session(home) as again:
            return self.brings_back(again, fact)

    def settle(self) -> None:
        """Wait by the user's `settle` for what was stored since the last time, if there is one."""
        self.freshness.settle()

    def stored(self, subject: Subject, text: str) -> int | None:
        """How often the text is stored, by the user's `read_back`; None without that setting."""
        self.settle()
        return self.freshness.functions.stored(subject.provider, text)

    @property
    def freshness_s(self) -> float:
        """Scaled seconds until what was stored last can be recalled; 0 once it is settled."""
        consistency = self.declared("consistency", "immediate")
        eventual = consistency.get("eventual", {}) if isinstance(consistency, dict) else {}
        return self.freshness.wait_s(float(eventual.get("freshness_s", 0)) * self.context.scale)

    # -- small helps ------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        """How many generated examples the profile asks for."""
        return EXAMPLES[self.context.profile]

    def violated(
        self, expected: str, observed: str, *, operation: str = "", requirement: str = ""
    ) -> NoReturn:
        """Report the requirement under check (or another one) as violated."""
        raise Violation(expected, observed, operation=operation, requirement=requirement)

    def wait_until(
        self, condition: Callable[[], bool], within_s: float = patience.HAPPENS_S
    ) -> bool:
        """Poll `condition` until it holds; False when it did not within the scaled time."""
        return patience.happens(condition, within_s * self.context.scale * self.context.slowdown)

    def stays_silent(self, condition: Callable[[], bool], for_s: float = patience.SILENT_S) -> bool:
        """Whether `condition` holds at no moment of the scaled time, which is waited out."""
        return patience.stays_silent(condition, for_s * self.context.scale)
