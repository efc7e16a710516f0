"""Chapter 80: what a session begins with, and what hosts promise at its start."""

import contextlib
import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from memproto.deadlines import Deadlines
from memproto.errors import Misconfigured
from memproto.operations import EXTENSION_HOOKS, OPERATIONS
from memproto.testing.clauses import NotApplicable, Untestable, Violation, check
from memproto.testing.evidence import Called, Differs, Lacks, Misordered, NotReported, Returned
from memproto.testing.host.host import Host
from memproto.testing.host.probes import Extended, Probe, answering, raising, tool
from memproto.testing.host.run import HostRun
from memproto.testing.host.steps import STEPS
from memproto.testing.host.words import ALMOST_EQUAL
from memproto.testing.needs import Driver
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
        run.violated(
            Returned(
                wanted="one initialize with a dict as its config",
                value=show([c.args for c in calls]),
            )
        )
    config: dict[str, Any] = calls[0].args[1]
    return config


@check("MP-HOST-INIT-003")
def the_config_holds_what_is_promised(run: HostRun) -> None:
    alone = run.probe()
    run.opened(alone).begin(alone)
    config = _config(run, alone)
    _assert_is_whole(run, config)
    _assert_seconds(run, config["deadlines"])
    if run.takes("deadlines"):
        _assert_are_kept(run)
        run.at_some_pace(lambda deadlines: _assert_are_waited_for(run, deadlines))
        if run.loaded.is_driver:
            run.at_some_pace(lambda deadlines: _assert_is_waited_for_in_a_turn(run, deadlines))
    for other in run.beside(run.probe()):
        run.opened(run.probe(initialize=_empty), other).begin(other)
        _assert_is_whole(run, _config(run, other), ", where another provider empties its own")
    _assert_is_its_own(run)
    _nothing_that_another_adds_is_in_it(run)
    _nothing_that_a_session_before_took_is_missing(run)


def _nothing_that_a_session_before_took_is_missing(run: HostRun) -> None:
    """A process serves one session after the other by providers of one name."""
    name = run.label()
    before, provider = Probe(name, initialize=_empty), Probe(name)
    for one in (before, provider):
        run.opened(one).begin(one)
    where = ", where the provider of a session before emptied its own"
    _assert_is_whole(run, _config(run, provider), where)


_ADDED = "added by another provider"


def _nothing_that_another_adds_is_in_it(run: HostRun) -> None:
    """A provider keeps something in each part of its config, the empty ones included."""

    def fill(part: Any) -> None:
        for inner in list(part.values() if isinstance(part, dict) else part):
            if isinstance(inner, dict | list):
                fill(inner)
        if isinstance(part, dict):
            part[_ADDED] = True
        else:
            part.append(_ADDED)

    for other in run.beside(run.probe()):
        handed: dict[str, Any] = {"tags": [], "model": {}}
        host = run.host(run.probe(initialize=lambda key, config: fill(config)), other)
        host.open(options=handed)
        host.begin(other)
        for whose, got in (("another provider", _config(run, other)), ("the agent", handed)):
            if _ADDED in repr(got):
                wanted = f"a config of {whose} without what a provider adds to its own"
                run.violated(Returned(wanted=wanted, value=show(got)))


#: Values of an agent that say something, though they count as false.
_SAYING_NO: dict[str, Any] = {"remembers_tools": False, "most_retries": 0}


def _assert_is_its_own(run: HostRun) -> None:
    """The agent's own values, and what is in them, are no other party's to change."""
    given = {"tags": ["harbour"], "model": {"names": ["tide"]}}
    for other in run.beside(run.probe()):
        handed = copy.deepcopy(given)
        host = run.host(run.probe(initialize=_empty), other)
        host.open(options=handed, **_SAYING_NO)
        host.begin(other)
        config = _config(run, other)
        got = config.get("options", given)  # A host may hand on no key of its agent's.
        if got != given or handed != given:
            wanted = f"`options` {show(given)}, where another provider empties its own"
            run.violated(Returned(wanted=wanted, value=show(got if got != given else handed)))
        for key, value in _SAYING_NO.items() if "options" in config else ():
            if config.get(key, "no such key") != value:
                wanted = f"`{key}` {value!r}, as the agent has it"
                run.violated(Returned(wanted=wanted, value=show(config.get(key))))


def _assert_is_whole(run: HostRun, config: dict[str, Any], where: str = "") -> None:
    for key, inner in _PROMISED.items():
        if key not in config:
            run.violated(
                Lacks(
                    wanted=f"`{key}` in the config{where}",
                    kind_of="key",
                    names=(key,),
                    seen=f"keys {', '.join(sorted(config))}",
                )
            )
        if inner and not isinstance(config[key], dict):
            run.violated(Returned(wanted=f"a dict as `{key}`{where}", value=show(config[key])))
        missing = [name for name in inner if name not in config[key]]
        if missing:
            run.violated(
                Lacks(
                    wanted=f"`{missing[0]}` in `{key}`{where}",
                    kind_of="key",
                    names=tuple(missing),
                    seen=show(config[key]),
                )
            )


def _empty(session_key: str, config: dict[str, Any]) -> None:
    """A provider that takes its config for its own, with all that is in it."""
    for value in config.values():
        if isinstance(value, dict):
            for inner in value.values():
                if isinstance(inner, dict | list):
                    inner.clear()
            value.clear()


def _assert_are_kept(run: HostRun) -> None:
    """No deadline that a host names is longer than the one that it was given and keeps."""
    given = Deadlines(enrich_s=4.0, compress_s=9.0, shutdown_s=6.0)
    provider = run.probe()
    run.opened(provider, deadlines=given).begin(provider)
    named = _config(run, provider)["deadlines"]
    for key in ("enrich_s", "compress_s", "shutdown_s"):
        if (named.get(key) or 0.0) > getattr(given, key):
            expected = f"no more than {getattr(given, key):g} s as `{key}`, which the host keeps"
            run.violated(Returned(wanted=expected, value=show(named[key])))


#: Share of a deadline after which a provider answers that goes by it, and of that of the exit, a
#: part of which a host may keep back.
_SHARE, _SHARE_OF_EXIT = 0.8, 0.4

#: Number of times that a host is asked before it is said to wait for less than it names.
_TRIES = 2


class _GoingBy:
    """
    A hook that takes a share of the deadline that its host named, and answers.

    Attributes:
        has_answered: Set once it has.

    """

    def __init__(self, key: str, share: float, answer: Any = None) -> None:
        self.key = key
        self.config: dict[str, Any] = {}
        self.has_answered = threading.Event()
        self._share, self._answer = share, answer

    def __call__(self, *args: Any) -> Any:
        named = self.config.get("deadlines", {}).get(self.key) or 0.0
        threading.Event().wait(named * self._share)
        self.has_answered.set()
        return self._answer


def _assert_are_waited_for(run: HostRun, deadlines: Deadlines) -> None:
    """A host waits as long as it says: a provider that goes by it is heard, and has ended."""
    recall = _GoingBy("enrich_s", _SHARE, "Noted.")
    read = _GoingBy("compress_s", _SHARE)
    store = _GoingBy("shutdown_s", _SHARE_OF_EXIT)
    hooks = {"enrich_turn": recall, "on_compress": read, "on_turn_complete": store}

    def learn(session_key: str, config: dict[str, Any]) -> None:
        for hook in hooks.values():
            hook.config = config

    provider = run.probe(initialize=learn, **hooks)
    host = run.opened(provider, deadlines=deadlines)
    if not _is_heard(host, recall):
        _is_not_waited_for(run, recall, "the answer of a provider")
    if host.has("compress"):
        host.offer()
        if provider.count("on_compress") and not read.has_answered.is_set():
            _is_not_waited_for(run, read, "a compression that waits for a provider")
    host.record("One turn.")
    host.close()
    if provider.count("on_turn_complete") and not store.has_answered.is_set():
        _is_not_waited_for(run, store, "a write at the exit of a provider")
    for slow in (0, 2):
        _assert_each_end_is_waited_for(run, deadlines, slow)


def _is_heard(host: Host, recall: _GoingBy) -> bool:
    """True if the answer is among those of a recall; a busy machine may hold one of them up."""
    for number in range(_TRIES):
        recall.has_answered.clear()
        if "Noted." in host.recall(f"What was noted at berth {number}?").values():
            return True
        # A host asks nothing of a provider that is not back yet.
        recall.has_answered.wait(1.0)
    return False


def _assert_each_end_is_waited_for(run: HostRun, deadlines: Deadlines, slow: int) -> None:
    """One of several providers saves at the exit what it holds, in its time."""
    ends = [_GoingBy("shutdown_s", _SHARE_OF_EXIT if n == slow else 0.0) for n in range(3)]

    def learning(end: _GoingBy) -> Callable[[str, dict[str, Any]], None]:
        return lambda session_key, config: vars(end).update(config=config)

    providers = [run.probe(initialize=learning(end), shutdown=end) for end in ends]
    host = run.opened(*run.beside(*providers[:2]), providers[2], deadlines=deadlines)
    host.record("One turn.")
    host.close()
    for provider, end in zip(providers, ends, strict=True):
        if provider.count("shutdown") and not end.has_answered.is_set():
            _is_not_waited_for(run, end, "the shutdown of a provider")


def _assert_is_waited_for_in_a_turn(run: HostRun, deadlines: Deadlines) -> None:
    """The same behind a beginning that takes its time, which has a bound of its own."""
    for _ in range(_TRIES):
        # First without: an answer that is never sent is for MP-HOST-RECALL-006.
        recall, is_sent = _asked_in_a_turn(run, deadlines, 0.0)
        if not is_sent:
            return
        recall, is_sent = _asked_in_a_turn(run, deadlines, _SHARE)
        if is_sent:
            return
    _is_not_waited_for(run, recall, "behind a slow beginning, the answer of a provider")


def _asked_in_a_turn(run: HostRun, deadlines: Deadlines, share: float) -> tuple[_GoingBy, bool]:
    """The recall of a turn whose beginning takes that share; True if the model got the answer."""
    recall = _GoingBy("enrich_s", _SHARE, "The lamps are lit.")
    begin = _GoingBy("enrich_s", share)

    def learn(key: str, config: dict[str, Any]) -> None:
        for hook in (recall, begin):
            hook.config = config

    acts: dict[str, Any] = {"initialize": learn, "enrich_turn": recall, "on_turn_start": begin}
    host = run.opened(run.serving("turns", **acts), deadlines=deadlines)
    if not host.has("turn"):
        return recall, False
    host.turn("Which lamps are lit?")
    return recall, host.model.was_sent("The lamps are lit.")


def _is_not_waited_for(run: HostRun, hook: _GoingBy, what: str) -> None:
    named = hook.config.get("deadlines", {}).get(hook.key)
    wanted = f"{what} that goes by `{hook.key}`, {show(named)}"
    run.violated(Differs(wanted=wanted, seen="the host waited for less than it named"))


def _assert_seconds(run: HostRun, deadlines: Any) -> None:
    is_dict = isinstance(deadlines, dict) and bool(deadlines)
    if not is_dict or not all(isinstance(item, int | float | None) for item in deadlines.values()):
        run.violated(Returned(wanted="a dict of deadlines in seconds", value=show(deadlines)))


@check("MP-HOST-INIT-004")
def the_config_says_whose_session_it_is(run: HostRun) -> None:
    sessions: tuple[dict[str, Any], ...] = (
        # Ids are opaque: another case, and zeros before a number, are those of somebody else.
        {"user_id": "Telegram:0042-Ines", "platform": "telegram", "user_name": "Ines"},
        {"user_id": "0042", "platform": "cli", "agent_identity": "Work"},
        {"user_id": "cli:ben", "platform": "cli", "agent_identity": "work"},
        {"user_id": "cli:ben", "platform": "cli", "agent_context": "cron"},
        {"user_id": "telegram:ines", "platform": "telegram", "agent_context": "subagent"},
        # As names are in other networks, and as people call a profile.
        {"user_id": "@ines:example.org", "platform": "cli", "agent_identity": "Work / Zo\u00eb"},
    )
    for given in sessions:
        # The first to be opened changes all that it is handed; the next one is not to see that.
        vandal = run.probe(initialize=_spoil)
        taken = (vandal, *run.beside(run.probe()))
        provider = taken[-1]
        host = run.host(*taken)
        host.open(**given)
        host.begin(provider)
        if not provider.count("initialize") and given.get("agent_context"):
            continue  # a host that opens no memory outside of conversations
        config = _config(run, provider)
        for key, value in given.items():
            if config.get(key) != value:
                run.violated(Returned(wanted=f"`{key}` {show(value)}", value=show(config.get(key))))
        # A host may make up a name for display, and not take that of a session before.
        if "user_name" not in given and config.get("user_name") == sessions[0]["user_name"]:
            wanted = "another `user_name` than that of a session before, or none"
            run.violated(Returned(wanted=wanted, value=show(config["user_name"])))


def _spoil(session_key: str, config: dict[str, Any]) -> None:
    """A provider that takes its config for its own."""
    for key in ("user_id", "platform", "agent_identity", "agent_context"):
        config[key] = "changed"


@check("MP-HOST-INIT-006")
def two_sessions_have_two_keys(run: HostRun) -> None:
    key = run.session_key()
    for ends in ALMOST_EQUAL:
        handed: list[str] = []
        for end in ends:
            provider = run.probe()
            host = run.host(provider)
            # A host that cannot have such a key refuses it.
            with contextlib.suppress(Violation):
                host.open(f"{key}{end}")
                host.begin(provider)
                handed += [call.args[0] for call in provider.named("initialize")]
        if len(handed) == 2 and handed[0] == handed[1]:
            wanted = f"two keys for the sessions {show(ends[0])} and {show(ends[1])} of {key!r}"
            run.violated(Returned(wanted=wanted, value=show(handed[0])))


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
            raise Untestable(f"the driver lacks the step `{step}` for `{hook}`", (Driver(step),))
        run.violated(
            Called(wanted=f"a call of `{hook}`, which `protocol.hooks` names", hook=hook, times=0)
        )


# -- contexts -------------------------------------------------------------------------------------


@check("MP-HOST-CTX-001")
def no_write_hook_is_called_in_other_contexts(run: HostRun) -> None:
    for context in ("primary", "cron", "subagent", "flush"):
        provider = run.serving("sessions", "delegation", enrich_turn=answering("Noted."))
        whole = run.beside(run.serving("record"))
        host = run.host(provider, *whole)
        host.open(agent_context=context)
        _use(run, host)
        host.close()
        contexts = _contexts(provider) if provider.count("initialize") else ()
        if provider.count("initialize") and not provider.count("enrich_turn"):
            expected = f"recall that goes on in the context {context!r}"
            run.violated(Called(wanted=expected, hook="enrich_turn", times=0))
        met = [call.hook for one in (provider, *whole) for call in one.named(*_WRITES)]
        if context == "primary" and not contexts:
            observed = "`protocol.contexts` is empty, or the provider was not initialized"
            run.violated(Differs(wanted="a context in which write hooks are called", seen=observed))
        if context in contexts and "on_turn_complete" not in met:
            run.violated(
                Returned(
                    wanted=f"a turn that is recorded in the context {context!r}", value=show(met)
                )
            )
        if context not in contexts and met:
            run.violated(
                Called(
                    wanted=f"no write hook in the context {context!r}",
                    hook=met[0],
                    times=len(met),
                    due=0,
                    seen=f"{met[0]} was called",
                )
            )
    _tools_are_called_in_a_job(run)
    _two_contexts_side_by_side(run)


def _tools_are_called_in_a_job(run: HostRun) -> None:
    """A call of a tool is no write hook: what works in a conversation does so in a job."""
    for context in ("primary", "cron"):
        name = run.label().replace("-", "_")
        provider = run.serving("tools", schemas=[tool(name)])
        host = run.host(provider)
        host.open(agent_context=context)
        host.begin(provider)
        if not host.has("tools") or not host.has("call_tool") or not provider.count("initialize"):
            return
        is_offered = name in [schema.get("name") for schema in host.tools()]
        host.call_tool(name, {"text": "x"})
        if is_offered and provider.count("handle_tool_call"):
            continue
        if context == "primary":
            return  # A tool that is never offered is for MP-HOST-TOOL-001.
        wanted = f"a call of a tool that is offered in the context {context!r}"
        run.violated(Called(wanted=wanted, hook="handle_tool_call", times=0))


def _two_contexts_side_by_side(run: HostRun) -> None:
    """A job runs beside a conversation: either is what it was opened as, and not what came last."""
    for contexts in (("primary", "cron"), ("cron", "primary")):
        sessions = {}
        for context in contexts:
            provider = run.probe()
            host = run.host(provider)
            host.open(agent_context=context)
            host.begin(provider)
            sessions[context] = host, provider
        for host, provider in sessions.values():
            if provider.count("initialize"):
                host.record("Take berth 7.")
        (_, talk), (job, worker) = sessions["primary"], sessions["cron"]
        if not run.wait_until(lambda p=talk: p.count("on_turn_complete") > 0, 2.0):  # type: ignore[misc]
            wanted = "a turn that is recorded in a conversation beside a job"
            run.violated(Called(wanted=wanted, hook="on_turn_complete", times=0))
        job.close()
        if worker.count(*_WRITES) and "cron" not in _contexts(worker):
            wanted = "no write hook in a job beside a conversation"
            times = worker.count(*_WRITES)
            run.violated(Called(wanted=wanted, hook="on_turn_complete", times=times, due=0))


#: A turn with all that is known of it.
_TURN = {
    "turn_id": "turn-1",
    "started_at": "2026-03-14T09:26:53+05:45",
    "ended_at": "2026-03-14T09:27:10+05:45",
    "user_message": "Take berth 9.",
    "assistant_response": "Noted.",
}


def _contexts(provider: Probe) -> tuple[str, ...]:
    return tuple(provider.protocol().get("contexts", ("primary",)))


def _use(run: HostRun, host: Host) -> None:
    """A turn, and what else may write."""
    host.ask("Which berth is free?")
    host.record("Take berth 7.")
    host.write("The harbour opens at six.")
    for step in ("turn", "stream"):
        if host.has(step):
            host.turn("Take berth 4.", step=step)
    if host.has("record_turn"):
        host.record_turn(dict(_TURN))
        # A key of a turn takes it out of the user's memory, and never into it.
        host.record_turn({**_TURN, "turn_id": "turn-of-the-user", "context": "primary"})
    if host.has("delegate"):
        host.delegate("Find a berth.", "Berth 7.", run.session_key())
    if host.has("end"):
        host.end()
    # A job that goes on in another session is a job all the same.
    if host.has("switch resume"):
        host.switch("resume", run.session_key())
        host.record("Take berth 2.")
        if host.has("turn"):
            host.turn("Take berth 3.")


# -- lifecycle -------------------------------------------------------------------------------------

# Chapter 80: the start of a session.


#: Hooks that no provider gets which takes no part in the session. Schemas of tools may be read
#: before it is opened, and paths of a backup without a session.
_USED = (
    "capabilities",
    "enrich_turn",
    "on_memory_write",
    "on_turn_complete",
    "on_compress",
    "handle_tool_call",
    "system_prompt_block",
    "on_turn_start",
    "queue_prefetch",
    "record",
    "compress_notes",
    "on_delegation",
    "on_session_end",
    "on_session_switch",
    "forget",
)


@check("MP-HOST-INIT-001")
def an_unavailable_provider_is_dropped_and_reported(run: HostRun) -> None:
    answers = {
        "False": lambda: False,
        "an exception": raising(lambda: KeyError("API_KEY")),
        "None": lambda: None,
        "a str": lambda: "yes",
    }
    absent = {what: _serving_all(run, is_available=act) for what, act in answers.items()}
    said = {provider.name: what for what, provider in absent.items()}
    for group, host in _beside_good(run, absent.values()):
        for provider in group:
            dropped = f"{provider.name}, whose is_available gives {said[provider.name]}"
            _assert_left_alone(run, provider, ("initialize", *_USED), dropped)
            _assert_reported(run, host, provider, dropped)


def _serving_all(run: HostRun, **hooks: Callable[..., Any]) -> Extended:
    """A provider with every extension, and a tool of its own."""
    name = run.label().replace("-", "_")
    return run.serving(*_EVERY, schemas=[tool(name)], **hooks)


def _beside_good(
    run: HostRun, subjects: Iterable[Extended]
) -> Iterator[tuple[list[Extended], Host]]:
    """Sessions of the subjects between two good providers, as far as the host takes them."""
    together = list(subjects)
    for group in [together] if run.loaded.most is None else [[one] for one in together]:
        good = [run.probe(enrich_turn=answering("Noted.")) for _ in range(2)]
        taken = run.beside(*good)
        host = run.opened(*taken[:1], *group, *taken[1:])
        _assert_session_works(run, host, list(taken))
        for provider in group if host.has("call_tool") else ():
            # An exception that the host raises here is for MP-HOST-TOOL-004.
            with contextlib.suppress(Violation):
                host.call_tool(provider.schemas[0]["name"], {"text": "x"})
        # The calls of the others are for the requirements on them.
        with contextlib.suppress(Violation, Untestable):
            _lead_through(run, host)
        yield group, host


@check("MP-HOST-INIT-002")
def a_provider_whose_initialize_raised_is_left_out_and_reported(run: HostRun) -> None:
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: RuntimeError("no database"),
        lambda: Misconfigured("no key"),
        TimeoutError,
    )
    failed = [_serving_all(run, initialize=raising(make)) for make in errors]
    for group, host in _beside_good(run, failed):
        for provider in group:
            what = f"{provider.name}, whose initialize raised"
            if not provider.count("initialize"):
                run.violated(
                    Called(
                        wanted=f"initialize of {provider.name}",
                        hook="initialize",
                        times=0,
                        seen="it was not called",
                    )
                )
            if (times := provider.count("initialize")) > 1:
                # Each turn would wait for the backend that was away when the session began.
                wanted = f"one initialize of {provider.name}, which raised"
                run.violated(Called(wanted=wanted, hook="initialize", times=times, due=1))
            _assert_left_alone(run, provider, _USED, what)
            _assert_asked_for_no_paths(run, provider, what)
            _assert_reported(run, host, provider, what)
    _goes_on_without_any(run)


def _assert_asked_for_no_paths(run: HostRun, provider: Probe, what: str) -> None:
    """The paths of a backup are told without a session, and not by what half a start has left."""
    hooks = [call.hook for call in provider.named("initialize", "backup_paths")]
    if times := hooks[hooks.index("initialize") :].count("backup_paths"):
        wanted = f"no call of `backup_paths` behind the start of {what}"
        run.violated(Called(wanted=wanted, hook="backup_paths", times=times, due=0))


def _goes_on_without_any(run: HostRun) -> None:
    """The one provider that there is has failed: a turn is a turn without a memory."""
    failed = run.probe(initialize=raising(lambda: OSError("no database")))
    host = run.opened(failed)
    if run.loaded.is_driver and host.has("turn"):
        host.turn("Which berth is free?")
    else:
        host.recall("Which berth is free?")
        host.record("Book berth 7.")
    host.close()
    # Half of it may have started.
    if failed.count("initialize") and (times := failed.count("shutdown")) != 1:
        wanted = "one shutdown of a provider whose initialize raised, the only one"
        run.violated(Called(wanted=wanted, hook="shutdown", times=times, due=1))


@check("MP-HOST-CAP-001")
def capabilities_are_asked_for_once(run: HostRun) -> None:
    first, second = (run.probe(enrich_turn=answering("Noted.")) for _ in range(2))
    providers = [first, *run.beside(second)]
    host = run.opened(*providers)
    for _ in range(3):
        _assert_session_works(run, host, providers)
        host.offer()
    host.close()
    for provider in providers:
        times = provider.count("capabilities")
        if times != 1:
            run.violated(
                Called(
                    wanted="capabilities is called once in a session",
                    hook="capabilities",
                    times=times,
                    due=1,
                    seen=f"it was called {times} times",
                )
            )
        order = [call.hook for call in provider.named("initialize", "capabilities")]
        if order != ["initialize", "capabilities"]:
            run.violated(
                Misordered(
                    wanted="capabilities after initialize",
                    calls=tuple(order),
                    seen=" before ".join(order),
                )
            )
    _assert_is_a_copy(run)
    _is_asked_once_whatever_else_is(run)
    run.needs_also("compress")


def _is_asked_once_whatever_else_is(run: HostRun) -> None:
    """A backup before the session, and all that a session may hold."""
    provider = _serving_all(run)
    host = run.host(provider)
    if host.has("backup_paths"):
        host.backup_paths()
    host.open()
    host.begin(provider)
    # The calls themselves are for the requirements on them.
    with contextlib.suppress(Violation, Untestable):
        _lead_through(run, host)
    host.close()
    order = [call.hook for call in provider.named("initialize", "capabilities")]
    # A host may open it again where the session changes.
    if order != ["initialize", "capabilities"] * (len(order) // 2):
        wanted = "capabilities once, after initialize, whatever else is asked"
        run.violated(Misordered(wanted=wanted, calls=tuple(order), seen=" before ".join(order)))


def _assert_is_a_copy(run: HostRun) -> None:
    """A provider empties what it declared; its tool is offered and called as before."""
    name = run.label().replace("-", "_")
    declared: dict[str, Any] = {"extensions": ["tools"], "tool_names": [name]}
    provider = run.serving("tools", schemas=[tool(name)], capabilities=lambda: declared)
    host = run.opened(provider)
    if not host.has("tools") or not host.has("call_tool"):
        return
    host.begin(provider)
    if name not in [schema.get("name") for schema in host.tools()]:
        return  # It offers none of a provider, which is for MP-HOST-TOOL-001.
    declared["tool_names"].clear()
    declared["extensions"].clear()
    host.call_tool(name, {"text": "x"})
    offered = [schema.get("name") for schema in host.tools()]
    if name not in offered or provider.count("handle_tool_call") != 1:
        run.violated(
            Called(
                wanted=f"a call of {name!r}, which was declared when the session began",
                hook="handle_tool_call",
                times=provider.count("handle_tool_call"),
                due=1,
                seen="a change of what it declared changed that",
            )
        )


def _assert_session_works(run: HostRun, host: Host, good: list[Probe]) -> None:
    """One turn; all good providers take part in it."""
    answers = host.recall("What was noted?")
    if set(answers) != {provider.name for provider in good}:
        run.violated(
            Returned(wanted="the answers of the providers that started", value=show(answers))
        )
    before = [provider.count("on_turn_complete", "on_memory_write") for provider in good]
    host.record("Hello.")
    # Another one each time: a host that mirrors no text twice is for MP-HOST-WRITE-001.
    host.write(f"The harbour is {run.facts.name()}.")
    for provider, count in zip(good, before, strict=True):
        wanted = count + 2
        if not run.wait_until(lambda p=provider, n=wanted: _writes(p) >= n):  # type: ignore[misc]
            run.violated(
                Called(
                    wanted="a write for each provider that started",
                    hook="on_turn_complete",
                    times=0,
                    seen=f"{provider.name} got none",
                )
            )


def _writes(provider: Probe) -> int:
    return provider.count("on_turn_complete", "on_memory_write")


def _assert_left_alone(run: HostRun, provider: Probe, hooks: tuple[str, ...], what: str) -> None:
    met = provider.named(*hooks)
    if met:
        run.violated(
            Called(
                wanted=f"no call to {what}",
                hook=met[0].hook,
                times=len(met),
                due=0,
                seen=f"{met[0].hook} was called",
            )
        )


def _assert_reported(run: HostRun, host: Host, provider: Probe, what: str) -> None:
    if not run.wait_until(lambda: bool(host.reports.about(provider.name)), 2.0):
        run.violated(NotReported(about=what))


@check("MP-HOST-BACKUP-001")
def a_backup_takes_the_paths_of_every_provider(run: HostRun) -> None:
    for is_open in (False, True):
        places = [[_place(run.label()) for _ in range(2)] for _ in range(2)]
        providers = [run.serving("backup", backup_paths=_giving(own)) for own in places]
        failing = run.serving("backup", backup_paths=raising(lambda: OSError("unreadable")))
        taken = run.beside(failing, providers[1])
        host = run.host(providers[0], *taken)
        host.needs("backup_paths")
        if is_open:
            host.open()
        found = host.backup_paths()
        asked = [path for own in (places if taken else places[:1]) for path in own]
        missing = [path for path in asked if path not in map(str, found)]
        if missing:
            when = "in a session" if is_open else "before a session"
            run.violated(
                Lacks(
                    wanted=f"{missing[0]} among the paths {when}",
                    kind_of="path",
                    names=(str(missing[0]),),
                    seen=show(found),
                )
            )


def _place(name: str) -> str:
    """
    A directory outside of the home; it is there, since a host may leave out what is not.

    Two providers may have one of the same name, as two products of one library do.
    """
    place = Path.cwd() / "outside" / name / "store"
    place.mkdir(parents=True, exist_ok=True)
    return str(place)


def _giving(answer: object) -> Callable[..., object]:
    return lambda: answer
