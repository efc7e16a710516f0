"""The shelves of providers, importable behind the installed package; a fixture on threads."""

import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# At the end of the path: `memproto` is to come from where it is installed, not from the checkout.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))


@pytest.fixture
def no_thread_is_left():
    """Fails a test that leaves a thread behind which was not there before it."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) - before == set()
