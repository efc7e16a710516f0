import sys
from pathlib import Path

import pytest

from memproto.reference_providers.mcp import sdk, standin

#: Without the SDK there is nothing here to be collected, which ends its own environment in red.
collect_ignore_glob = [] if sdk.is_installed() else ["test_*.py"]

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def url():
    with standin.serving() as given:
        yield given["config"]["mcp"]["url"]
