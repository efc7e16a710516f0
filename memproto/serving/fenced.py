"""A provider for a host without a fence: recall brings the block, and no block is stored."""

import secrets
from collections.abc import Sequence
from typing import Any

from memproto.fence import build_memory_context_block, strip_memory_context
from memproto.types import is_label

#: The label of a provider whose name cannot be one.
_LABEL = "provider"

#: Bytes of a nonce, which nobody knew who wrote a text before the block was built.
_NONCE_BYTES = 12


class Fenced:
    """
    A provider whose recall is a block that no stored text ends or forges.

    A text that it is told is stripped of such blocks, because a host may send the message of a turn
    as the model got it. Everything else is the provider's own, as are threads, blocking and errors.

    Raises:
        TextExpected: In `enrich_turn`, if the provider recalls what is no text.

    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def enrich_turn(self, user_message: str, messages: Sequence[Any]) -> str | None:
        """The block with what the provider recalls, or None if that is nothing."""
        recalled = self._provider.enrich_turn(_bare(user_message), _all_bare(messages))
        if recalled is None:
            return None
        name = self._provider.name
        label = name if is_label(name) else _LABEL
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        return build_memory_context_block([(label, recalled)], nonce=nonce) or None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Record the turn without a block that stands in it."""
        self._provider.on_turn_complete(_bare(user_message), assistant_response)

    def on_compress(self, messages: Sequence[Any], compression_count: int) -> Any:
        """Compress the messages without blocks that stand in them."""
        return self._provider.on_compress(_all_bare(messages), compression_count)


def _bare(text: Any) -> Any:
    """A text without blocks; white space that stood beside one goes with it."""
    if not isinstance(text, str):
        return text
    bare = strip_memory_context(text)
    return text if bare == text else bare.strip()


def _all_bare(messages: Sequence[Any]) -> list[Any]:
    return [
        {**message, "content": _bare(message.get("content"))}
        if isinstance(message, dict)
        else message
        for message in messages
    ]
