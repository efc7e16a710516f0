import sys
from pathlib import Path

import pytest

from memproto.reference_providers.mcp import standin

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def url():
    with standin.serving() as given:
        yield given["config"]["mcp"]["url"]
