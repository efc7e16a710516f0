"""Credentials in a configuration: the kit's own, and those that the settings give."""

import hashlib

from memproto.testing.credential_forms import CREDENTIAL, SHORT
from memproto.testing.provider.run import Run

#: A key that no provider knows, which says what it holds.
KEY = "x_access_token"


def planted(run: Run) -> dict[str, str]:
    """A key to a value that the kit makes up, to be handed over beside the rest."""
    return {KEY: f"atk-{hashlib.sha256(run.facts.name().encode()).hexdigest()[:24]}"}


def given(run: Run) -> dict[str, str]:
    """Key to value of the credentials that the settings give; a short value may stand anywhere."""
    return {
        key: value
        for key, value in run.context.config.items()
        if CREDENTIAL.search(key) and isinstance(value, str) and len(value) >= SHORT
    }
