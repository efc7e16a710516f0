"""What a trace shows that a rule forbids: where, which rule, and what to do about it."""

import dataclasses

from memproto import spec


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that is not as it should be.

    Attributes:
        line: Where in the file.
        provider: Whose call it was.
        rule: The requirement that it violates.
        seen: What happened, as a sentence.

    """

    line: int
    provider: str
    rule: spec.Requirement
    seen: str
