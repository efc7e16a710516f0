"""The hooks, settings and command line of the SQLite provider."""

import io
import json
import stat
from datetime import UTC, datetime, timedelta

import pytest

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused
from memproto.reference_providers.sqlite import SqliteMemoryProvider, __main__, transfer
from tests.reference_providers.sqlite.sqlite_files import call, found, rows, session, turn


def test_a_recall_holds_whole_texts_as_far_as_there_is_room(tmp_path):
    with session(tmp_path, limits={"recall_chars": 40}) as memory:
        for said in ("The boat boat boat is blue", "A boat, long ago, in another town", "boat"):
            memory.on_turn_complete(said, "")
        recalled = memory.enrich_turn("boat", [])
    assert len(recalled) <= 40
    assert set(recalled.split("\n")) == {"The boat boat boat is blue", "boat"}


def test_items_are_those_of_the_recall_with_where_they_came_from(tmp_path):
    with session(tmp_path, user_id="anna") as memory:
        memory.record(turn(3, "The boat is blue"))
        (item,) = memory.recall_items({"query": "boat", "budget_chars": 100})["items"]
        assert memory.recall_items({"query": "boat", "budget_chars": 3})["items"] == []
    assert item["text"] == "The boat is blue"
    assert item["scope"] == {"user_id": "anna", "session_id": "one"}
    assert (item["source"], item["created_at"]) == ("turns", "2026-03-03T10:00:00+02:00")


def test_a_turn_is_stored_once_for_its_id_and_each_time_without_one(tmp_path):
    with session(tmp_path) as memory:
        for _ in range(2):
            memory.record(turn(3, "The boat"))
            memory.on_turn_complete("The train", "")
        assert len(found(memory, "boat")) == 1
        assert len(found(memory, "train")) == 2


@pytest.mark.parametrize("old", ["nothing like it", "boat"])
def test_a_write_whose_old_text_names_no_one_entry_is_refused(tmp_path, old):
    with session(tmp_path) as memory:
        memory.on_memory_write("add", "memory", "A blue boat")
        memory.on_memory_write("add", "memory", "A red boat")
        with pytest.raises(WriteRefused):
            memory.on_memory_write("replace", "memory", "A green boat", old)
        memory.on_memory_write("replace", "memory", "A green boat", "red")
        memory.on_memory_write("remove", "memory", None, "A blue boat")
        assert found(memory, "boat") == ["A green boat"]


@pytest.mark.parametrize(
    "write",
    [
        ("paint", "memory", "x", None),
        ("add", "memory", None, None),
        ("replace", "memory", "x", None),
    ],
)
def test_a_write_that_lacks_something_is_refused_by_name(tmp_path, write):
    with session(tmp_path) as memory, pytest.raises(Rejected):
        memory.on_memory_write(*write)


def test_turns_of_other_contexts_are_not_stored(tmp_path):
    with session(tmp_path, agent_context="cron") as memory:
        memory.on_turn_complete("The boat", "")
        memory.record(turn(1, "The boat"))
        assert found(memory, "boat") == []


def test_hooks_without_a_session_say_so(tmp_path):
    with pytest.raises(Unavailable, match="not initialized"):
        SqliteMemoryProvider().enrich_turn("boat", [])


def test_answers_of_set_up_are_kept_and_others_beside_them_stay(tmp_path):
    memory = SqliteMemoryProvider()
    memory.save_config({"path": str(tmp_path / "elsewhere.db")}, str(tmp_path / "home"))
    memory.save_config({"recall_count": "3"}, str(tmp_path / "home"))
    memory.initialize("one", {"home": str(tmp_path / "home")})
    memory.on_turn_complete("The boat", "")
    assert memory.backup_paths()[0] == str(tmp_path / "elsewhere.db")
    memory.shutdown()
    assert (tmp_path / "elsewhere.db").exists()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"search": "fast"}, "index, plain"),
        ({"recall_count": 0}, "number from 1"),
        ({"recall_count": True}, "number from 1"),
        ({"path": 3}, "not a text"),
        ({"path": "a\0b"}, "not a text"),
    ],
)
def test_an_answer_that_may_not_be_given_is_refused_and_nothing_is_saved(tmp_path, answer, told):
    with pytest.raises(Misconfigured, match=told):
        SqliteMemoryProvider().save_config(answer, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Misconfigured, match=told):
        SqliteMemoryProvider().initialize("one", {"home": str(tmp_path), "sqlite": answer})


@pytest.mark.parametrize("content", ["[1]", "{", "\udcff"])
def test_answers_that_somebody_broke_are_named_with_their_file(tmp_path, content):
    tmp_path.joinpath("sqlite.json").write_text(content, "utf-8", "surrogateescape")
    with pytest.raises(Misconfigured, match=r"sqlite\.json"):
        SqliteMemoryProvider().initialize("one", {"home": str(tmp_path)})


def test_others_cannot_read_the_home_that_was_made(tmp_path):
    with session(tmp_path / "home"):
        pass
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


# -- the command line ------------------------------------------------------------------------------


def _run(home, *words):
    return __main__.main(["--home", str(home), *words])


def test_an_export_taken_in_elsewhere_is_the_same_export(tmp_path, capsys):
    (tmp_path / "b").mkdir()
    with session(tmp_path / "a") as memory:
        memory.record(turn(3, "Half \ud800 a boat", author={"id": "x"}))
        memory.on_memory_write("add", "user", "Likes boats")
        call(memory, "sqlite_store_lesson", content="pip fails")
    assert _run(tmp_path / "a", "export") == 0
    exported = capsys.readouterr().out
    (tmp_path / "lines").write_text(exported, "utf-8")
    assert _run(tmp_path / "b", "import", str(tmp_path / "lines")) == 0
    assert capsys.readouterr().out == "4 texts stored, 0 were there\n"
    assert _run(tmp_path / "b", "import", str(tmp_path / "lines")) == 0
    assert capsys.readouterr().out == "0 texts stored, 4 were there\n"
    _run(tmp_path / "b", "export")
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [{"platform": "cli", **line} for line in map(json.loads, exported.splitlines())] == again


def test_an_export_keeps_what_a_search_is_narrowed_by_and_what_texts_cost(tmp_path, capsys):
    line = {"role": "user", "content": "The boat", "platform": "telegram", "tokens": 3}
    tmp_path.joinpath("lines").write_text(json.dumps({**line, "session": "s"}), "utf-8")
    assert _run(tmp_path, "import", str(tmp_path / "lines")) == 0
    capsys.readouterr()
    _run(tmp_path, "export")
    exported = json.loads(capsys.readouterr().out)
    assert {key: exported.get(key) for key in line} == line


@pytest.mark.parametrize("began", ["2026-03-03T10:00:00Z", "2026-03-03T10:00:00.250+02:00"])
def test_an_export_is_known_again_however_its_instants_were_spelled(tmp_path, began):
    with session(tmp_path) as memory:
        memory.record(turn(3, "The boat", started_at=began))
        lines = list(transfer.lines_of(memory._store.within({})))
        assert transfer.take_in(memory._store, lines, "old") == transfer.Imported(0, 2)


def test_a_stored_text_whose_time_is_none_hinders_no_import(tmp_path):
    with session(tmp_path) as memory:
        memory.record(turn(3, "The boat", started_at="soon"))
        lines = ['{"role": "user", "content": "The train"}']
        assert transfer.take_in(memory._store, lines, "old") == transfer.Imported(1, 0)


def test_a_transcript_of_another_host_is_taken_in(tmp_path, capsys, monkeypatch):
    lines = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "The boat"}],
            "timestamp": 1_700_000_000,
        },
        {"role": "tool", "content": "Storm", "tool_name": "weather", "session_id": "s"},
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(json.dumps, lines))))
    assert _run(tmp_path, "import", "-", "--session", "old") == 0
    capsys.readouterr()
    assert _run(tmp_path, "search", "boat") == 0
    assert capsys.readouterr().out == "2023-11-14T22:13:20+00:00  old  user\n    The boat\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2 is no JSON"),
        ("[]", "line 2 is list"),
        ('{"content": "x"}', "line 2 lacks role"),
        ('{"role": "user", "content": 3}', "line 2 has a content"),
        ('{"role": "user", "content": "x", "time": "soon"}', "line 2 has the time 'soon'"),
    ],
)
def test_a_line_that_is_no_text_is_named_and_nothing_is_stored(tmp_path, line, told):
    good = '{"role": "user", "content": "The boat"}'
    with session(tmp_path) as memory:
        with pytest.raises(Rejected, match=told):
            transfer.take_in(memory._store, [good, line], "old")
        assert found(memory, "boat") == []


def test_sessions_in_which_nothing_was_said_of_late_are_pruned(tmp_path, capsys):
    now = datetime.now(UTC)
    for key, days in (("old", 100), ("late", 10)):
        at = (now - timedelta(days=days)).isoformat()
        with session(tmp_path, key) as memory:
            memory.record(
                turn(1, f"The {key} boat", session_id=key, turn_id=key, started_at=at, ended_at=at)
            )
    assert _run(tmp_path, "prune", "--older-than", "90d") == 0
    assert capsys.readouterr().out == "2 texts removed\n"
    with session(tmp_path) as memory:
        assert found(memory, "boat") == ["The late boat"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["search", "boat", "--since", "soon"], "2026-01-31"),
        (["import", "nowhere.jsonl"], "nowhere.jsonl"),
        (["import", "latin-1.jsonl"], "utf-8"),
        (["import", "large.jsonl"], "too large"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("latin-1.jsonl").write_bytes(b'{"role": "user", "content": "\xe9"}')
    large = {"role": "user", "content": "x", "tokens": 1 << 64}
    tmp_path.joinpath("large.jsonl").write_text(json.dumps(large), "utf-8")
    assert _run(tmp_path, *words) == 1
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert _run(tmp_path / "missing", "export") == 1
    assert "no directory" in capsys.readouterr().err


def test_days_before_the_first_date_are_none(tmp_path, capsys):
    with pytest.raises(SystemExit):
        _run(tmp_path, "prune", "--older-than", "999999999999d")
    assert "no number of days" in capsys.readouterr().err


def test_the_session_before_is_that_of_the_first_session_alone(tmp_path):
    with session(tmp_path, parent_session_id="zero") as memory:
        memory.on_turn_complete("The boat", "")
        memory.on_session_switch("two", reset=True)
        memory.on_turn_complete("The train", "")
    found = rows(tmp_path, "SELECT key, parent FROM sessions ORDER BY id")
    assert found == [("one", "zero"), ("two", None)]


def test_an_entry_is_looked_up_by_the_index_on_the_names_of_writes(tmp_path):
    with session(tmp_path) as memory:
        memory.on_memory_write("add", "memory", "The boat")
        asked = []
        with memory._store.database.reading() as connection:
            connection.set_trace_callback(asked.append)
            memory._store._quoted(connection, "memory", "The boat")
            connection.set_trace_callback(None)
            plan = connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert "messages_of_tool" in str(plan)
