"""For tests of checks that run in the process of the tests."""

import pytest


@pytest.fixture(autouse=True)
def _no_place_of_the_operator(monkeypatch):
    """
    Hide where the caller of the tests has temporary files.

    A child of the kit has a sandbox's variables. Every other path in a variable counts as a place
    that the operator chose, and all files of a test would lie in such a place.
    """
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
