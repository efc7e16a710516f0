"""The stand-in answers as a real Honcho server does, row by row of a table."""

import pytest

from memproto.reference_providers.honcho.standin import serving
from tests.reference_providers.honcho.honcho_answers import ROWS, differences, kind, replay

#: The kind of the stand-in for each kind of real server; none concludes by itself.
KINDS = {
    "plain": {},
    "keyless": {"has_embeddings": False, "embeds_messages": True},
    "wordwise": {"has_embeddings": False},
    "unreached": {"reaches_embeddings": False},
}

#: The stand-in takes so much of the time that the real server does.
PATIENCE = 0.05


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_stand_in_answers_as_the_table_has_it(row):
    with serving(has_model=False, derives=False, patience=PATIENCE, **KINDS[kind(row)]) as server:
        assert replay(server.url, row, PATIENCE) == []


def test_an_answer_that_is_otherwise_is_told():
    wanted = {"items": [{"content": "re:^te"}], "total": 1}
    assert differences({"items": [{"content": "tea", "id": "x"}], "total": 1}, wanted) == []
    found = differences({"items": [{"content": "boat"}, {}]}, wanted)
    assert found[0] == "answer lacks 'total'"
    assert found[1].startswith("answer.items is")
    assert differences({"content": "boat"}, {"content": "re:^te"})


def test_every_kind_of_server_has_a_row():
    assert {kind(row) for row in ROWS} == set(KINDS)
