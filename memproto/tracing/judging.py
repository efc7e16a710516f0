"""All that a trace shows against its host and its providers."""

from memproto import spec
from memproto.tracing import hosts, order, providers, sessions, turns
from memproto.tracing.findings import Finding
from memproto.tracing.reading import Call, Trace

_RULES = (order, hosts, sessions, turns, providers)


def judge(trace: Trace, *, still_running: bool = False) -> list[Finding]:
    """
    The requirements that the calls of a trace violate, in the order of the file.

    Nobody is blamed for an event that a trace does not show: if a line is missing, or with
    `still_running`, nothing is concluded from what did not happen.
    """
    found = []
    is_over = trace.is_whole and (trace.is_ended or not still_running)
    calls: dict[int, list[Call]] = {number: [] for number in trace.providers}
    for call in trace.calls:
        calls[call.instance].append(call)
    for provider in trace.providers.values():
        told = order.Told(provider, calls[provider.number], trace.ended_s, is_over)
        seen = [one for rules in _RULES for one in rules.seen(told)]
        found += [
            Finding(line, provider.name, spec.requirement(name), what) for line, name, what in seen
        ]
    return sorted(found, key=lambda finding: finding.line)
