"""Each row of both tables is named by a test."""

import importlib.util
from pathlib import Path

import pytest

from tests.reference_providers.honcho.honcho_rows import ROWS


def held():
    """The rows that the tests of this folder name."""
    found = set()
    for path in Path(__file__).parent.glob("test_rows_of_*.py"):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, test in vars(module).items():
            if name.startswith("test_"):
                found |= set(getattr(test, "rows", ()))
    return found


HELD = held()


@pytest.mark.parametrize("name", sorted(ROWS))
def test_the_row_is_held(name):
    assert name in HELD
