"""Facts of a trace that a rule forbids: the place, the rule, and the remedy."""

import dataclasses

from memproto import spec


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that is not as it should be.

    Attributes:
        line: The line of the file.
        provider: The provider that was called.
        rule: The requirement that it violates.
        seen: The event, as a sentence.

    """

    line: int
    provider: str
    rule: spec.Requirement
    seen: str
