"""`memproto setup` and `memproto status`: dialogues, exit codes, and the documented example."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memproto import cli

ROOT = Path(__file__).parents[2]
CONFIGURED = "tests.good.configured:Configured"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command in this process, in an environment that is put back."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.chdir(ROOT)

    def run(name, *words, typed=()):
        lines = iter(typed)

        def read(prompt):
            line = next(lines, None)
            if line is None:
                raise EOFError
            if isinstance(line, BaseException):
                raise line
            return line

        monkeypatch.setattr("builtins.input", read)
        return cli.main([name, CONFIGURED, "--home", str(tmp_path / "home"), *words])

    return run


def test_a_dialogue_saves_what_was_typed(command, tmp_path):
    assert command("setup", typed=["shared", "atk-1", "", "Harbour", ""]) == 0
    assert (tmp_path / "home" / ".env").read_text() == "CONFIGURED_API_KEY=atk-1\n"
    assert '"label": "Harbour"' in (tmp_path / "home" / "configured.json").read_text("utf-8")


@pytest.mark.parametrize("end", [[], [KeyboardInterrupt()]])
def test_a_dialogue_that_ends_early_saves_nothing(command, tmp_path, capsys, end):
    assert command("setup", typed=["shared", "atk-1", *end]) == 1
    assert "nothing was saved" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("words", [["--set", "mode=west"], ["--set", "mode"], ["--set", "speed=1"]])
def test_a_value_that_does_not_fit_is_bad_usage(command, words):
    assert command("setup", "--no-input", *words) == 4


def test_the_status_is_the_exit_code(command, capsys):
    assert command("status") == 0
    assert "extensions: config, backup" in capsys.readouterr().out


def test_the_home_has_no_default(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["setup", CONFIGURED])
    assert ended.value.code == 4
    assert "--home" in capsys.readouterr().err


# -- the documentation -----------------------------------------------------------------------------

TEXT = (ROOT / "docs" / "setup.md").read_text("utf-8")
SHOWN = re.compile(r"```console\n\$ memproto (.+)\n((?:.*\n)*?)exit code (\d)\n```")


def test_the_example_of_the_documentation_runs_as_it_is_shown(tmp_path):
    source = re.search(r"`harbour.py`:\n\n```python\n(.*?)```", TEXT, re.DOTALL)[1]
    (tmp_path / "harbour.py").write_text(source, "utf-8")
    for words, told, code in SHOWN.findall(TEXT):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "memproto.cli", *shlex.split(words)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        said = (done.stdout + done.stderr).replace(f"{tmp_path}/", "")
        assert (said, done.returncode) == (told, int(code))
    assert len(SHOWN.findall(TEXT)) == 4
