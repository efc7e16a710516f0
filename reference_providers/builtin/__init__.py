"""The bounded memory that an agent always sees: two small files and one tool."""

from .provider import BuiltinMemoryProvider

__all__ = ["BuiltinMemoryProvider"]
