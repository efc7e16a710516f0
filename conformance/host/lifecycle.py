"""Chapter 25: the life of an instance, as its host lives it."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

from memproto.recording import Recording
from memproto.testing.clauses import Untestable, Violation, check
from memproto.testing.evidence import Misordered
from memproto.testing.host.host import Host, HostLate
from memproto.testing.host.probes import tool
from memproto.testing.host.run import HostRun
from memproto.testing.needs import depends_on
from memproto.tracing import judge, read_from

_SERVED = ("sessions", "turns", "prompt", "delegation", "compress_notes", "prewarm", "privacy")
_RULE = "MP-HOST-LIFE-001"
_TOOL = "find_berth"

#: A preparation takes so long, and less than a host has for its end.
_PREPARES_S = 0.4


@check("MP-HOST-LIFE-001")
def every_call_is_one_that_the_life_of_an_instance_allows(run: HostRun) -> None:
    # One serves some extensions; the other has every hook, and declares none.
    for served in (_SERVED, ()):
        _lives_as_it_may(run, served)


def _lives_as_it_may(run: HostRun, served: tuple[str, ...]) -> None:
    told = io.BytesIO()
    schemas = [tool(_TOOL)] if served else []
    # The last preparation is under way when the agent is left.
    prepares = run.gate(hangs_s=_PREPARES_S * run.scale)
    with Recording(told) as recording:
        known = run.serving(
            *served,
            *(["tools"] if served else []),
            schemas=schemas,
            queue_prefetch=prepares,
        )
        provider = recording.around(known)
        host = run.opened(provider)
        _live(run, host)
        run.wait_until(lambda: provider.count("shutdown") > 0, 2.0)
        # An agent that was left is gone, and takes no further step; its registry is an object.
        if not run.loaded.is_driver:
            _use_once_more(host)
    if not provider.count("initialize"):
        raise Untestable("the provider is not initialized", depends_on("MP-HOST-INIT-003"))
    traces, _ = read_from(io.BytesIO(told.getvalue()))
    for trace in traces:
        for finding in judge(trace):
            if finding.rule.id == _RULE:
                run.violated(
                    Misordered(
                        wanted="calls that the life of an instance allows", seen=finding.seen
                    )
                )


def _live(run: HostRun, host: Host) -> None:
    """A session with what the host has steps for."""
    for text in ("Book berth 7.", "Which berth is booked?"):
        _turn(host, text)
    if host.has("prompt"):
        host.prompt()
    if host.has("tools"):
        host.tools()
    if host.has("compress"):
        host.compress([{"role": "user", "content": "Book berth 7."}])
    if host.has("switch"):
        host.switch("new", run.session_key())
        _turn(host, "Book berth 4.")
    host.close()


def _use_once_more(host: Host) -> None:
    """
    A turn that is under way on another thread when all is shut down goes on to its end.

    A registry may refuse each of them; a provider that was shut down gets none.
    """
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("call_tool", lambda: host.call_tool(_TOOL, {"text": "x"})),
        ("record", lambda: host.record("Book berth 2.")),
        ("write_memory", lambda: host.mirror("add", "memory", "Berth 2 is booked.")),
        ("recall", lambda: host.recall("Which berth is booked?")),
        ("compress", lambda: host.compress([{"role": "user", "content": "Book berth 2."}])),
        ("forget", lambda: host.forget({})),
    )
    with contextlib.suppress(HostLate):
        for step, act in acts:
            try:
                if host.has(step):
                    act()
            except HostLate:
                raise
            except (Violation, Untestable):
                continue


def _turn(host: Host, text: str) -> None:
    if host.has("turn"):
        host.turn(text)
    else:
        host.recall(text)
        host.record(text)
