"""From a registered provider to an active one: availability, initialize, capabilities."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from memproto.deadlines import Clock, Deadlines
from memproto.operations import EXTENSION_HOOKS
from memproto.registry.calls.gather import Gather, HookCall, fly, started_worker
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.questions import as_text, ask
from memproto.registry.events import attempt, type_name
from memproto.registry.messages import copied
from memproto.registry.policy import Policy
from memproto.registry.shutdown import Ending
from memproto.types import SPEC_VERSION

_DEEPEST = 32
_PLATFORM = "library"
_INITIALIZE = "initialize"
_REASON = "unavailable_reason"


def completed(config: Mapping[str, Any], deadlines: Deadlines, policy: Policy) -> dict[str, Any]:
    """Returns a copy of `config` with what providers are promised; `home` is the host's to give."""
    promised = {
        "protocol": {
            "version": SPEC_VERSION,
            "host": "memproto",
            "hooks": policy.hooks(),
            "contexts": list(policy.contexts),
        },
        "deadlines": {
            "initialize_s": deadlines.initialize_s,
            "enrich_s": deadlines.enrich_s,
            "compress_s": deadlines.compress_s,
            "shutdown_s": deadlines.shutdown_s,
        },
        "limits": {},
        "platform": _PLATFORM,
    }
    return promised | {key: copied(value) for key, value in config.items()}


def opened(
    lane: ProviderLane, session_key: str, config: dict[str, Any], clock: Clock, deadlines: Deadlines
) -> bool:
    """
    True if `lane` is active now: available, initialized, its capabilities frozen.

    Runs on the calling thread, `initialize` on another where `Deadlines.initialize_s` bounds it.
    After an `initialize` that failed, `shutdown` is called and waited for within its budget.
    """
    if not _is_available(lane):
        lane.dropped_for = _reason(lane, Gather(clock, deadlines.ask_s))
        return False
    if not _has_threads(lane):
        lane.dropped_for = "no thread could be started"
        return False
    # From here on the lane has threads, and every way out has to end them.
    initialized = False
    try:
        initialized = _is_initialized(lane, session_key, config, clock, deadlines)
        if initialized:
            lane.capabilities = _declared(lane)
            lane.extensions = _served(lane)
    except BaseException:
        # The user's interrupt, on its way out. `initialize` may have opened something, so the
        # provider is shut down on its exit thread, and nobody waits for that.
        Ending([lane], clock, deadlines.shutdown_s).begin()
        raise
    if not initialized:
        lane.dropped_for = lane.dropped_for or "initialize did not return in time"
        lane.tell("initialize", "dropped", detail="failed")
        Ending([lane], clock, deadlines.shutdown_s).begin().wait()
    return initialized


def _is_available(lane: ProviderLane) -> bool:
    answer, error = lane.attempt("is_available")
    if answer is True:
        return True
    if not error and type(answer) is not bool:
        lane.tell("is_available", "wrong_type", detail=type_name(answer))
    lane.tell("is_available", "dropped", detail=error or "unavailable")
    return False


def _reason(lane: ProviderLane, gather: Gather) -> str:
    """The provider's own words for why it is not available, or that it is not."""
    if not callable(attempt(getattr, lane.provider, _REASON)[0]):
        return "not available"
    (call,) = ask([lane], _REASON, gather, as_text) or (None,)
    return call.found if call and call.outcome == "ok" and call.found else "not available"


def _has_threads(lane: ProviderLane) -> bool:
    try:
        lane.start()
    except RuntimeError as error:  # the interpreter is at its end, or out of threads
        lane.tell("initialize", "dropped", detail=type_name(error))
        return False
    return True


def _is_initialized(
    lane: ProviderLane, session_key: str, config: dict[str, Any], clock: Clock, deadlines: Deadlines
) -> bool:
    if deadlines.initialize_s is not None:
        return _initialized_within(lane, session_key, config, Gather(clock, deadlines.initialize_s))
    began = clock.now()
    _, error = lane.attempt("initialize", session_key, config)
    lane.tell("initialize", "raised" if error else "ok", clock.now() - began, error)
    lane.dropped_for = error
    return not error


def _initialized_within(
    lane: ProviderLane, session_key: str, config: dict[str, Any], gather: Gather
) -> bool:
    """True if `initialize`, on a thread of its own, returned in time."""
    worker = started_worker(lane, _INITIALIZE)
    if worker is None:
        return False
    call = HookCall(lane, _INITIALIZE, (session_key, config), gather, worker)
    fly([call], gather)
    return call.done and not call.error


# -- what a provider declares ---------------------------------------------------------------------


def _declared(lane: ProviderLane) -> Mapping[str, Any]:
    """The provider's capabilities, frozen; nothing, and an event, where they are none."""
    answer, error = lane.attempt("capabilities")
    if error:
        lane.tell("capabilities", "raised", detail=error)
        return MappingProxyType({})
    declared, fault = attempt(_frozen_declaration, answer)
    if fault:
        lane.tell("capabilities", "wrong_type", detail=type_name(answer))
        return MappingProxyType({})
    lane.tell("capabilities", "ok")
    assert isinstance(declared, Mapping)
    return declared


def _frozen_declaration(answer: object) -> Mapping[str, Any]:
    if not isinstance(answer, Mapping):
        raise TypeError("capabilities are no mapping")
    declared: Mapping[str, Any] = frozen(answer)
    names = declared.get("tool_names", frozenset())
    if not isinstance(names, frozenset | tuple) or not all(isinstance(n, str) for n in names):
        raise TypeError("tool_names holds something other than names")
    if not _is_suppression(declared.get("suppresses_local_writes", False)):
        raise TypeError("suppresses_local_writes is neither a bool nor bools by target")
    return declared


def _served(lane: ProviderLane) -> frozenset[str]:
    """The declared extensions whose hooks the provider has; an event for each other one."""
    declared = lane.capabilities.get("extensions", ())
    known = [name for name in EXTENSION_HOOKS if _names(declared, name)]
    served = frozenset(name for name in known if _has_hooks(lane, name))
    for name in known:
        if name not in served:
            lane.tell("capabilities", "wrong_type", detail=f"{name} without its hooks")
    return served


def _names(declared: object, extension: str) -> bool:
    return isinstance(declared, tuple | frozenset) and extension in declared


def _has_hooks(lane: ProviderLane, extension: str) -> bool:
    found = (attempt(getattr, lane.provider, hook)[0] for hook in EXTENSION_HOOKS[extension])
    return all(callable(hook) for hook in found)


def _is_suppression(value: object) -> bool:
    values = value.values() if isinstance(value, Mapping) else (value,)
    return all(isinstance(item, bool) for item in values)


def frozen(value: object, depth: int = 0) -> Any:
    """Returns a copy of `value` that nobody can change: mappings read-only, lists tuples."""
    if depth > _DEEPEST:
        raise TypeError("deeper than any declaration")
    if isinstance(value, Mapping):
        items = {str(key): frozen(item, depth + 1) for key, item in value.items()}
        return MappingProxyType(items)
    if isinstance(value, list | tuple):
        return tuple(frozen(item, depth + 1) for item in value)
    if isinstance(value, set | frozenset):
        return frozenset(frozen(item, depth + 1) for item in value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type_name(value)} cannot be declared")
