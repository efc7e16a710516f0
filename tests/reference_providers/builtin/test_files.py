"""The builtin provider's files beside other writers: processes, threads, and edits by hand."""

import fcntl
import os
import subprocess
import sys
import threading

import pytest

from memproto.errors import Unavailable, WriteRefused
from memproto.reference_providers.builtin import files
from tests.reference_providers.builtin.builtin_sessions import (
    OPEN,
    opened,
    process,
    provider,
    stored,
)

__all__ = ["provider"]  # a fixture


# -- other writers


def test_two_processes_that_add_twenty_entries_each_lose_none(tmp_path):
    code = (
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        "for i in range(20): provider.on_memory_write('add', 'memory', f'{sys.argv[2]}{i}')\n"
    )
    command = [sys.executable, "-P", "-c", OPEN + code, str(tmp_path)]
    both = [
        subprocess.Popen([*command, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in "ab"
    ]
    for child in both:
        assert child.stdout.readline() == "ready\n"
    for child in both:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in both:
        child.communicate(timeout=60)
        assert child.returncode == 0
    assert sorted(stored(opened(tmp_path))) == sorted(f"{w}{i}" for w in "ab" for i in range(20))


def test_threads_of_two_instances_lose_no_entry(tmp_path):
    barrier = threading.Barrier(4)

    def add(instance, who):
        barrier.wait(10)
        for i in range(10):
            instance.on_memory_write("add", "memory", f"{who}{i}")

    one, two = opened(tmp_path), opened(tmp_path)
    threads = [
        threading.Thread(target=add, args=(instance, who))
        for who, instance in enumerate((one, one, two, two))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(stored(one)) == sorted(f"{who}{i}" for who in range(4) for i in range(10))


def test_a_lock_that_another_writer_keeps_is_reported_and_nothing_is_written(
    provider, tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "LOCK_TRIES", 2)
    with (tmp_path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Unavailable, match="another writer") as refusal:
            provider.on_memory_write("add", "memory", "x")
        assert refusal.value.retry_after_s > 0
        assert stored(provider) == []
    provider.on_memory_write("add", "memory", "x")
    assert stored(provider) == ["x"]


def test_a_child_forked_during_a_write_does_not_keep_the_lock(tmp_path):
    code = (
        "import os\nfrom memproto.reference_providers.builtin import files\nwrite = files._write\n"
        "held, end = os.pipe()\n"
        "def forking(*a):\n"
        "    if os.fork() == 0:\n"
        "        os.close(end); os.read(held, 1); os._exit(0)\n"
        "    write(*a)\n"
        "files._write = forking\nprovider.on_memory_write('add', 'memory', 'parent')\n"
        "files._write = write\nfiles.LOCK_TRIES = 2\n"
        "provider.on_memory_write('add', 'memory', 'second')\n"
    )
    child = process(code, tmp_path)
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert stored(opened(tmp_path)) == ["parent", "second"]


# -- edits by hand


def test_an_edit_by_hand_between_read_and_replace_survives(provider, tmp_path):
    provider.on_memory_write("add", "memory", "old")
    assert stored(provider) == ["old"]
    with (tmp_path / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write("§\nwritten by hand\n")
    provider.on_memory_write("replace", "memory", "new", "old")
    assert stored(provider) == ["new", "written by hand"]


def test_an_edit_by_hand_while_a_write_is_under_way_survives(provider, tmp_path, monkeypatch):
    write, path = files._write, tmp_path / "MEMORY.md"

    def beside_an_editor(*args):
        write(*args)
        monkeypatch.setattr(files, "_write", write)
        path.write_text("saved by an editor\n", "utf-8")

    monkeypatch.setattr(files, "_write", beside_an_editor)
    provider.on_memory_write("add", "memory", "added")
    assert stored(provider) == ["saved by an editor", "added"]


def test_a_file_that_never_stands_still_is_left_to_the_other_program(
    provider, tmp_path, monkeypatch
):
    write, path, saves = files._write, tmp_path / "MEMORY.md", []

    def beside_a_busy_editor(*args):
        write(*args)
        saves.append(0)
        path.write_text(f"save {len(saves)}\n", "utf-8")

    monkeypatch.setattr(files, "_write", beside_a_busy_editor)
    with pytest.raises(WriteRefused, match="another program"):
        provider.on_memory_write("add", "memory", "added")
    assert stored(provider) == [f"save {len(saves)}"]


def test_an_entry_made_by_hand_stays_without_a_date(provider, tmp_path):
    (tmp_path / "MEMORY.md").write_text("by hand", "utf-8")
    provider.on_memory_write("add", "memory", "by the agent")
    first, second = (tmp_path / "MEMORY.md").read_text("utf-8").split("§\n")
    assert first == "by hand\n"
    assert second.startswith("<!-- ")


def test_copies_made_by_hand_can_be_removed(provider, tmp_path):
    (tmp_path / "MEMORY.md").write_text("twin\n§\ntwin\n§\nother\n", "utf-8")
    provider.on_memory_write("remove", "memory", None, "twin")
    assert stored(provider) == ["other"]


@pytest.mark.parametrize("damage", [b"fine\n\xff\xfe", b"\0" * 64, "fine".encode("utf-16")])
def test_a_damaged_file_is_never_overwritten_and_the_refusal_names_it(tmp_path, damage):
    path = tmp_path / "MEMORY.md"
    path.write_bytes(damage)
    provider = opened(tmp_path)
    for write in (("add", "memory", "x"), ("remove", "memory", None, "fine")):
        with pytest.raises(WriteRefused, match=r"MEMORY\.md is not a list of entries"):
            provider.on_memory_write(*write)
    assert path.read_bytes() == damage


def test_a_damaged_file_is_told_to_the_user_and_the_other_file_works(tmp_path):
    (tmp_path / "MEMORY.md").write_bytes(b"\xff")
    opened(tmp_path).on_memory_write("add", "user", "is Ann")
    block = opened(tmp_path).system_prompt_block()
    assert "[not readable]" in block
    assert "MEMORY.md" in block
    assert "is Ann" in block


def test_a_damaged_file_is_left_out_of_no_export(tmp_path):
    (tmp_path / "MEMORY.md").write_bytes(b"\xff")
    with pytest.raises(Unavailable):
        opened(tmp_path).export_memory()


def test_a_write_that_changes_nothing_leaves_the_file_alone(provider, tmp_path):
    path = tmp_path / "MEMORY.md"
    path.write_bytes("a\r\n§\r\nb".encode())
    provider.on_memory_write("add", "memory", "b")
    assert path.read_bytes() == "a\r\n§\r\nb".encode()


def test_any_text_is_kept_in_a_process_with_the_plain_c_locale(tmp_path):
    code = (
        "provider.on_memory_write('add', 'memory', 'Oulu \\u2014 \\u65e5\\u672c \\ud800')\n"
        "provider.initialize('s', {'home': sys.argv[1]})\n"
        "assert '\\u65e5\\u672c \\ud800' in provider.enrich_turn('', [])\n"
    )
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    child = process(code, tmp_path, env=env)
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert stored(opened(tmp_path)) == ["Oulu — 日本 \ud800"]
