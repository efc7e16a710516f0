"""
The errors of the protocol: one class for each thing that a caller can do something about.

A provider raises the errors of the first group to report; a host raises those of the second
group to refuse; the kit raises those of the third group before anything runs.
"""


class MemprotoError(Exception):
    """The root of every error that memproto itself defines."""


# -- raised by a provider -------------------------------------------------------------------------


class ProviderError(MemprotoError):
    """
    A report by a provider: what was asked did not happen, for the named reason.

    Raising one of these is never a violation by itself. It means "not stored", or "not ready".
    """


class Misconfigured(ProviderError):
    """The operator must act: a setting or a credential is missing or wrong. From `initialize`."""


class Unavailable(ProviderError):
    """
    The backend does not answer at the moment.

    Attributes:
        retry_after_s: Seconds after which a retry makes sense, or None when that is not known.

    """

    def __init__(self, message: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Rejected(ProviderError):
    """The backend refuses the content itself; the same content will be refused again."""


class TooLarge(ProviderError):
    """The content is over a declared limit and was not stored."""


class WriteRefused(ProviderError):
    """A declared policy of the store forbids this write (full, duplicate, ambiguous, disabled)."""


# -- raised by a host -----------------------------------------------------------------------------


class RegistrationError(MemprotoError):
    """A provider was refused at registration. Nothing of it will be called."""


class NotAProvider(RegistrationError):
    """The object lacks members of `MemoryProvider`; the message names them."""


class InvalidLabel(RegistrationError):
    """The name cannot stand as a label in the context block. It is refused, not repaired."""


class SecondExternalProvider(RegistrationError):
    """A provider beside the builtin one is registered already, and the policy allows one."""


class InvalidNonce(MemprotoError, ValueError):
    """The text cannot stand as the nonce of a context block. It is refused, not repaired."""


class DuplicateProvider(RegistrationError):
    """Another registered provider has this name already."""


class RegistryClosed(MemprotoError):
    """The registry was initialized or shut down already and takes no further provider."""


class TextExpected(MemprotoError, TypeError):
    """Something other than a str was given where the fence expects text."""


# -- raised by the kit ----------------------------------------------------------------------------


class KitUsageError(MemprotoError):
    """
    The run cannot start as it was asked for. Rendered as one message; exit code 4.

    Attributes:
        what: The thing that is wrong, as the user typed it.
        fault: The reason why it is wrong.
        fix: The action that mends it.

    """

    def __init__(self, what: str, fault: str, fix: str) -> None:
        super().__init__(what, fault, fix)
        self.what = what
        self.fault = fault
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}: {self.fault}\n  fix: {self.fix}"


class NoSuchTarget(KitUsageError):
    """TARGET names nothing that can be found."""


class TargetDoesNotImport(KitUsageError):
    """The target was found and raised while it was imported or built."""


class MissingPackage(KitUsageError):
    """The target needs a package that is not installed here."""


class NoProvider(KitUsageError):
    """The target was found and holds no provider."""


class SeveralProviders(KitUsageError):
    """The target holds more than one provider, and which one is meant is not said."""


class InvalidSettings(KitUsageError):
    """A settings file cannot be read, or holds a key or value that the kit does not know."""


class DriverFailed(KitUsageError):
    """A method of a driver raised that serves the kit and is no step of its host."""


class NoSuchRequirement(KitUsageError):
    """An id that the specification does not hold."""


class UnreadableReport(KitUsageError):
    """A file that a command was given as a report is missing, broken, foreign or newer."""
