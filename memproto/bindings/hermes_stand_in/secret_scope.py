"""Stand-in of `agent.secret_scope`: credentials of the profile that a context serves."""

import os
from collections.abc import Mapping
from contextvars import ContextVar, Token

_scope: ContextVar[Mapping[str, str] | None] = ContextVar("hermes_secret_scope", default=None)

_serves_many = [False]


class UnscopedSecretError(RuntimeError):
    """A credential was asked for in a process of many profiles, outside of each of them."""


def set_multiplex_active(active: bool) -> None:
    """Say that the process serves many profiles, or one."""
    _serves_many[0] = bool(active)


def is_multiplex_active() -> bool:
    """True if the process serves many profiles."""
    return _serves_many[0]


def set_secret_scope(secrets: Mapping[str, str] | None) -> Token[Mapping[str, str] | None]:
    """Have these credentials in this context."""
    return _scope.set(secrets)


def reset_secret_scope(token: Token[Mapping[str, str] | None]) -> None:
    """Have those that were there before `token` was given."""
    _scope.reset(token)


def current_secret_scope() -> Mapping[str, str] | None:
    """The credentials of this context, if it has its own."""
    return _scope.get()


def get_secret(name: str, default: str | None = None) -> str | None:
    """
    The credential of this context, else the variable of the process that serves one profile.

    Raises:
        UnscopedSecretError: The process serves many profiles, and this context none of them.

    """
    scope = _scope.get()
    if scope is None and _serves_many[0] and not name.startswith("HERMES_"):
        raise UnscopedSecretError(f"{name} is asked for outside of a profile")
    found = (os.environ if scope is None else scope).get(name)
    return default if found is None else found
