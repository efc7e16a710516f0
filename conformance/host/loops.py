"""Chapter 80: registries and event loops."""

import copy
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from memproto.testing.clauses import NotApplicable, check
from memproto.testing.evidence import Called, Differs, Returned
from memproto.testing.host.host import Host
from memproto.testing.host.probes import Extended, answering, tool
from memproto.testing.host.run import HostRun
from memproto.testing.wire import show

_HOOKS = (
    "initialize",
    "enrich_turn",
    "on_memory_write",
    "on_turn_complete",
    "on_compress",
    "shutdown",
)

#: Hooks of extensions, and what they answer.
_ASKED: dict[str, Any] = {
    "is_available": True,
    "get_tool_schemas": [tool("find_berth")],
    "handle_tool_call": "{}",
    "system_prompt_block": "",
    "on_turn_start": None,
    "queue_prefetch": None,
    "compress_notes": "",
    "backup_paths": [],
    "forget": {"removed": 0, "pending": 0},
    "on_delegation": None,
    "on_session_end": None,
    "on_session_switch": None,
}

_SERVED = (
    "tools",
    "prompt",
    "turns",
    "prewarm",
    "compress_notes",
    "backup",
    "privacy",
    "delegation",
    "sessions",
)

#: Long enough for a loop that nothing holds, on a loaded machine.
_TURN_S = 3.0


def _needs_registry(run: HostRun) -> None:
    if run.loaded.is_driver:
        raise NotApplicable("how an agent calls its registry is its own affair")


@check("MP-HOST-LOOP-001")
def a_caller_on_a_loop_is_served_as_any_other(run: HostRun) -> None:
    _needs_registry(run)
    act = answering("Noted.")
    provider = run.serving(*_SERVED, schemas=[tool("find_berth")], enrich_turn=act)
    host = run.host(provider)
    host.on_a_loop()
    if host.has("backup_paths"):
        host.backup_paths()
    host.open()
    answers = host.recall("What was noted?")
    if answers != {provider.name: "Noted."}:
        run.violated(
            Returned(wanted="the answer that a caller without a loop gets", value=show(answers))
        )
    _use(run, host)
    met = {call.hook for call in provider.calls}
    missing = [hook for hook in _HOOKS if hook not in met]
    if missing:
        run.violated(Called(wanted=f"a call of {missing[0]}", hook=missing[0], times=0))


@check("MP-HOST-LOOP-002")
def the_loop_goes_on_while_a_provider_works(run: HostRun) -> None:
    _needs_registry(run)
    looks: list[_Look] = []
    loop = run.host().driver.loop
    if loop is None:
        raise NotApplicable("none of its methods is a coroutine")
    hooks = {hook: _Looking(hook, looks, run.scale) for hook in (*_HOOKS, *_ASKED)}
    provider = Extended(run.label(), _SERVED, [tool("find_berth")], **hooks)
    host = run.host(provider)
    for hook in hooks.values():
        hook.turn = host.driver.loop.submit
    host.open()
    _use(run, host)
    for look in _holders(looks):
        wanted = f"a loop that goes on while {look.hook} works"
        run.violated(Differs(wanted=wanted, seen="it stood still"))
    if "enrich_turn" not in {look.hook for look in looks}:
        run.violated(Called(wanted="a recall of the provider", hook="enrich_turn", times=0))


@dataclasses.dataclass
class _Look:
    """
    One call of a hook, on the clock of `time.perf_counter`.

    Attributes:
        hook: Its name.
        left_s: When it returned.
        turned_s: When the loop went on behind its beginning.

    """

    hook: str
    left_s: float = math.inf
    turned_s: float = math.inf

    def is_held(self) -> bool:
        """True if the loop stood still until it returned."""
        return self.turned_s > self.left_s


def _holders(looks: Iterable[_Look]) -> list[_Look]:
    """
    The calls that the loop waited for.

    A call beside one of them finds the loop standing as well, and it stands on when that returns.
    """
    held = [look for look in looks if look.is_held()]
    return [
        look
        for look in held
        if not any(look.left_s < other.left_s < look.turned_s for other in held)
    ]


class _Looking:
    """A hook that looks whether the loop does something else meanwhile."""

    def __init__(self, hook: str, looks: list[_Look], scale: float) -> None:
        self.turn: Callable[[Callable[[], None]], None] = lambda act: act()
        self._hook = hook
        self._looks = looks
        self._wait_s = _TURN_S * scale

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        look, turned = _Look(self._hook), threading.Event()

        def goes_on() -> None:
            look.turned_s = time.perf_counter()
            turned.set()

        self._looks.append(look)
        self.turn(goes_on)
        turned.wait(self._wait_s)
        look.left_s = time.perf_counter()
        return copy.deepcopy(_ASKED.get(self._hook))


def _use(run: HostRun, host: Host) -> None:
    """An open session with all that the host has steps for, and its end."""
    host.turn("What was noted?") if host.has("turn") else host.recall("What was noted?")
    host.record("One turn.")
    host.write("The harbour opens at six.")
    host.offer()
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("call_tool", lambda: host.call_tool("find_berth", {"text": "x"})),
        ("prompt", host.prompt),
        ("backup_paths", host.backup_paths),
        ("forget", lambda: host.forget({})),
        ("delegate", lambda: host.delegate("Find a berth.", "Berth 7.", run.session_key())),
        ("switch", lambda: host.switch("new", run.session_key())),
        ("end", host.end),
    )
    for step, act in acts:
        if host.has(step):
            act()
    host.close()
