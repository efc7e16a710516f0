"""The things that can go wrong between a host and a provider in a process of its own."""

import dataclasses
from typing import Literal

from memproto.errors import MemprotoError, Misconfigured, Unavailable

#: The kinds of faults of a server: lines that it must not write, and its end.
Kind = Literal[
    "stray",  # no message
    "unfit",  # a message that does not fit its schema
    "unasked",  # an answer to nothing, or a second one
    "ended",  # no line: the server ended before its input did
]

#: Characters that are shown of a line.
SHOWN_CHARS = 300


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """
    A deed of a server that breaks the protocol.

    Attributes:
        kind: See `Kind`.
        text: The fault, as a statement.
        line: The beginning of the line.

    """

    kind: Kind
    text: str
    line: str


class Misspoken(MemprotoError):
    """
    A server wrote a line that breaks the protocol; only a judge is told so by an exception.

    Attributes:
        fault: The first such line.

    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.text}: {fault.line}")
        self.fault = fault


class NotStarted(Misconfigured):
    """
    The command gives no server: it is not there, ends, is silent, or speaks something else.

    Attributes:
        fault: The reason, without the command.
        status: The exit status, negative for a signal; None while it ran.
        said: The last lines of its standard error.
        fix: A next step, if the system did not start it; else "".

    """

    def __init__(
        self,
        command: str,
        fault: str,
        status: int | None = None,
        said: str = "",
        fix: str = "",
    ) -> None:
        parts = [f"{command}: {fault}"]
        if status is not None:
            parts.append(f"exit status {status}")
        if said:
            parts.append(f"its last lines on standard error: {said}")
        if fix:
            parts.append(fix)
        super().__init__("; ".join(parts))
        self.fault = fault
        self.fix = fix
        self.status = status
        self.said = said


class Unanswered(Unavailable):
    """The server did not answer in time, is in no state to, or is not there any more."""


class OutcomeUnknown(Unanswered):
    """A write was given up, or its server ended, before it was answered: it may be stored."""


class ServerError(MemprotoError):
    """
    The server answered with an error that is no report: a fault of the provider.

    Attributes:
        name: The name of the error's code, or the code as text.
        kind: `type` of its data: the name of the exception behind it, as far as the server says.

    """

    def __init__(self, name: str, kind: str, message: str) -> None:
        super().__init__(message if name == "InternalError" else f"{name}: {message}")
        self.name = name
        self.kind = kind
