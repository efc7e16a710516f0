"""The builtin provider's files: other processes, other programs, crashes and refusing systems."""

import contextlib
import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memproto.errors import Misconfigured, Unavailable, WriteRefused
from memproto.reference_providers.builtin import BuiltinMemoryProvider, files

OPEN = """\
import sys
from memproto.reference_providers.builtin import BuiltinMemoryProvider
provider = BuiltinMemoryProvider()
provider.initialize("s", {"home": sys.argv[1]})
"""


def opened(home, **config):
    provider = BuiltinMemoryProvider()
    provider.initialize("session", {"home": str(home), **config})
    return provider


def stored(provider, target="memory"):
    answer = provider.handle_tool_call("memory", {"action": "read", "target": target})
    return json.loads(answer)["entries"]


def process(code, home, **options):
    return subprocess.Popen(
        [sys.executable, "-P", "-c", OPEN + code, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def provider(tmp_path):
    return opened(tmp_path)


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


# -- crashes


def test_a_failing_replace_leaves_the_old_file_and_no_other(provider, tmp_path, monkeypatch):
    provider.on_memory_write("add", "memory", "old")
    before = (tmp_path / "MEMORY.md").read_bytes()

    def fail(*args):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        patch.setattr("pathlib.Path.replace", fail)
        with pytest.raises(Unavailable, match="Input/output error"):
            provider.on_memory_write("add", "memory", "new")
    assert (tmp_path / "MEMORY.md").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "MEMORY.md"}


def test_a_process_killed_during_a_write_leaves_the_old_file_and_a_free_lock(tmp_path):
    opened(tmp_path).on_memory_write("add", "memory", "old")
    code = (
        "import os, signal\nos.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "provider.on_memory_write('add', 'memory', 'never')\n"
    )
    child = process(code, tmp_path)
    child.communicate(timeout=60)
    assert child.returncode == -9
    again = opened(tmp_path)
    assert stored(again) == ["old"]
    again.on_memory_write("add", "memory", "new")
    assert stored(again) == ["old", "new"]
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "MEMORY.md"}


def test_the_bytes_are_on_the_disk_before_the_name_changes(provider, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda *a: (order.append("replace"), replace(*a)))
    provider.on_memory_write("add", "memory", "x")
    assert order[:2] == ["fsync", "replace"]


def open_descriptors():
    return sum(1 for _ in Path("/dev/fd").iterdir())


# -- systems that refuse


def refuse(code):
    def refusing(path, flags, *args):
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        raise AssertionError(path)

    return refusing


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EMFILE])
def test_a_system_that_takes_no_file_is_named_and_reading_goes_on(provider, monkeypatch, code):
    provider.on_memory_write("add", "memory", "old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse(code))
        with pytest.raises(Unavailable, match=os.strerror(code)):
            provider.on_memory_write("add", "memory", "x")
        answer = provider.handle_tool_call(
            "memory", {"action": "add", "target": "memory", "content": "x"}
        )
        assert os.strerror(code) in json.loads(answer)["error"]
    assert stored(provider) == ["old"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_refuses_writes_by_name(provider, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(Unavailable, match="Permission denied"):
        provider.on_memory_write("add", "memory", "x")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a directory that takes no file")
def test_a_home_that_takes_no_file_at_all_refuses_writes_by_name():
    with pytest.raises(Unavailable, match=r"cannot lock /proc/self/\.lock"):
        opened("/proc/self").on_memory_write("add", "memory", "x")
    with pytest.raises(Misconfigured, match="is no directory"):
        opened("/proc/self/home")


def test_a_home_that_disappears_refuses_writes_by_name(tmp_path):
    provider = opened(tmp_path / "home")
    (tmp_path / "home").rmdir()
    with pytest.raises(Unavailable, match="No such file"):
        provider.on_memory_write("add", "memory", "x")


def test_a_directory_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "MEMORY.md").mkdir()
    provider = opened(tmp_path)
    with pytest.raises(Unavailable, match="Is a directory"):
        provider.on_memory_write("add", "memory", "x")
    assert "Is a directory" in provider.system_prompt_block()


def test_a_link_that_the_operator_made_stays_a_link(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "notes.md").write_text("old\n", "utf-8")
    (tmp_path / "home" / "MEMORY.md").symlink_to(tmp_path / "notes.md")
    opened(tmp_path / "home").on_memory_write("add", "memory", "new")
    assert (tmp_path / "home" / "MEMORY.md").is_symlink()
    assert "new" in (tmp_path / "notes.md").read_text("utf-8")


def test_files_are_the_owners_alone_unless_the_operator_opened_them(provider, tmp_path):
    path = tmp_path / "MEMORY.md"
    provider.on_memory_write("add", "memory", "a")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    provider.on_memory_write("add", "memory", "b")
    assert path.stat().st_mode & 0o777 == 0o666


def test_no_descriptor_stays_open_after_a_write_or_a_refusal(provider):
    provider.on_memory_write("add", "memory", "first")
    before = open_descriptors()
    for content in ("x", "", "y" * 9999):
        with contextlib.suppress(Exception):
            provider.on_memory_write("add", "memory", content)
    assert open_descriptors() == before


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
