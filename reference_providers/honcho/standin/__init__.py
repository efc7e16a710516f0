"""
A server that stands in for Honcho's, for tests and for the kit: the v3 API, held in memory.

Statuses, limits and shapes are those of server 3.0.12; what the real one leaves to a language
model is done with words (`thinking`). `serving` runs one; `Options` says of what kind.
"""

from .server import Arrived, StandIn, serving

__all__ = ["Arrived", "StandIn", "serving"]
