"""The name of a change, by which a row of `survivors.toml` finds it again."""

import dataclasses
import hashlib


@dataclasses.dataclass(frozen=True)
class Key:
    """
    The name of a change.

    Attributes:
        subject: Name of the subject.
        where: The file and the definition, `FILE:Class.function`.
        was: The changed lines before, without indentation.
        now: The same lines afterwards.
        nth: Number among equal lines of the definition, from 1.

    """

    subject: str
    where: str
    was: str
    now: str
    nth: int = 1

    @property
    def digest(self) -> str:
        """A short name for the book of results."""
        return hashlib.sha256(repr(dataclasses.astuple(self)).encode()).hexdigest()[:24]
