"""Hits that a model wants, and texts that have room, as the reference providers share it."""

import pytest

from memproto.errors import Rejected
from memproto.reference_providers import asked


@pytest.mark.parametrize(
    ("value", "count"), [(None, 8), (3, 3), (3.0, 3), (0, 1), (-4, 1), (10**400, 50)]
)
def test_a_limit_is_brought_within_its_bounds(value, count):
    assert asked.limit(value, usual=8, most=50) == count


@pytest.mark.parametrize("value", [True, 2.5, "3", [], float("inf"), float("nan")])
def test_a_limit_that_is_no_whole_number_is_rejected(value):
    with pytest.raises(Rejected, match="not a number from 1 to 50"):
        asked.limit(value, usual=8, most=50)


@pytest.mark.parametrize(
    ("room", "joint", "kept"),
    [
        (None, 1, ["aaaa", "bb", "c"]),
        (9, 1, ["aaaa", "bb", "c"]),
        (8, 1, ["aaaa", "bb"]),
        (7, 0, ["aaaa", "bb", "c"]),
        (3, 0, ["bb", "c"]),
        (0, 0, []),
    ],
)
def test_texts_are_kept_whole_as_far_as_there_is_room(room, joint, kept):
    assert asked.fitting(["aaaa", "bb", "c"], room, joint=joint, text=str) == kept
