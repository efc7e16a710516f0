"""
Judges a trace of a host, from the file alone: `memproto check-trace` is this at the terminal.

`read` gives the traces of a file and what is wrong with the file itself; `judge` what the calls of
a trace violate. The format, and what a trace can and cannot decide: `spec/v1/84-traces.md`.
"""

from memproto.tracing.findings import Finding
from memproto.tracing.judging import judge
from memproto.tracing.reading import Call, Damage, Provider, Trace, read, read_from

__all__ = ["Call", "Damage", "Finding", "Provider", "Trace", "judge", "read", "read_from"]
