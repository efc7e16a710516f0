"""Credentials in a configuration: the kit's own, and those that the settings give."""

import hashlib
import re

from memproto.testing.credential_forms import CREDENTIAL, SHORT
from memproto.testing.provider.run import Run

#: A key that no provider knows, which says what it holds.
KEY = "x_access_token"

_PLANTED = re.compile(r"atk-[0-9a-f]{24}")


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


def told_in(run: Run, text: str) -> dict[str, str]:
    """Key to value of the credentials that a text holds, be it one that some check planted."""
    planted = {KEY: found[0]} if (found := _PLANTED.search(text)) else {}
    return planted | {key: value for key, value in given(run).items() if value in text}
