"""In a kit child a flush does not wait for the disk, and fails where it would have failed."""

import errno
import os
import subprocess
import sys

import pytest

from memproto.testing.processes import flushes
from tests import kit_runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the filter is a part of Linux")

#: Runs in a process of its own, which is confined as a kit child is.
_SPARED = """
import errno, os, subprocess, sys, threading
from memproto.testing.processes import confinement, flushes

def native():
    # The function that a C library calls: nothing looks at its descriptor but the kernel.
    import ctypes
    return ctypes.CDLL(None, use_errno=True).fsync(99)

answers = []
asked, told = threading.Event(), threading.Event()

def other():
    asked.wait()
    answers.append(native())
    told.set()

assert not confinement.confine()
assert native() != 0
threading.Thread(target=other, daemon=True).start()
print(flushes.spare())
print(native())
asked.set()
told.wait()
print(answers)
program = "import ctypes; print(ctypes.CDLL(None).fsync(99))"
sys.stdout.flush()
subprocess.run([sys.executable, "-c", program])
"""

#: A provider whose each write fails, outside of the kit.
_FLUSHER = """
import os

from memproto.reference_providers.builtin import BuiltinMemoryProvider


class Flusher(BuiltinMemoryProvider):
    def on_memory_write(self, *given, **named):
        super().on_memory_write(*given, **named)
        file = os.open(__file__, os.O_RDONLY)
        os.close(file)
        os.fsync(file)
"""


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_thread_and_no_program_of_the_process_waits_for_the_disk():
    assert _python(_SPARED).split("\n")[:4] == ["True", "0", "[0]", "0"]


def test_what_was_written_is_there_for_others_and_other_calls_are_made(tmp_path):
    file = tmp_path / "kept"
    code = _SPARED.partition("threading.Thread(target")[0] + (
        "flushes.spare()\n"
        f"file = os.open({str(file)!r}, os.O_CREAT | os.O_WRONLY)\n"
        "os.write(file, b'kept'); os.fsync(file); os.fdatasync(file); os.sync(); os.close(file)\n"
        "try:\n    os.close(99)\nexcept OSError as error:\n    print(error.errno)\n"
        "sys.stdout.flush(); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == [str(errno.EBADF)]
    assert file.read_bytes() == b"kept"


def test_a_flush_of_what_is_no_file_fails_as_without_the_kit():
    code = _SPARED.partition("threading.Thread(target")[0] + (
        "flushes.spare()\n"
        "read, write = os.pipe()\n"
        "os.close(read)\n"
        "for wrong in (read, write, 'a', -1):\n"
        "    for flush in (os.fsync, os.fdatasync):\n"
        "        try:\n            print(flush(wrong))\n"
        "        except Exception as error:\n"
        "            print(type(error).__name__, getattr(error, 'errno', ''))\n"
        "with open(sys.executable, 'rb') as file:\n    print(os.fsync(file), os.fsync(fd=file))\n"
    )
    told = _python(code).splitlines()
    plain = []
    read, write = os.pipe()
    os.close(read)
    for wrong in (read, write, "a", -1):
        for flush in (os.fsync, os.fdatasync):
            with pytest.raises(Exception) as raised:
                flush(wrong)
            plain.append(f"{raised.type.__name__} {getattr(raised.value, 'errno', '')}")
    os.close(write)
    assert told == [*plain, "None None"]


def test_a_machine_of_another_kind_waits_as_before(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    before = os.fsync
    assert not flushes.spare()
    assert os.fsync is before


@pytest.mark.once
def test_a_provider_that_flushes_a_closed_file_is_red(tmp_path):
    (tmp_path / "flusher.py").write_text(_FLUSHER)
    report = kit_runs.reported(tmp_path, "--memproto=flusher:Flusher", "-k", "MP-WRITE-002")
    assert "Bad file descriptor" in str(report)
    assert kit_runs.outcomes(report["reports"][0])["MP-WRITE-002"] == "fail"
