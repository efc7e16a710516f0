"""A provider for a host without a fence: recall brings the block, and no block is stored."""

import functools
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memproto.fence import build_memory_context_block, strip_memory_context
from memproto.types import is_label

#: The label of a provider whose name cannot be one.
_LABEL = "provider"

#: Bytes of a nonce, which nobody knew who wrote a text before the block was built.
_NONCE_BYTES = 12


#: Keys under which a message, a part of one or a turn holds what was said.
_TEXTS = frozenset({"content", "text", "user_message", "assistant_response", "messages"})

#: Hook to the places of its arguments that hold what was said: a text, messages, or a turn. Keys,
#: arguments of tools and mirrored writes are left as they are: no host takes them from a prompt.
_SAID: Mapping[str, tuple[int, ...]] = {
    "on_turn_complete": (0,),
    "record": (0,),
    "on_turn_start": (1,),
    "queue_prefetch": (0,),
    "on_compress": (0,),
    "compress_notes": (0,),
    "on_session_end": (0,),
    "on_delegation": (0, 1),
}


class Fenced:
    """
    A provider whose recall is a block that no stored text ends or forges.

    Turns and messages that it is told are stripped of such blocks, because a host may send the
    message of a turn as the model got it. Everything else is the provider's own, as are threads,
    blocking and errors.

    Raises:
        TextExpected: In `enrich_turn`, if the provider recalls what is no text.

    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._provider, name)
        places = _SAID.get(name, ())
        return functools.partial(_told, found, places) if places and callable(found) else found

    def enrich_turn(self, user_message: str, messages: Sequence[Any]) -> str | None:
        """The block with what the provider recalls, or None if that is nothing."""
        recalled = self._provider.enrich_turn(_bare(user_message), _bare(messages))
        if recalled is None:
            return None
        name = self._provider.name
        label = name if is_label(name) else _LABEL
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        return build_memory_context_block([(label, recalled)], nonce=nonce) or None


def _told(hook: Callable[..., Any], places: Sequence[int], *said: Any, **keywords: Any) -> Any:
    """Call a hook with what was said without blocks."""
    bare = [_bare(value) if place in places else value for place, value in enumerate(said)]
    return hook(*bare, **keywords)


def _bare(said: Any) -> Any:
    """A text, messages or a turn without blocks; white space beside a block goes with it."""
    if isinstance(said, str):
        bare = strip_memory_context(said)
        return said if bare == said else bare.strip()
    if isinstance(said, Mapping):
        return {key: _bare(said[key]) if key in _TEXTS else said[key] for key in said}
    if isinstance(said, list | tuple):
        return [_bare(item) for item in said]
    return said
