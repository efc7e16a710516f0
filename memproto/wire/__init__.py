"""
Providers in processes of their own, by the protocol of 85-wire.md; standard library only.

`WireProvider(["acme-memory"])` is a native provider for any host.
"""

from memproto.wire.faults import NotStarted, OutcomeUnknown, ServerError
from memproto.wire.provider import WireProvider

__all__ = ["NotStarted", "OutcomeUnknown", "ServerError", "WireProvider"]
