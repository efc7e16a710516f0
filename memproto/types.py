"""Frozen values that cross the protocol, and the names of their shapes."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal

#: A message of the conversation, as in `schemas/message.schema.json`.
Message = dict[str, Any]

#: The answer of `capabilities()`, as in `schemas/capabilities.schema.json`.
Capabilities = dict[str, Any]

#: Content of a user message: text, or a list of parts of which the text parts hold `text`.
Content = str | list[dict[str, Any]]

#: The names that may label a section of the context block. Spec: MP-NAME-002.
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")

#: The specification release that this package implements.
SPEC_VERSION = "1.0"

EventOutcome = Literal[
    "ok",  # the hook returned
    "dropped",  # the provider takes no further part; a write after the end, or beyond the limit
    "raised",  # the hook raised; the error's type is in `detail`
    "late",  # the hook had not returned at its deadline
    "stuck",  # the hook was not called because an earlier call has not returned
    "wrong_type",  # the hook returned something that the contract does not allow
    "late_answer",  # a hook returned after its deadline; the answer was thrown away
    "cancelled",  # the host stopped waiting before the hook had returned, or begun
    "abandoned",  # accepted work was not delivered before the end
]


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """
    One thing that happened between the registry and a provider. Holds no user text.

    Attributes:
        hook: The member that was called, e.g. `enrich_turn`.
        provider: The provider's name.
        outcome: See `EventOutcome`.
        took_s: Seconds between call and return (or deadline) on the registry's clock.
        detail: The error's type, the wrong type, or the reason; never an argument's value.
        lost: Number of accepted calls that this event gives up.

    """

    hook: str
    provider: str
    outcome: EventOutcome
    took_s: float = 0.0
    detail: str = ""
    lost: int = 0


def is_of_bot(turn: Mapping[str, Any]) -> bool:
    """True if a turn, as `record` gets it, says that a bot wrote what stands for the user."""
    author = turn.get("author")
    return isinstance(author, Mapping) and bool(author.get("is_bot"))


def is_label(name: object) -> bool:
    """True if `name` may label a section of the context block."""
    # Its own type counts: what only claims to be a str is matched by no pattern.
    if not isinstance(name, str) or not issubclass(type(name), str):
        return False
    return LABEL.fullmatch(name) is not None
