"""
Writes down which hook of which provider was called when, in any host, also in production.

`record(provider, "trace.jsonl")` gives a provider that does what the given one does, and a line in
the file where each call begins and ends. No text of a user is in it. `memproto check-trace` reads
it; the format is in `spec/v1/84-traces.md`.
"""

from memproto.recording.recorder import Recording, record

__all__ = ["Recording", "record"]
