"""Texts that the SQLite provider finds, by its index and without it."""

import contextlib
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.reference_providers.sqlite import index, words
from tests.reference_providers.sqlite.sqlite_files import call, found, rows, session, turn

WAYS = pytest.mark.parametrize("way", ["index", "plain"])


@WAYS
def test_a_search_takes_phrases_beginnings_and_alternatives(tmp_path, way):
    with session(tmp_path, sqlite={"search": way}) as memory:
        for said in ("The blue boat lies in Arnvik", "A boat, blue of sails", "Trains to Arnvik"):
            memory.on_turn_complete(said, "")
        assert found(memory, '"blue boat"') == ["The blue boat lies in Arnvik"]
        assert len(found(memory, "blue boat")) == 2
        assert found(memory, "tra*") == ["Trains to Arnvik"]
        assert found(memory, "Arnvik -boat") == ["Trains to Arnvik"]
        assert len(found(memory, "sails OR trains")) == 2


@WAYS
def test_a_search_is_narrowed_by_role_day_and_platform(tmp_path, way):
    choice = {"search": way}
    with session(tmp_path, platform="telegram", sqlite=choice) as memory:
        memory.record(turn(3, "The boat is blue", assistant_response="A blue boat."))
    with session(tmp_path, "two", platform="cli", sqlite=choice) as memory:
        memory.record(turn(9, "The boat is sold", session_id="two"))
        assert found(memory, "boat", role="assistant") == ["A blue boat."]
        assert found(memory, "boat", since="2026-03-05") == ["The boat is sold"]
        assert found(memory, "boat", until="2026-03-05", role="user") == ["The boat is blue"]
        assert found(memory, "boat", platform="cli") == ["The boat is sold"]
        assert len(found(memory, "boat", limit=1)) == 1
        at = "2026-03-03T08:00:00+00:00"
        assert found(memory, "boat", since=at, until="2026-03-03T08:00:01+00:00") == [
            "The boat is blue"
        ]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({}, "query"),
        ({"query": " "}, "query"),
        ({"query": 3}, "query"),
        ({"query": "boat", "since": "soon"}, "2026-01-31"),
        ({"query": "boat", "limit": "many"}, "limit"),
        ({"query": "boat", "limit": True}, "limit"),
        ({"query": "boat", "limit": float("inf")}, "limit"),
    ],
)
def test_an_argument_that_fits_nothing_is_named_in_the_answer(tmp_path, args, told):
    with session(tmp_path) as memory:
        answer = call(memory, "sqlite_search", **args)
    assert answer["success"] is False
    assert told in answer["error"]


@WAYS
def test_outputs_of_tools_are_searched_and_not_recalled(tmp_path, way):
    output = {"role": "tool", "name": "weather", "content": "Storm over Arnvik"}
    with session(tmp_path, sqlite={"search": way}) as memory:
        memory.record(turn(1, "How is the weather?", messages=[output]))
        assert found(memory, "storm") == ["Storm over Arnvik"]
        assert memory.enrich_turn("Storm over Arnvik?", []) is None


@WAYS
def test_letters_with_and_without_accents_are_the_same_and_dense_scripts_are_found(tmp_path, way):
    with session(tmp_path, sqlite={"search": way}) as memory:
        memory.on_turn_complete("Señor Müller paints", "")
        memory.on_turn_complete("私の船は青い", "")
        assert memory.enrich_turn("MULLER?", []) == "Señor Müller paints"
        assert memory.enrich_turn("青い船", []) == "私の船は青い"


def test_lessons_count_how_often_a_search_found_them(tmp_path):
    with session(tmp_path) as memory:
        call(memory, "sqlite_store_lesson", content="pip fails here", fix="use conda", tags="pip")
        assert found(memory, "pip") == ["pip fails here\nuse conda"]
        assert memory.enrich_turn("pip is broken", []) == "pip fails here\nuse conda"
    assert rows(tmp_path, "SELECT fix, times_used FROM learnings") == [("use conda", 1)]


def test_keywords_of_a_summary_become_tags_of_its_session(tmp_path):
    with session(tmp_path) as memory:
        call(memory, "sqlite_store_summary", content="We sold the boat", keywords="boat, sale")
    assert rows(tmp_path, "SELECT tags FROM sessions") == [("boat, sale",)]


def test_a_text_that_came_while_there_was_no_index_is_found_when_there_is_one(tmp_path):
    with session(tmp_path) as memory:
        memory.on_turn_complete("The first boat", "")
    with session(tmp_path, sqlite={"search": "plain"}) as memory:
        memory.on_turn_complete("The second boat", "")
        number = call(memory, "sqlite_search", query="first")["hits"][0]["id"]
        assert call(memory, "sqlite_forget", id=number)["success"]
    with session(tmp_path) as memory:
        assert found(memory, "boat") == ["The second boat"]


def test_a_user_is_found_nothing_of_another_ones(tmp_path):
    with session(tmp_path, user_id="anna") as memory:
        memory.on_turn_complete("The boat of Anna", "")
    with session(tmp_path, user_id="ben") as memory:
        memory.on_turn_complete("The boat of Ben", "")
        assert found(memory, "boat") == ["The boat of Ben"]
        assert memory.enrich_turn("boat", []) == "The boat of Ben"


_TEXTS = st.lists(st.sampled_from(["boat", "sea", "Café", "水路", "train-boat", "x"]), max_size=6)


@settings(max_examples=40)
@given(st.lists(_TEXTS.map(" ".join), min_size=1, max_size=6), _TEXTS.map(" ".join))
def test_the_index_finds_what_reading_everything_finds(texts, query):
    node = words.search(query)
    plain = [n for n, text in enumerate(texts, 1) if node and _fits(node, text)]
    assert (_by_index(texts, node) if node else []) == plain


def _fits(node, text):
    return index._weight(node, words.split(text))


def _by_index(texts, node):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5(content, calls, content='',"
            " tokenize = 'unicode61 remove_diacritics 2')"
        )
        for number, text in enumerate(texts, start=1):
            index.FullText().add(connection, number, "user", text)
        match = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid"
        return [number for (number,) in connection.execute(match, (index.expression(node),))]
