"""Compression: providers see the messages that are about to go, and may object."""

from collections.abc import Sequence
from types import MappingProxyType

from memproto.registry.answers import CompressRefused
from memproto.registry.calls.gather import Gather, HookCall, fly, not_stuck, started_worker
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.messages import copier, normalised
from memproto.types import Message

_HOOK = "on_compress"


def compress(
    lanes: Sequence[ProviderLane],
    messages: Sequence[Message],
    compression_count: int,
    gather: Gather,
) -> CompressRefused | None:
    """
    Call `on_compress` of every provider, each on a thread of its own, and wait for them.

    Returns who serves `checkpoint` and has not stored the messages; None where nobody objects.
    """
    copy = copier(normalised(messages))
    calls = [
        HookCall(lane, _HOOK, (copy(), compression_count), gather, worker)
        for lane in not_stuck(lanes, _HOOK)
        if (worker := started_worker(lane, _HOOK)) is not None
    ]
    fly(calls, gather)
    for call in calls:
        if call.done and call.worker is not None:
            call.worker.join()
    return _refusal(lanes, calls)


def _refusal(lanes: Sequence[ProviderLane], calls: Sequence[HookCall]) -> CompressRefused | None:
    made = {call.lane: call for call in calls}
    reasons = {
        lane.label: reason
        for lane in lanes
        if lane.stops_compression and (reason := _not_stored(made.get(lane)))
    }
    return CompressRefused(MappingProxyType(reasons)) if reasons else None


def _not_stored(call: HookCall | None) -> str:
    if call is None:
        return "stuck"
    if not call.done:
        return "late" if call.started else "stuck"
    return call.error
