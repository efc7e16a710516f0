"""`memproto new`: what is made, and what is refused."""

import ast
import json
import re
import sys
import tomllib

import jsonschema
import pytest
import yaml

from memproto import cli, loading
from memproto.errors import KitUsageError
from memproto.export import TAKEN
from memproto.scaffold import making, naming, new
from memproto.testing.settings import settings
from tests.kit_runs import ROOT
from tests.scaffold import scaffolded

pytestmark = pytest.mark.once

KINDS = {"native": False, "hermes": True}

#: The languages whose providers are programs, with a file that holds the name.
PROGRAMS = {"typescript": "package.json", "rust": "Cargo.toml"}


@pytest.fixture
def work(tmp_path, monkeypatch, imports_are_forgotten):
    """A working directory, in which nothing is there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


@pytest.fixture(params=KINDS)
def made(request, work):
    """A new provider of each kind."""
    return new("tide-log", work, hermes=KINDS[request.param])


@pytest.fixture(params=[*KINDS, *PROGRAMS])
def project(request, work):
    """A new provider of each kind, and in each language."""
    if request.param in PROGRAMS:
        return new("tide-log", work, language=request.param)
    return new("tide-log", work, hermes=KINDS[request.param])


def entry_point(folder):
    points = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"][
        "entry-points"
    ]
    ((group, named),) = points.items()
    assert group in loading.GROUPS
    return named["tide-log"]


# -- what is made ----------------------------------------------------------------------------------


def test_the_name_stands_everywhere_and_the_templates_nowhere(project):
    texts = {path: path.read_text("utf-8") for path in project.rglob("*") if path.is_file()}
    named = [path.name for path, text in texts.items() if "tide-log" in text]
    assert {"README.md", "LICENSE"} <= {*named}
    assert {"pyproject.toml", *PROGRAMS.values()} & {*named}
    assert [path for path, text in texts.items() if re.search("example", text, re.IGNORECASE)] == []
    for path, text in texts.items():
        if path.suffix == ".py":
            ast.parse(text)


def test_the_files_of_a_project_are_there(made):
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert names >= {
        *("README.md", "LICENSE", "pyproject.toml", ".gitignore", "tests/test_provider.py"),
        *(".github/workflows/conformance.yml", "src/tide_log/__init__.py"),
    }


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_has_no_file_of_another_language(work, language):
    made = new("tide-log", work, language=language)
    names = {path.suffix for path in made.rglob("*") if path.is_file()}
    assert {"typescript": ".ts", "rust": ".rs"}[language] in names
    assert ".py" not in names
    assert (made / ".gitignore").is_file()


def test_what_the_readme_tells_to_run_is_what_its_ci_runs(project):
    made = project
    (block, *_) = re.findall(
        r"```console\n(.*?)```", (made / "README.md").read_text("utf-8"), re.DOTALL
    )
    workflow = yaml.safe_load((made / ".github/workflows/conformance.yml").read_text("utf-8"))
    steps = workflow["jobs"]["conformance"]["steps"]
    run = [step["run"].partition(" --memproto-report")[0] for step in steps if "run" in step]
    assert run == block.splitlines()


def test_the_readme_names_each_file_that_is_there(project):
    made = project
    rows = re.findall(r"^\| `([^`]+)` \|", (made / "README.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) >= 6
    assert [row for row in rows if not (made / row).is_file()] == []


def test_the_kit_reads_the_settings_of_the_new_project(made):
    read = settings.read("tide-log", made)
    text = (made / "pyproject.toml").read_text("utf-8")
    declared = tomllib.loads(text)["tool"]["memproto"]["target"]["tide-log"].get("declares", {})
    assert read.declares == declared


def test_a_native_provider_remembers_in_the_next_session(work):
    made = new("tide_log", work)
    sys.path.insert(0, str(made / "src"))
    first, second = (loading.load("tide_log:TideLog").build() for _ in range(2))
    config = {"home": str(work), "limits": {"recall_chars": 30}}
    first.initialize("s1", config)
    first.on_turn_complete("The ferry is called Ondine.", "Noted.")
    first.on_memory_write("add", "memory", "The harbour master is called Quillen.")
    first.on_memory_write("replace", "memory", "The harbour master is Imke.", "Quillen")
    second.initialize("s2", config)
    assert "Ondine" in second.enrich_turn("Which ferry?", [])
    assert second.enrich_turn("Who is the harbour master?", []) == "The harbour master is Imke."
    assert first.name == "tide_log"


def test_the_manifest_fits_its_schema(work):
    made = new("tide-log", work, hermes=True)
    manifest = yaml.safe_load((made / "src" / "tide_log" / "plugin.yaml").read_text("utf-8"))
    schema = (ROOT / "spec/v1/schemas/plugin-manifest.schema.json").read_text("utf-8")
    jsonschema.validate(manifest, json.loads(schema))
    assert manifest["name"] == "tide-log"


@pytest.mark.parametrize("kind", KINDS)
def test_the_entry_point_names_what_the_package_has(work, kind):
    made = new("tide-log", work, hermes=KINDS[kind])
    scaffolded.a_host_is_importable(work)
    sys.path.insert(0, str(made / "src"))
    assert loading.load(entry_point(made)).build().name == "tide-log"


def test_the_command_says_what_to_do_next(work, capsys):
    assert cli.main(["new", "tide-log"]) == 0
    said = capsys.readouterr().out
    assert str(work / "tide-log") in said
    for line in ("cd tide-log", "pip install -e '.[dev]'", "pytest --memproto=tide-log "):
        assert line in said


@pytest.mark.parametrize(
    ("language", "command"),
    [("typescript", "node dist/src/server.js"), ("rust", "target/release/tide-log")],
)
def test_the_command_says_what_to_do_next_in_another_language(work, capsys, language, command):
    assert cli.main(["new", "tide-log", "--lang", language]) == 0
    said = capsys.readouterr().out
    assert f'pytest --memproto="wire:{command}" the conformance kit' in said
    assert command in (work / "tide-log" / "README.md").read_text("utf-8")


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("", "my-memory"),
        ("MyNotes", "my-notes"),
        ("my--notes", "my-notes"),
        ("my.notes", "my-notes"),
        ("9lives", "lives"),
        ("-notes", "notes"),
        ("../notes", "notes"),
        ("Häfen", "hafen"),
        ("...", "my-memory"),
        ("a" * 65, "a" * 64),
    ],
)
def test_what_is_no_name_is_refused_with_one_that_is(work, capsys, text, mended):
    assert cli.main(["new", "--", text]) == 4
    said = capsys.readouterr().err
    assert "is no name of a provider" in said
    assert said.rstrip().endswith(f"name it {mended}")
    assert naming.named(mended).label == mended
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("class", "a word of Python"),
        ("match", "a word of Python"),
        ("json", "Python's own"),
        ("tests", "a folder"),
        ("builtin", "BuiltinMemoryProvider"),
        ("memproto", "would hide"),
        ("jsonschema", "would hide"),
    ],
)
def test_a_name_that_is_taken_is_refused(work, text, fault):
    with pytest.raises(KitUsageError, match=fault):
        new(text, work)
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "language", "fault"),
    [
        ("match", "rust", "no package of Rust"),
        ("src", "rust", "a folder"),
        ("dist", "typescript", "a folder"),
    ],
)
def test_a_program_may_have_every_name_but_those_of_its_own_language(work, text, language, fault):
    with pytest.raises(KitUsageError, match=fault):
        new(text, work, language=language)
    assert list(work.iterdir()) == []
    assert new("json", work, language=language).is_dir()


def test_a_plugin_of_hermes_is_of_python(work, capsys):
    assert cli.main(["new", "tide-log", "--hermes", "--lang", "rust"]) == 4
    assert "makes no plugin of rust" in capsys.readouterr().err
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("text", sorted(TAKEN))
def test_a_plugin_cannot_have_a_name_of_the_hosts_own(work, text):
    with pytest.raises(KitUsageError, match="Hermes has"):
        new(text, work, hermes=True)


@pytest.mark.parametrize("kind", ["file", "directory", "broken link"])
def test_what_is_there_is_not_touched(work, capsys, kind):
    place = work / "tide-log"
    if kind == "file":
        place.write_text("mine", "utf-8")
    elif kind == "directory":
        place.mkdir()
        (place / "pyproject.toml").write_text("mine", "utf-8")
    else:
        place.symlink_to(work / "nowhere")
    before = sorted(work.rglob("*"))
    assert cli.main(["new", "tide-log"]) == 4
    assert "./tide-log: is there already" in capsys.readouterr().err
    assert sorted(work.rglob("*")) == before
    if kind != "broken link":
        file = place / "pyproject.toml" if kind == "directory" else place
        assert file.read_text("utf-8") == "mine"


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_what_is_half_written_is_removed(work, monkeypatch, capsys, error):
    files = making._files

    def breaks_off(root):
        yield next(files(root))
        assert len(list((work / "tide-log").iterdir())) == 1
        raise error

    monkeypatch.setattr(making, "_files", breaks_off)
    assert cli.main(["new", "tide-log"]) == 1
    assert list(work.iterdir()) == []
    assert ("the disk is full" if isinstance(error, OSError) else "interrupted") in (
        capsys.readouterr().err
    )


def test_templates_that_an_installer_compiled_are_not_copied(work, monkeypatch):
    template = work / "templates"
    for kind in ("common", "python", "native"):
        (template / kind / "__pycache__").mkdir(parents=True)
        (template / kind / "__pycache__" / "x.pyc").write_bytes(b"\xff")
    monkeypatch.setattr(making, "_TEMPLATES", template)
    assert list(new("tide-log", work).iterdir()) == []
