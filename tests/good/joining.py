"""A good host whose fence takes the text of a provider in parts, and joins them first."""

from memproto import fence
from memproto.registry import MemoryProviderRegistry


class _Joining:
    def sanitize_context(self, text):
        return fence.sanitize_context(text)

    def build_memory_context_block(self, contexts):
        joined = (
            (label, "".join(text) if isinstance(text, list) else text) for label, text in contexts
        )
        return fence.build_memory_context_block(joined)


class JoinsParts(MemoryProviderRegistry):
    """The reference registry with that fence."""

    fence = _Joining()
