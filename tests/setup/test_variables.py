"""Set-up writes no name that is none, and homes are their owner's alone."""

import os
import stat

import pytest

from memproto import cli
from memproto.adapters.homes import own_folder
from memproto.reference_providers import reading
from memproto.setup import dotenv, variables
from memproto.setup.questions import questions_of

ASKS = """
from tests.good.configured import Configured

class Mine(Configured):
    def get_config_schema(self):
        return [{{"key": "key", "description": {said!r}, "default": "/x.so", "env_var": {name!r}}}]
"""

INJECTED = "X\nLD_PRELOAD"


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    numbers = iter(range(100))

    def run(name, variable, said="a key", *words):
        module = f"asks_{next(numbers)}_{abs(hash(tmp_path))}"
        (tmp_path / f"{module}.py").write_text(ASKS.format(name=variable, said=said), "utf-8")
        return cli.main([name, f"{module}:Mine", "--home", str(tmp_path / "home"), *words])

    return run


@pytest.mark.parametrize("name", [INJECTED, "A B", "1A", "A=B", "A-B", "\ud800", "", "É"])
def test_what_is_no_name_of_a_variable_is_refused(name, command, tmp_path, capsys):
    assert not variables.is_name(name)
    if name:
        assert command("setup", name, "a key", "--no-input") == 4
        said = capsys.readouterr().err
        assert "the field 'key' of the schema: " in said
        assert said.count("\n") == 1
        assert not (tmp_path / "home" / ".env").exists()
    with pytest.raises(dotenv.NotForAVariable, match="no name of a variable"):
        dotenv.write(tmp_path / ".env", {name: "x"})
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "PATH", "BASH_ENV", "Path"])
def test_a_variable_by_which_other_code_runs_holds_no_answer(name, command, tmp_path, capsys):
    assert command("setup", name, "a key", "--no-input") == 4
    assert "decides what code a program runs" in capsys.readouterr().err
    assert not (tmp_path / "home" / ".env").exists()


def test_the_schema_itself_is_still_read(command):
    [question] = questions_of([{"key": "a", "env_var": INJECTED}])
    assert question.env_var == INJECTED


@pytest.mark.parametrize("answer", ["half \ud800", "\udcff", "a\0b"])
@pytest.mark.parametrize("said", ["a key", "half \ud800 of \x1b[2J a key"])
def test_half_of_a_character_ends_in_a_sentence_and_not_in_a_stack(command, capsys, answer, said):
    code = command("setup", "MINE_KEY", said, "--set", f"key={answer}", "--no-input")
    assert code in (0, 4)
    assert command("status", "MINE_KEY", said) in (0, 1)
    told = capsys.readouterr()
    for line in (told.out + told.err).split("\n"):
        assert line.isprintable()


@pytest.mark.parametrize("make", [own_folder, reading.own_folder])
def test_a_new_directory_for_memory_is_its_owners_alone(tmp_path, make):
    before = os.umask(0o022)
    try:
        make(tmp_path / "a" / "b" / "c")
        os.umask(0o277)
        make(tmp_path / "d")
    finally:
        os.umask(before)
    modes = {
        name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/c", "d")
    }
    assert modes == {"a": 0o700, "a/b": 0o700, "a/b/c": 0o700, "d": 0o500}
    tmp_path.chmod(0o755)
    make(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("target", ["builtin", "sqlite"])
def test_a_provider_and_set_up_make_a_home_of_mode_700(tmp_path, target, monkeypatch):
    from memproto import loading

    before = os.umask(0o022)
    try:
        provider = loading.load(target).build()
        provider.initialize("s", {"home": str(tmp_path / "deep" / "home")})
        provider.on_memory_write("add", "memory", "The harbour is called Tarn.")
        provider.shutdown()
    finally:
        os.umask(before)
    folders = [path for path in (tmp_path / "deep").rglob("*") if path.is_dir()]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "deep", *folders]}
    assert modes == {0o700}


def test_set_up_makes_a_home_of_mode_700(command, tmp_path):
    before = os.umask(0o022)
    try:
        assert command("setup", "MINE_KEY", "a key", "--no-input") == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_what_keeps_writes_and_answers_makes_folders_of_mode_700(tmp_path):
    from memproto.reference_providers.honcho import outbox as honcho_outbox
    from memproto.reference_providers.honcho import places
    from memproto.reference_providers.outbox import Outbox

    before = os.umask(0o022)
    try:
        entry = Outbox(tmp_path / "a" / "home" / "outbox").put({"text": "kept"})
        entry.release()
        kept = honcho_outbox.Outbox(tmp_path / "b" / "home", "mark")
        kept.open()
        kept.close()
        places._own(tmp_path / "c" / "home")
    finally:
        os.umask(before)
    folders = {path: path.stat() for path in tmp_path.rglob("*") if path.is_dir()}
    assert {path.name for path in folders} >= {"a", "b", "c", "home", "outbox"}
    assert {stat.S_IMODE(found.st_mode) for found in folders.values()} == {0o700}
