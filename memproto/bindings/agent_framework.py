"""
The binding of Microsoft Agent Framework: context providers, called as its agent calls them.

The framework is imported where a provider is judged, since its classes are the arguments of the
hooks. It need not be installed where a verdict is made.
"""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from memproto.adapters.coroutines import is_coroutine_function
from memproto.adapters.members import found_without_running
from memproto.bindings.base import by_requirement
from memproto.bindings.coroutine_hooks import (
    Behind,
    CoroutineBinding,
    base_of,
    implements,
    is_of_another,
)
from memproto.bindings.per_user import PerUser
from memproto.deadlines import Deadlines
from memproto.errors import Misconfigured, MissingPackage, Unavailable
from memproto.types import SPEC_VERSION, Capabilities, Message

#: Operation to the member of a provider that serves it.
_HOOKS = {
    "name": "source_id",
    "open": "__aenter__",
    "recall": "before_run",
    "record": "after_run",
    "close": "__aexit__",
}

#: The package of the framework, and the name of its base class of providers.
_PACKAGE, _BASE = "agent_framework", "ContextProvider"

#: The framework's own classes that are no provider by themselves.
_ABSTRACT = (_BASE, "HistoryProvider")

#: The key of a session's state under which an application keeps the user.
_USER = "user_id"

#: Why a requirement cannot be decided, and the requirements. docs/agent-framework.md says the same.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "Agent Framework does not ask a provider whether it is available": (
        *("MP-AVAIL-001", "MP-AVAIL-002", "MP-AVAIL-003"),
    ),
    "Agent Framework hands a provider no configuration and no context of that kind": (
        *("MP-INIT-002", "MP-CTX-001", "MP-CTX-003"),
    ),
    "Agent Framework names a provider no home, so that it stores where its operator says": (
        *("MP-ISO-005", "MP-ISO-009", "MP-TENANT-005"),
    ),
    "every coroutine of a provider runs on one event loop": ("MP-THR-001", "MP-THR-004"),
    "Agent Framework does not tell a provider that it is over; only an application may": (
        *("MP-SHUT-001", "MP-SHUT-002", "MP-SHUT-003", "MP-SHUT-004", "MP-SHUT-005"),
        *("MP-ISO-004", "MP-PROC-003", "MP-FAULT-003", "MP-RES-001", "MP-RES-002", "MP-RES-003"),
        *("MP-RES-005", "MP-RES-006", "MP-RES-008"),
    ),
    "an application that enters a provider may be refused while its backend is away": (
        *("MP-FAULT-004",),
    ),
    "Agent Framework does not tell a provider that messages are discarded": (
        *("MP-COMP-001", "MP-COMP-003"),
    ),
    "Agent Framework keeps the messages of providers apart from those of the user": (
        *("MP-TEXT-004",),
    ),
}


class _AgentFramework(CoroutineBinding):
    """Context providers of Microsoft Agent Framework."""

    def recognises(self, found: Any) -> bool:
        return _is_provider(found.first if type(found) is PerUser else found)

    def behind(self, made: Any) -> Behind:
        return _Provider(made)

    def where(self, provider: Any, operation: str) -> str:
        inner = self.author_object(provider)
        # A provider that nobody enters hears of a session by its first run.
        is_told = operation == "open" and not hasattr(type(inner), "__aenter__")
        return f"{type(inner).__name__}.{self.hook('recall')}" if is_told else ""

    def meet(self, target: str, build: Callable[[], Any]) -> None:
        if importlib.util.find_spec(_PACKAGE) is None:
            what, package = f"--memproto={target}", "agent-framework-core"
            fault = f"has the hooks of {self.title}, which is not installed here"
            raise MissingPackage(what, fault, f"pip install {package}")

    def notes(self, provider: Any) -> tuple[str, ...]:
        inner = self.author_object(provider)
        is_own = _base_of(type(inner)) is not None
        return () if is_own else (f"judged by its shape: no subclass of {_BASE}",)


def _is_provider(found: Any) -> bool:
    """True for a class or an instance that an agent takes; runs no property of it."""
    kind = found if isinstance(found, type) else type(found)
    if _is_of_framework(kind) and kind.__name__ in _ABSTRACT:
        return False
    return _base_of(kind) is not None or _has_shape(found)


def _is_of_framework(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == _PACKAGE


def _base_of(kind: type) -> type | None:
    """The framework's base class of providers, among those of a class."""
    return base_of(kind, lambda base: base.__name__ == _BASE and _is_of_framework(base))


def _has_shape(found: Any) -> bool:
    """True for a provider that inherits from none of the framework's classes."""
    hooks = (found_without_running(found, hook) for hook in ("before_run", "after_run"))
    if not all(map(is_coroutine_function, hooks)) or is_of_another(found):
        return False
    return isinstance(found, type) or found_without_running(found, "source_id") is not None


def _implements(provider: Any, hook: str) -> bool:
    """True if a hook is the provider's own, and not that of the base class, which does nothing."""
    return implements(provider, hook, _base_of(type(provider)))


class _Silent:
    """A chat client that is asked nothing: an agent needs one to be built."""

    additional_properties: Mapping[str, Any] = {}

    def get_response(self, messages: Any, **kwargs: Any) -> Any:
        """
        Raise, since no run of the kit's agent goes to a model.

        Raises:
            RuntimeError: Always.

        """
        raise RuntimeError("the kit's agent has no model")


class _Provider(Behind):
    """A context provider behind the coroutine hooks of a provider."""

    def __init__(self, made: Any) -> None:
        super().__init__(made, AGENT_FRAMEWORK)
        self._framework = importlib.import_module(_PACKAGE)
        self._agent: Any = None
        self._session: Any = None
        self._is_entered = False
        self._patience_s = Deadlines().enrich_s
        # The run that was begun last, for the turn that ends it.
        self._begun: tuple[str, Any] | None = None

    @property
    def name(self) -> Any:
        """The provider's own name, of whatever type."""
        return self.author.source_id

    def served(self) -> set[str]:
        """The operations of which the provider has the hook."""
        operations = ("recall", "record")
        return {one for one in operations if _implements(self.author, AGENT_FRAMEWORK.hook(one))}

    def capabilities(self) -> Capabilities:
        """No extension: a provider has no way to declare anything."""
        return {"extensions": [], "spec_version": SPEC_VERSION}

    async def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Give an agent the provider, and begin a session whose state names the user.

        A provider that is an asynchronous context manager is entered, as its application does.

        Raises:
            Misconfigured: Entering it raised anything.

        """
        user = config.get("user_id")
        self._patience_s = (config.get("deadlines") or {}).get("enrich_s", self._patience_s)
        self.build_for(user)
        framework, providers = self._framework, [self.author]
        self._agent = framework.Agent(
            client=_Silent(), id="memproto", name="memproto", context_providers=providers
        )
        self._session = framework.AgentSession(session_id=session_key)
        if user is not None:
            self._session.state[_USER] = user
        if hasattr(type(self.author), "__aenter__"):
            try:
                await self.author.__aenter__()
            except Exception as error:
                raise Misconfigured(f"{type(error).__name__}: {error}") from error
            self._is_entered = True

    async def shutdown(self) -> None:
        """Leave a provider that was entered; the framework itself ends none."""
        if self._is_entered:
            self._is_entered = False
            await self.author.__aexit__(None, None, None)

    async def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """The text that `before_run` puts before the model: instructions, then messages."""
        context = await self._begin(user_message)
        self._begun = (user_message, context)
        said = [*context.instructions, *(message.text for message in context.get_messages())]
        return "\n".join(text for text in said if text) or None

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Tell the response to a run by `after_run`.

        The run is the one that recall began for the same message, else a new one: an agent calls
        `before_run` first, and hands the same context to both.

        Raises:
            Unavailable: The `before_run` of a new run failed or hung, which ends a run.

        """
        begun, self._begun = self._begun, None
        is_same = begun is not None and begun[0] == user_message
        context = begun[1] if begun and is_same else await self._aside(user_message)
        answer = self._framework.Message("assistant", [assistant_response], author_name="memproto")
        response = self._framework.AgentResponse(messages=[answer])
        context._response = response  # noqa: SLF001 - as an agent does: there is no other way
        await self.author.after_run(**self._arguments(context))

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Nothing: the framework has no tool of that kind."""

    async def _aside(self, user_message: str) -> Any:
        """As `_begin`, where the turn is asked about: a fault of `before_run` is none of it."""
        import asyncio  # as in `adapt`

        try:
            return await asyncio.wait_for(self._begin(user_message), self._patience_s)
        except Exception as error:
            told = "before_run of the same run"
            raise Unavailable(f"{told}: {type(error).__name__}: {error}") from error

    async def _begin(self, user_message: str) -> Any:
        """The context of a new run, behind `before_run`."""
        framework, session = self._framework, self._session
        context = framework.SessionContext(
            session_id=session.session_id,
            service_session_id=session.service_session_id,
            input_messages=[framework.Message("user", [user_message])],
            options={},
        )
        # An agent does not ask a history for messages that was told to load none.
        if getattr(self.author, "load_messages", True):
            await self.author.before_run(**self._arguments(context))
        return context

    def _arguments(self, context: Any) -> dict[str, Any]:
        state = self._session.state.setdefault(self.author.source_id, {})
        return {
            "agent": self._agent,
            "session": self._session,
            "context": context,
            "state": state,
        }


AGENT_FRAMEWORK = _AgentFramework(
    host_driver="memproto.testing.host.agent_framework:Driver",
    name="agent-framework",
    title="Agent Framework",
    hooks=_HOOKS,
    can_declare=False,
    config_keys=(),
    own_homes=False,
    may_lack_hooks=True,
    out_of_reach=by_requirement(_REASONS),
)

_NOT_OVER = "the framework does not tell a context provider that it is over"
_NOT_OPENED = "the framework opens no context provider; an application does, before it runs"
_NO_CONFIG = "the framework hands a context provider no configuration"
_SAME_NAME = "a run with two tools of one name raises, whoever brought them: MP-HOST-TOOL-002"
_NO_BLOCK = "what was recalled stands in messages of its own, without a block to be looked for"

#: Requirements on hosts that no call of the framework could keep or break, and why.
HOST_OUT_OF_REACH: Mapping[str, str] = {
    "MP-HOST-REG-001": "a source_id is a key of the session's state, and no model sees it",
    "MP-HOST-REG-003": "both hooks of a context provider are optional",
    "MP-HOST-INIT-001": "the framework does not ask a context provider whether it is available",
    "MP-HOST-INIT-002": _NOT_OPENED,
    "MP-HOST-CAP-001": "the framework does not ask a context provider for capabilities",
    "MP-HOST-INIT-003": _NO_CONFIG,
    "MP-HOST-INIT-004": _NO_CONFIG,
    "MP-HOST-CTX-001": "the framework knows no contexts of a session",
    "MP-HOST-RECALL-004": "a context provider returns nothing: it adds messages itself",
    "MP-HOST-ISO-002": "a context provider gets the run's own context, which it is there to change",
    "MP-HOST-SHOW-001": _NO_BLOCK,
    "MP-HOST-SHOW-002": _NO_BLOCK,
    "MP-HOST-TURN-008": _NO_BLOCK,
    "MP-HOST-WRITE-001": "the framework has no memory tool",
    "MP-HOST-TOOL-003": _SAME_NAME,
    "MP-HOST-PREWARM-001": "the framework has no recall prepared",
    "MP-HOST-PREWARM-002": "the framework has no recall prepared",
    "MP-HOST-SHUT-001": _NOT_OVER,
    "MP-HOST-SHUT-002": _NOT_OVER,
    "MP-HOST-SHUT-003": _NOT_OVER,
    "MP-HOST-SHUT-004": _NOT_OVER,
    "MP-HOST-SHUT-006": _NOT_OVER,
}
