"""The registry's answers to questions to which each provider has an answer of its own."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

AnswerOutcome = Literal[
    "ok",  # the provider answered, as the contract has it
    "not_served",  # it does not declare the extension, and was not asked
    "refused",  # it raised one of the named errors
    "raised",  # it raised something else
    "wrong_type",  # it answered with something that the contract does not allow
    "late",  # it had not answered at the deadline
    "stuck",  # it was not asked: an earlier call, or writes before it, have not returned
]


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """
    One provider's answer to a question that went to all.

    Attributes:
        provider: Its name.
        outcome: See `AnswerOutcome`.
        document: Its answer, the caller's own copy; None if `outcome` is not `ok`.
        reason: The words of a named error, or the type of another; for the user, not for a log.

    """

    provider: str
    outcome: AnswerOutcome
    document: Any = None
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class CompressRefused:
    """
    Messages that are not to be discarded: a provider that serves `checkpoint` does not have them.

    Attributes:
        reasons: Provider to the type of what it raised, or `late`, or `stuck`.

    """

    reasons: Mapping[str, str]
