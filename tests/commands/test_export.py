"""`memproto export-hermes`: what is written, and what is refused."""

import json
import shutil
import sys
import tomllib

import pytest

from memproto import cli, loading
from memproto.adapters.hermes import from_hermes
from memproto.bindings import HERMES
from memproto.export import export
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

WRITTEN = {"__init__.py", "plugin.yaml", "memproto.toml"}

BUILTIN = "memproto.reference_providers.builtin:BuiltinMemoryProvider"


@pytest.fixture
def work(tmp_path, monkeypatch, imports_are_forgotten):
    """A working directory with the example in it."""
    shutil.copy(ROOT / "examples" / "complete.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


def loaded(folder):
    """The provider in a directory, as the kit and a Hermes host load it."""
    found = loading.load(str(folder))
    assert found.binding is HERMES
    return found.build()


def remembers(folder, home):
    """True if what one instance was told is recalled by the next one."""
    for told in (True, False):
        provider = loaded(folder)
        provider.initialize("s1", {"home": str(home), "platform": "cli"})
        if told:
            provider.on_memory_write("add", "memory", "The harbour master is called Quillen.")
        else:
            recalled = provider.enrich_turn("Who is the harbour master?", [])
        provider.shutdown()
    return "Quillen" in (recalled or "")


def refused(capsys, *words):
    assert cli.main(["export-hermes", *map(str, words)]) == 4
    return capsys.readouterr().err


def test_a_module_of_the_working_directory_is_copied_and_remembers_elsewhere(work, capsys):
    assert cli.main(["export-hermes", "complete", "out/my-notes"]) == 0
    assert "provider: my-notes" in capsys.readouterr().out
    folder = work / "out" / "my-notes"
    assert {path.name for path in folder.iterdir()} == {*WRITTEN, "complete.py"}
    (work / "complete.py").unlink()
    assert loaded(folder).name == "my-notes"
    assert remembers(folder, work)


def test_a_package_of_the_working_directory_is_copied_whole(work):
    (work / "src" / "harbour").mkdir(parents=True)
    (work / "src" / "harbour" / "__init__.py").write_text("from .provider import Complete\n")
    shutil.move(work / "complete.py", work / "src" / "harbour" / "provider.py")
    for number, target in enumerate(("harbour:Complete", "src/harbour")):
        folder = export(target, work / f"notes{number}", work)
        assert (folder / "harbour" / "provider.py").is_file()
        assert remembers(folder, work / f"home{number}")


def test_an_installed_provider_is_imported_by_its_name(work):
    for number, target in enumerate(("builtin", BUILTIN)):
        folder = export(target, work / f"bounded{number}", work)
        assert {path.name for path in folder.iterdir()} == WRITTEN
        assert remembers(folder, work / f"home{number}")


def test_what_the_provider_declares_is_told_to_the_kit(work):
    folder = export(BUILTIN, work / "bounded", work)
    settings = tomllib.loads((folder / "memproto.toml").read_text("utf-8"))
    assert settings["declares"]["stores"] == ["tools", "writes"]
    assert settings["declares"]["recall_basis"] == "session"


def test_a_provider_that_declares_in_a_session_only_is_exported_without(work):
    source = (work / "complete.py").read_text("utf-8")
    shy = (
        "\n\nclass Shy(Complete):\n    def capabilities(self):\n        return {1: self.session}\n"
    )
    (work / "shy.py").write_text(source + shy)
    folder = export("shy:Shy", work / "shy-notes", work)
    assert not (folder / "memproto.toml").exists()


def test_the_manifest_names_the_hooks_that_the_provider_has(work):
    folder = export(BUILTIN, work / "bounded", work)
    lines = (folder / "plugin.yaml").read_text("utf-8").splitlines()
    manifest = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
    assert manifest["name"] == "bounded"
    assert "system_prompt_block" in manifest["hooks"]
    assert "on_session_end" not in manifest["hooks"]
    provider = from_hermes(loaded(folder).wrapped).wrapped
    assert [hook for hook in manifest["hooks"] if not callable(getattr(provider, hook, None))] == []


def test_a_directory_that_holds_something_is_left_as_it_is(work, capsys):
    (work / "full").mkdir()
    (work / "full" / "mine.txt").write_text("mine")
    assert "is there already, and not empty" in refused(capsys, "complete", "full")
    assert "is there already" in refused(capsys, "complete", "complete.py")
    assert [path.name for path in (work / "full").iterdir()] == ["mine.txt"]


def test_a_name_that_a_host_cannot_use_is_refused_before_anything_is_written(work, capsys):
    assert "'No Label' is no name" in refused(capsys, "complete", "No Label")
    assert "of its own, which it would load" in refused(capsys, "complete", "honcho")
    assert {path.name for path in work.iterdir()} == {"complete.py"}


def test_a_target_that_is_not_there_or_fails_is_named(work, capsys):
    assert "no module, entry point or distribution" in refused(capsys, "nothing", "out")
    (work / "ends.py").write_text("raise SystemExit(7)\n")
    assert "raised SystemExit: 7" in refused(capsys, "ends", "out")
    (work / "labelled.py").write_text(
        "from complete import Complete\n\n\nclass Mine(Complete):\n    name = 'Not A Label'\n"
    )
    assert "'Not A Label' is no name" in refused(capsys, "labelled:Mine", "out")
    assert not (work / "out").exists()


def test_a_provider_of_hermes_is_none_to_export(work, capsys):
    folder = export("complete", work / "once", work)
    assert "is a provider of Hermes already" in refused(capsys, folder, "twice")


def test_what_needs_a_module_that_stays_behind_is_refused_and_removed(work, capsys):
    (work / "beside.py").write_text("")
    source = work / "complete.py"
    source.write_text(source.read_text("utf-8") + "\n\nimport beside\n")
    (work / "empty").mkdir()
    for name in ("out", "empty"):
        assert "No module named 'beside'" in refused(capsys, "complete", name)
    assert not (work / "out").exists()
    assert list((work / "empty").iterdir()) == []


def test_what_does_not_load_in_time_is_refused_and_removed(work, capsys, monkeypatch):
    monkeypatch.setattr("memproto.export._CHECK_S", 0.001)
    assert "it is not done after 0.001 s" in refused(capsys, "complete", "out")
    assert not (work / "out").exists()
