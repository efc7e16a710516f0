"""Providers of other dialects as `MemoryProvider`: `hermes` and `aio`. Nothing is loaded here."""
