"""The commands where something is missing: a directory, a home, room in the output, an extra."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from memproto import loading
from memproto.errors import MissingPackage
from memproto.loading import packages

MEMPROTO = (sys.executable, "-P", "-m", "memproto.cli")
JUDGE = ("judge", "builtin", "--memproto-clause=MP-NAME-001")


def run(*words, cwd=None, shell="{}", **environment):
    """Run a command, as `shell` has it, with nothing of the test's own output."""
    command = shell.format('"$@"')
    return subprocess.run(
        ["/bin/bash", "-c", command, "bash", *MEMPROTO, *words],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "code"), [(("list",), 1), (("--version",), 1), (("explain", "MP-TURN-001"), 1)]
)
def test_an_output_that_is_full_is_said_in_one_line(words, code, unbuffered):
    done = run(*words, shell="{} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == code
    line = "memproto: the standard output takes nothing (No space left on device)\n"
    assert done.stderr == line


@pytest.mark.once
def test_a_run_whose_output_is_full_is_no_verdict():
    done = run(*JUDGE, shell="{} >/dev/full")
    assert done.returncode == 3, done.stderr
    assert "ERROR: the standard output takes nothing (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.once
def test_a_run_that_nobody_reads_any_more_is_no_verdict():
    done = run(*JUDGE, "-v", shell="{} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("list",), ("explain", "MP-TURN-001"), JUDGE])
def test_an_output_that_is_closed_is_said_with_the_repair(words):
    done = run(*words, shell="{} >&-")
    assert done.returncode == 4
    assert done.stderr == "memproto: the standard output is closed\n  fix: send it to a file\n"


def test_a_reader_that_has_all_that_he_wants_is_told_nothing():
    done = run("list", shell="{} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 1
    assert done.stderr == ""


GONE = "mkdir gone; cd gone; rmdir ../gone; {}"


@pytest.mark.parametrize("words", [("list",), ("explain", "MP-TURN-001"), ("--version",)])
def test_a_command_that_needs_no_directory_works_in_one_that_was_deleted(tmp_path, words):
    done = run(*words, cwd=tmp_path, shell=GONE)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "words", [("new", "mine"), ("export-hermes", "builtin", "out"), JUDGE, ("status", "builtin")]
)
def test_a_working_directory_that_was_deleted_is_named(tmp_path, words):
    more = ("--home", str(tmp_path)) if words[0] == "status" else ()
    done = run(*words, *more, cwd=tmp_path, shell=GONE)
    assert done.returncode == 4
    assert "the working directory is not there any more\n  fix: go to one that is" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system has no /proc")  # noqa: PTH112
@pytest.mark.parametrize("words", [("new", "mine"), ("export-hermes", "builtin", "out")])
def test_a_directory_that_takes_no_file_is_named(words):
    done = run(*words, cwd="/proc")
    assert done.returncode == 4
    assert f"/proc/{words[-1]}: cannot be written" in done.stderr
    assert "fix: go to a directory in which you may write" in done.stderr


@pytest.mark.once
@pytest.mark.parametrize("output", [{}, {"PYTHONIOENCODING": "utf-8"}], ids=["plain", "strict"])
def test_a_directory_of_any_name_and_no_home_are_no_matter(tmp_path, output):
    folder = tmp_path / "Jürgen Ä 漢字"
    folder.mkdir()
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **output}
    for words in (("new", "mine"), ("export-hermes", "builtin", "out"), ("list",)):
        done = run(*words, cwd=folder, shell="unset HOME; {}", **ascii_only)
        assert done.returncode == 0, done.stderr
    assert (folder / "mine" / "pyproject.toml").is_file()
    done = run(*JUDGE, cwd=folder, shell="unset HOME; {}", **ascii_only)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "lacks"), [("honcho", "honcho-ai"), ("mentisdb", "httpx"), ("mcp", "mcp")]
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(target, lacks, monkeypatch):
    installed = importlib.metadata.distribution

    def without(name):
        if name in ("honcho-ai", "httpx", "mcp"):
            raise importlib.metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(packages.importlib.metadata, "distribution", without)
    with pytest.raises(MissingPackage) as raised:
        loading.load(target)
    assert lacks in raised.value.fault
    assert f"which the extra 'memproto[{target}]' brings" in raised.value.fault
    assert raised.value.fix == f"pip install 'memproto[{target}]'"
