"""Names that a daemon sees: of chains, sessions and texts. No two ids are ever made one."""

import hashlib
import json
import re

_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")

_UNSAFE = re.compile(r"[^a-z0-9]+")

#: Characters of a name that show in a chain's key; the digest beside tells names apart.
_SHOWN = 32


def digest(*parts: str | None) -> str:
    """Thirty-two digits that differ where any of the parts differs in any character."""
    # ASCII JSON keeps the parts apart, and spells each half of a surrogate pair as itself.
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]


def chain_key(*, chain: str, profile: str, identity: str | None, user: str | None) -> str:
    """
    The chain on which a session stores and recalls.

    Args:
        chain: The operator's own name for it; "" for one of this profile and identity.
        profile: Mark that tells this home from every other one.
        identity: The name of the persona, or None.
        user: The user, or None; each one has a chain of his own.

    """
    base = chain or f"{_shown(identity or 'hermes')}-{digest(profile, identity)}"
    return base if user is None else f"{base}--u-{digest(user)}"


def _shown(name: str) -> str:
    return _UNSAFE.sub("-", name.casefold()[: 4 * _SHOWN]).strip("-")[:_SHOWN] or "agent"


def plain(text: str) -> str:
    """An id as a tag shows it: itself where it is short and plain, else its digest."""
    return text if _PLAIN.fullmatch(text) else f"sha256-{digest(text)}"
