"""The builtin provider's files in trouble: crashes in a write, and systems that refuse."""

import contextlib
import errno
import json
import os
from pathlib import Path

import pytest

from memproto.errors import Misconfigured, Unavailable
from tests.reference_providers.builtin.builtin_sessions import opened, process, provider, stored

__all__ = ["provider"]  # a fixture


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
