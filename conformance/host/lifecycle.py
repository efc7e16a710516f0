"""Chapter 25: the life of an instance, as its host lives it."""

import io

from memproto.recording import Recording
from memproto.testing.clauses import Untestable, check
from memproto.testing.evidence import Misordered
from memproto.testing.host.host import Host
from memproto.testing.host.run import HostRun
from memproto.testing.needs import depends_on
from memproto.tracing import judge, read_from

_SERVED = ("sessions", "turns", "prompt", "delegation", "compress_notes")
_RULE = "MP-HOST-LIFE-001"


@check("MP-HOST-LIFE-001")
def every_call_is_one_that_the_life_of_an_instance_allows(run: HostRun) -> None:
    # One serves some extensions; the other has every hook, and declares none.
    for served in (_SERVED, ()):
        _lives_as_it_may(run, served)


def _lives_as_it_may(run: HostRun, served: tuple[str, ...]) -> None:
    told = io.BytesIO()
    with Recording(told) as recording:
        provider = recording.around(run.serving(*served))
        _live(run, run.opened(provider))
        run.wait_until(lambda: provider.count("shutdown") > 0, 2.0)
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
    if host.has("compress"):
        host.compress([{"role": "user", "content": "Book berth 7."}])
    if host.has("switch"):
        host.switch("new", run.session_key())
        _turn(host, "Book berth 4.")
    host.close()


def _turn(host: Host, text: str) -> None:
    if host.has("turn"):
        host.turn(text)
    else:
        host.recall(text)
        host.record(text)
