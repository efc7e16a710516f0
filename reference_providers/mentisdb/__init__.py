"""The memory of a MentisDB daemon: every turn and write a thought on a chain, over HTTP."""

from .provider import MentisDbMemoryProvider

__all__ = ["MentisDbMemoryProvider"]
