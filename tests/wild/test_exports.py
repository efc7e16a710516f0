"""Our own providers, exported and loaded back by the newest hermes-agent, have whole verdicts."""

import pytest

from tests.frameworks import test_hermes
from tests.frameworks.test_hermes import host

__all__ = ["host"]


@pytest.mark.parametrize("host", test_hermes.RELEASES[-1:], indirect=True)
def test_exported_providers_are_conformant(host, tmp_path):
    found = test_hermes.judged(host, tmp_path, test_hermes.EXPORTED.values())
    assert [one["verdict"] for one in found] == ["CONFORMANT"] * len(test_hermes.EXPORTED)
