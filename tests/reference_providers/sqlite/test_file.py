"""The file of the SQLite provider: what is in it, who else has it open, and what may befall it."""

import contextlib
import multiprocessing
import os
import sqlite3
import threading

import pytest

from memproto.errors import Misconfigured, Unavailable
from memproto.reference_providers.sqlite import SqliteMemoryProvider, schema
from tests.reference_providers.sqlite.sqlite_files import call, found, rows, session, turn


def test_sessions_and_messages_lie_in_tables(tmp_path):
    given = {"platform": "telegram", "session_title": "Boats", "parent_session_id": "zero"}
    with session(tmp_path, **given, user_id="anna") as memory:
        memory.record(turn(3, "The boat is blue", author={"id": "a-1", "name": "Anna"}))
        memory.on_memory_write("add", "user", "Likes boats")
        memory.on_delegation("Look it up", "It is blue", child_session_id="child")
        memory.on_session_end([])
    query = "SELECT key, platform, title, parent, ended_at IS NOT NULL FROM sessions ORDER BY id"
    assert rows(tmp_path, query) == [
        ("one", "telegram", "Boats", "zero", 1),
        ("child", "telegram", "Boats", "one", 0),
    ]
    query = "SELECT role, source, name, turn_id, created_at FROM messages ORDER BY id LIMIT 2"
    assert rows(tmp_path, query) == [
        ("user", "turns", None, "turn-3", "2026-03-03T10:00:00+02:00"),
        ("assistant", "turns", None, "turn-3", "2026-03-03T10:00:05+02:00"),
    ]


def test_nobody_else_may_read_the_file_in_a_home_that_all_may_enter(tmp_path):
    tmp_path.chmod(0o755)
    with session(tmp_path) as memory:
        memory.on_turn_complete("The boat is blue", "")
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert {name: mode for name, mode in modes.items() if mode != 0o600} == {}
    assert "memory.db" in modes


def test_any_text_comes_back_as_it_was(tmp_path):
    said = "half \ud800 of a pair, NUL \0, 水路, 'quotes' -- and \u202e"
    with session(tmp_path) as memory:
        memory.on_turn_complete(said, "")
    with session(tmp_path) as memory:
        assert memory.enrich_turn("half a pair", []) == said


def test_threads_and_processes_write_side_by_side(tmp_path):
    with session(tmp_path):
        pass
    others = [multiprocessing.get_context("spawn").Process(target=_write, args=(tmp_path, "p"))]
    with session(tmp_path) as memory:
        others += [threading.Thread(target=_into, args=(memory, f"t{n}")) for n in range(3)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        assert rows(tmp_path, "SELECT count(*) FROM messages") == [(80,)]


def _write(home, name):
    with session(home, name) as memory:
        _into(memory, name)


def _into(memory, name):
    for number in range(20):
        memory.on_turn_complete(f"{name} says {number}", "")


def test_a_copy_of_the_process_goes_on_with_connections_of_its_own(tmp_path):
    with session(tmp_path) as memory:
        memory.on_turn_complete("Before the fork", "")
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                memory.on_turn_complete("In the copy", "")
                os._exit(0)
            os._exit(1)
        memory.on_turn_complete("In the first", "")
        assert os.waitpid(child, 0)[1] == 0
        assert sorted(found(memory, "copy OR fork OR first")) == [
            "Before the fork",
            "In the copy",
            "In the first",
        ]


def test_a_copy_of_the_process_outlasts_the_session_that_it_came_from(tmp_path):
    (told, tell), (ended, end) = os.pipe(), os.pipe()
    with session(tmp_path) as memory:
        memory.on_turn_complete("Before the fork", "")
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                memory.on_turn_complete("In the copy", "")
                os.write(tell, b"x")
                os.read(ended, 1)
                memory.on_turn_complete("In the copy that is left", "")
                os._exit(0)
            os._exit(1)
        os.close(tell)  # so that a copy that failed is heard of
        assert os.read(told, 1) == b"x"
    with session(tmp_path, "two") as memory:
        memory.on_turn_complete("In the second session", "")
        os.write(end, b"x")
        assert os.waitpid(child, 0)[1] == 0
        assert sorted(found(memory, "copy OR fork OR second")) == [
            "Before the fork",
            "In the copy",
            "In the copy that is left",
            "In the second session",
        ]
    for descriptor in (told, ended, end):
        os.close(descriptor)


def test_a_file_that_is_locked_is_said_to_be_down_and_used_when_it_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr("memproto.reference_providers.sqlite.database.READING_S", 0.01)
    monkeypatch.setattr("memproto.reference_providers.sqlite.database.WRITING_S", 0.01)
    holder = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    with contextlib.closing(holder):
        holder.execute("BEGIN EXCLUSIVE")
        with session(tmp_path) as memory:
            assert memory.recall_status()["state"] == "down"
            assert "locked" in memory.unavailable_reason()
            assert memory.enrich_turn("boat", []) is None
            with pytest.raises(Unavailable, match="locked"):
                memory.on_turn_complete("The boat", "")
            holder.execute("ROLLBACK")
            memory.on_turn_complete("The boat", "")
            assert memory.recall_status() == {"state": "ok"}
            assert memory.recall_items({"query": "boat"})["status"] == "ok"


def test_a_file_that_is_only_read_is_recalled_from_and_not_written(tmp_path):
    with session(tmp_path) as memory:
        memory.on_turn_complete("The boat", "")
    with session(tmp_path, sqlite={"read_only": "yes"}) as memory:
        assert memory.enrich_turn("boat", []) == "The boat"
        declared = memory.capabilities()
        assert (declared["stores"], declared["mirrors"]) == ([], {})
        assert not {"sessions", "delegation", "record"} & set(declared["extensions"])
        offered = [schema["name"] for schema in memory.get_tool_schemas()]
        assert offered == declared["tool_names"] == ["sqlite_search"]
        assert "sqlite_store" not in memory.system_prompt_block()
        with pytest.raises(Unavailable, match="read only"):
            memory.on_turn_complete("The train", "")


@pytest.mark.parametrize(
    "damage", [b"not a database at all, " * 40, b"SQLite format 3\0" + b"\xff" * 4_000]
)
def test_a_file_that_is_damaged_is_named_with_what_to_do(tmp_path, damage):
    tmp_path.joinpath("memory.db").write_bytes(damage)
    with pytest.raises(Misconfigured, match=r"memory\.db is damaged.*bring a copy back"):
        SqliteMemoryProvider().initialize("one", {"home": str(tmp_path)})


def test_a_file_of_a_later_release_is_left_alone(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.execute(f"PRAGMA user_version = {len(schema.STEPS) + 1}")
    with pytest.raises(Misconfigured, match="a later release made it"):
        SqliteMemoryProvider().initialize("one", {"home": str(tmp_path)})


def test_a_file_of_an_earlier_release_takes_the_steps_that_it_lacks(tmp_path, monkeypatch):
    with session(tmp_path) as memory:
        memory.on_turn_complete("The boat", "")
    steps = (*schema.STEPS, ("ALTER TABLE sessions ADD COLUMN mood TEXT",))
    monkeypatch.setattr(schema, "STEPS", steps)
    with session(tmp_path) as memory:
        assert memory.enrich_turn("boat", []) == "The boat"
    assert rows(tmp_path, "SELECT mood FROM sessions") == [(None,)]
    assert rows(tmp_path, "PRAGMA user_version") == [(2,)]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    with session(tmp_path):
        pass
    step = ("ALTER TABLE sessions ADD COLUMN mood TEXT", "ALTER TABLE absent ADD COLUMN x")
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, step))
    with session(tmp_path) as memory:
        assert "no such table" in memory.unavailable_reason()
    assert rows(tmp_path, "PRAGMA user_version") == [(1,)]
    assert rows(tmp_path, "SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'mood'") == []


def test_no_word_of_what_was_forgotten_is_left_in_the_home(tmp_path):
    with session(tmp_path) as memory:
        memory.on_turn_complete("The secret word is Velbellogren", "")
        memory.on_turn_complete("The boat is blue", "")
        hit = call(memory, "sqlite_search", query="secret")["hits"][0]
        assert call(memory, "sqlite_forget", id=hit["id"]) == {"success": True, "forgotten": 1}
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"velbellogren" not in kept.lower()
    assert b"blue" in kept


@pytest.mark.parametrize("new", [None, "The boat is green"])
def test_no_word_of_a_write_that_was_taken_away_outlasts_the_next_forget(tmp_path, new):
    action = "remove" if new is None else "replace"
    with session(tmp_path) as memory:
        memory.on_memory_write("add", "memory", "The secret word is Velbellogren")
        memory.on_memory_write(action, "memory", new, "The secret word is Velbellogren")
        assert memory.forget({"session_id": "another"}) == {"removed": 0, "pending": 0}
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"velbellogren" not in kept.lower()


def test_the_file_stays_the_same_one_where_the_process_goes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with session(tmp_path, sqlite={"path": "here.db"}) as memory:
        monkeypatch.chdir(elsewhere)
        with memory._store.database.reading():  # so that the write needs a connection of its own
            memory.on_turn_complete("The boat", "")
        assert memory.backup_paths()[0] == str(tmp_path / "here.db")
    assert list(elsewhere.iterdir()) == []
