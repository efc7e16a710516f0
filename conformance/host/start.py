"""Chapter 80: what a session begins with, and what hosts promise at its start."""

from collections.abc import Callable
from typing import Any

from memproto.operations import EXTENSION_HOOKS, OPERATIONS
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.hostagent import Host
from memproto.testing.hostprobes import Probe, answering, tool
from memproto.testing.hostrun import HostRun
from memproto.testing.hoststeps import STEPS
from memproto.testing.wire import show

_PROMISED = {
    "home": (),
    "protocol": ("version", "hooks", "contexts"),
    "deadlines": (),
    "limits": (),
    "platform": (),
}

_WRITES = ("on_turn_complete", "record", "on_memory_write", "on_delegation", "on_session_end")


def _config(run: HostRun, provider: Probe) -> dict[str, Any]:
    """The config that a provider was initialized with."""
    calls = provider.named("initialize")
    if len(calls) != 1 or not isinstance(calls[0].args[1], dict):
        run.violated("one initialize with a dict as its config", show([c.args for c in calls]))
    config: dict[str, Any] = calls[0].args[1]
    return config


@check("MP-HOST-INIT-003")
def the_config_holds_what_is_promised(run: HostRun) -> None:
    provider = run.probe()
    run.opened(provider)
    config = _config(run, provider)
    for key, inner in _PROMISED.items():
        if key not in config:
            run.violated(f"`{key}` in the config", f"keys {', '.join(sorted(config))}")
        if inner and not isinstance(config[key], dict):
            run.violated(f"a dict as `{key}`", show(config[key]))
        missing = [name for name in inner if name not in config[key]]
        if missing:
            run.violated(f"`{missing[0]}` in `{key}`", show(config[key]))
    _assert_seconds(run, config["deadlines"])


def _assert_seconds(run: HostRun, deadlines: Any) -> None:
    is_dict = isinstance(deadlines, dict) and bool(deadlines)
    if not is_dict or not all(isinstance(item, int | float | None) for item in deadlines.values()):
        run.violated("a dict of deadlines in seconds", show(deadlines))


@check("MP-HOST-INIT-004")
def the_config_says_whose_session_it_is(run: HostRun) -> None:
    sessions: tuple[dict[str, Any], ...] = (
        {"user_id": "telegram:ines", "platform": "telegram"},
        {"user_id": "cli:ben", "platform": "cli", "agent_identity": "work"},
        {"user_id": "cli:ben", "platform": "cli", "agent_context": "cron"},
    )
    for given in sessions:
        provider = run.probe()
        host = run.host(provider)
        host.open(**given)
        if not provider.count("initialize") and given.get("agent_context"):
            continue  # a host that opens no memory outside of conversations
        config = _config(run, provider)
        for key, value in given.items():
            if config.get(key) != value:
                run.violated(f"`{key}` {show(value)}", show(config.get(key)))


# -- hooks that are promised ----------------------------------------------------------------------

#: Native hook to the step that gives occasion to it.
_OCCASIONS = {
    **{row.native: STEPS[row.name] for row in OPERATIONS.values() if row.name in STEPS},
    "record": "turn",
    "on_turn_complete": "turn",
    "enrich_turn": "turn",
}

_EVERY = tuple(name for name in EXTENSION_HOOKS if name != "checkpoint")


@check("MP-HOST-INIT-005")
def every_promised_hook_is_called(run: HostRun) -> None:
    providers: list[Probe] = [
        run.serving(*_EVERY, schemas=[tool("find_berth")]),
        run.serving(*(name for name in _EVERY if name not in ("record", "items"))),
    ]
    promised: set[str] = set()
    for group in run.groups(providers):
        host = run.opened(*group, steps=("turn",))
        promised.update(group[0].protocol().get("hooks") or ())
        if not promised:
            raise NotApplicable("it names no hooks in `protocol.hooks`")
        _lead_through(run, host)
        if "queue_prefetch" in promised:  # It comes on a thread of its own, which an exit may end.
            run.wait_until(lambda g=group: any(p.count("queue_prefetch") for p in g))  # type: ignore[misc]
        host.close()
    _assert_called(run, host, providers, sorted(promised.intersection(_OCCASIONS)))


def _lead_through(run: HostRun, host: Host) -> None:
    messages = [{"role": "user", "content": "Hello."}]
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("prompt", host.prompt),
        ("tools", host.tools),
        ("turn", lambda: host.turn("Which berth is free?")),
        ("turn", lambda: host.turn("And which one tomorrow?")),
        ("call_tool", lambda: host.call_tool("find_berth", {"text": "x"})),
        ("write_memory", lambda: host.mirror("add", "memory", "The harbour opens at six.")),
        ("compress", lambda: host.compress(messages)),
        ("delegate", lambda: host.delegate("Find a berth.", "Berth 7.", run.session_key())),
        ("forget", lambda: host.forget({})),
        ("backup_paths", host.backup_paths),
        ("switch", lambda: host.switch("new", run.session_key())),
    )
    for step, act in acts:
        if host.has(step):
            act()


def _assert_called(run: HostRun, host: Host, providers: list[Probe], promised: list[str]) -> None:
    for hook in promised:
        if any(provider.count(hook) for provider in providers) or hook == "name":
            continue
        step = _OCCASIONS[hook]
        if host.is_without(step):
            continue
        if not host.has(step):
            raise Untestable(f"needs the step `{step}`, which the driver lacks, for `{hook}`")
        run.violated(f"a call of `{hook}`, which `protocol.hooks` names", "there was none")


# -- contexts -------------------------------------------------------------------------------------


@check("MP-HOST-CTX-001")
def no_write_hook_is_called_in_other_contexts(run: HostRun) -> None:
    for context in ("primary", "cron", "subagent", "flush"):
        provider = run.serving("sessions", "delegation", enrich_turn=answering("Noted."))
        host = run.host(provider)
        host.open(agent_context=context)
        _use(run, host)
        host.close()
        contexts = _contexts(provider) if provider.count("initialize") else ()
        met = [call.hook for call in provider.named(*_WRITES)]
        if context == "primary" and not contexts:
            observed = "`protocol.contexts` is empty, or the provider was not initialized"
            run.violated("a context in which write hooks are called", observed)
        if context in contexts and "on_turn_complete" not in met:
            run.violated(f"a turn that is recorded in the context {context!r}", show(met))
        if context not in contexts and met:
            run.violated(f"no write hook in the context {context!r}", f"{met[0]} was called")


def _contexts(provider: Probe) -> tuple[str, ...]:
    return tuple(provider.protocol().get("contexts", ("primary",)))


def _use(run: HostRun, host: Host) -> None:
    """A turn, and what else may write."""
    host.recall("Which berth is free?")
    host.record("Take berth 7.")
    host.write("The harbour opens at six.")
    if host.has("delegate"):
        host.delegate("Find a berth.", "Berth 7.", run.session_key())
    if host.has("end"):
        host.end()
