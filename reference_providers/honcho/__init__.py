"""Memory that a Honcho server keeps."""

from .provider import HonchoMemoryProvider

__all__ = ["HonchoMemoryProvider"]
