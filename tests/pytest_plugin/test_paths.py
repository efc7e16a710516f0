"""The kit in directories of any name, and for targets that name a path: nothing is lost there."""

import html
import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import psutil
import pytest

from memproto import spec
from memproto.pytest_plugin import outer
from memproto.report import verifying
from memproto.testing import locate, os_names
from memproto.testing.processes import ascii_path, process
from tests import places
from tests.kit_runs import kit, write

pytestmark = pytest.mark.once

#: In an ASCII locale, and in processes of their own.
CLAUSES = ("--memproto-clause=MP-TEXT-002", "--memproto-clause=MP-PROC-001")

NAMES = {
    "letters": "Jürgen Ä 漢字",
    "quotes and a variable": "a'b\"c %s $HOME",
    "an emoji": "😀",
    "no UTF-8": os.fsdecode(b"lat\xfcin"),
    "a line end": "new\nline",
    "a pattern": "a[b]*::c",
    "200 characters": "/".join(["d" * 40] * 5),
}

#: Names whose characters the others have, or are of the same kinds.
NIGHTLY = ("quotes and a variable", "an emoji", "a line end")

FIXED = """
import os, pathlib
from tests.good.journal import Journal
DATA = pathlib.Path(os.environ.get("XYZ_DIR", pathlib.Path.home() / ".xyz"))
class Fixed(Journal):
    name = "fixed"
    def initialize(self, session_key, config):
        home = DATA / pathlib.Path(config["home"]).name
        super().initialize(session_key, {**config, "home": str(home)})
"""

PROXY = """
from tests.good.journal import Journal
class Proxy:
    __slots__ = ("_inner",)
    def __init__(self): self._inner = Journal()
    def __getattr__(self, name): return getattr(self._inner, name)
def make(): return Proxy()
def register(ctx): ctx.register_memory_provider(Proxy())
ready = Proxy()
"""

NEEDS_A_KEY = """
import os
from tests.good.journal import Journal
os.environ["SHELF_KEY"]
class Mine(Journal):
    name = "mine"
    def enrich_turn(self, user_message, messages): return b"no str"
"""

FACTORY = """
import subprocess
from tests.good.journal import Journal
def make():
    subprocess.run(["true"], check=True)
    return Journal()
"""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, id=kind, marks=[pytest.mark.nightly] * (kind in NIGHTLY))
        for kind, name in NAMES.items()
    ],
)
def test_a_run_in_a_directory_of_any_name_passes_in_every_locale(tmp_path, name):
    here = tmp_path / name
    here.mkdir(parents=True)
    done = kit(here, "--memproto=builtin", *CLAUSES)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("variable", ["TMPDIR", "HOME"])
@pytest.mark.parametrize("name", ["letters", "no UTF-8"])
def test_a_run_with_temporary_files_and_a_home_of_any_name_passes(tmp_path, variable, name):
    place = tmp_path / NAMES[name]
    place.mkdir()
    done = kit(tmp_path, "--memproto=builtin", *CLAUSES, **{variable: str(place)})
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("is_home_odd", [False, True])
def test_extension_modules_in_a_directory_of_any_name_are_loaded_in_every_locale(
    tmp_path, is_home_odd
):
    place = tmp_path / NAMES["letters"] / "site"
    shutil.copytree(Path(psutil.__file__).parent, place / "psutil")
    variables = {"PYTHONPATH": str(place)} | ({"TMPDIR": str(place)} if is_home_odd else {})
    clauses = (*CLAUSES, "--memproto-clause=MP-CONF-011")
    done = kit(tmp_path, "--memproto=sqlite", *clauses, **variables)
    assert done.returncode == 0, done.stdout
    assert "MP-TEXT-002" not in done.stdout


#: A target of more characters than the name of one file may have.
LONG = "/".join(["f" * 40] * 7)

ODD = {name: NAMES[name] for name in ("letters", "no UTF-8", "200 characters")}
ODD["290 characters"] = LONG


@pytest.mark.parametrize("kind", ["module", "directory"])
@pytest.mark.parametrize("name", ODD.values(), ids=ODD)
def test_a_target_settings_and_outputs_in_a_directory_of_any_name_are_found(tmp_path, name, kind):
    """A setting that was not read would end the run before any check."""
    odd = tmp_path / name
    write(odd, mine__toml='env = {SHELF_KEY = "here"}\n')
    write(odd, **{"mine/__init__.py": NEEDS_A_KEY})
    outputs = {"report": odd / "r.json", "html": odd / "r.html", "replay": odd / "replay"}
    done = kit(
        tmp_path,
        f"--memproto={'mine' if kind == 'module' else f'./{name}/mine'}",
        "--memproto-clause=MP-RECALL-001",
        f"--memproto-settings={odd / 'mine.toml'}",
        *(f"--memproto-{option}={path}" for option, path in outputs.items()),
        PYTHONPATH=str(odd),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads(outputs["report"].read_text("utf-8"))["reports"][0]
    assert {row["id"]: row["outcome"] for row in report["results"]}["MP-RECALL-001"] == "fail"
    assert "MP-RECALL-001" in outputs["html"].read_text("utf-8")
    (script,) = outputs["replay"].rglob("*.py")
    again = [sys.executable, "-P", str(script)]
    paths = os.pathsep.join([str(odd), str(tmp_path)])
    variables = {**os.environ, "PYTHONPATH": paths, "SHELF_KEY": "here"}
    words = {"capture_output": True, "text": True, "errors": "backslashreplace", "timeout": 60}
    said = subprocess.run(again, cwd=tmp_path, env=variables, check=False, **words)
    assert said.stdout.endswith("it is seen again\n"), said.stderr


NO_STR = """
from tests.good.journal import Journal
class Mine(Journal):
    name = "mine"
    def enrich_turn(self, user_message, messages): return b"no str"
"""

#: Names that a report cannot hold as they are.
UNPRINTED = {name: NAMES[name] for name in ("no UTF-8", "a line end")}
UNPRINTED["all of them"] = os.fsdecode(b"J\xfcrgen's \x1b[1m \\ \xe4b\xc3\xbc $HOME `id`")


@pytest.mark.parametrize("is_beside", [False, True], ids=["in it", "beside it"])
@pytest.mark.parametrize("name", UNPRINTED.values(), ids=UNPRINTED)
def test_a_failure_in_a_directory_of_any_name_shows_its_line_and_how_to_see_it_again(
    tmp_path, name, is_beside
):
    odd = tmp_path / name
    write(odd, **{"mine/__init__.py": NO_STR})
    here, inner = (tmp_path, f"{name}/") if is_beside else (odd, "")
    words = (f"--memproto=./{inner}mine", f"--memproto-replay={odd / 'replay'}")
    report, page = tmp_path / "r.json", tmp_path / "r.html"
    outputs = (f"--memproto-report={report}", f"--memproto-html={page}")
    done = kit(here, *words, *outputs, "--memproto-clause=MP-RECALL-001")
    assert done.returncode == 1, done.stdout + done.stderr
    assert '5 |     def enrich_turn(self, user_message, messages): return b"no str"' in done.stdout
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("  reproduce ")]
    command = line.removeprefix("  reproduce ")
    (reported,) = json.loads(report.read_text("utf-8"))["reports"]
    assert command in [row["reproduce"] for row in reported["results"]]
    assert html.escape(command.split(" ")[1]).replace("&#x27;", "&#39;") in page.read_text("utf-8")
    assert verifying.faults(json.loads(report.read_text("utf-8"))) == []
    script, _, again = command.partition("  # or: ")
    assert in_bash(script, here).stdout.endswith("it is seen again\n")
    said = in_bash(again, here)
    assert said.returncode == 1, said.stdout + said.stderr
    assert "FAILED" in said.stdout


def in_bash(command, directory):
    folder = str(Path(sys.executable).parent)
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    variables["PATH"] = os.pathsep.join([folder, os.environ["PATH"]])
    variables["PYTHONPATH"] = str(directory)
    words = {"capture_output": True, "text": True, "errors": "backslashreplace", "timeout": 240}
    return subprocess.run(
        ["bash", "-c", command], cwd=directory, env=variables, check=False, **words
    )


def test_a_missing_folder_of_an_output_is_made_by_the_command_that_is_named(tmp_path):
    name = UNPRINTED["all of them"]
    done = kit(tmp_path, "--memproto=builtin", f"--memproto-report={name}/r.json")
    assert done.returncode == 4
    (fix,) = [x for x in (done.stdout + done.stderr).splitlines() if "fix: mkdir" in x]
    assert in_bash(fix.partition("fix: ")[2], tmp_path).returncode == 0
    assert (tmp_path / name).is_dir()


def test_links_are_made_for_places_of_other_letters_alone(tmp_path):
    odd = tmp_path / NAMES["letters"]
    odd.mkdir()
    links = tmp_path / "links"
    places = [str(odd), "/usr", str(tmp_path / "漢字"), str(odd)]
    first, plain, missing, again = ascii_path.linked(places, links)
    assert (plain, missing) == ("/usr", places[2])
    assert first == again == str(links / "0")
    assert Path(first).resolve() == odd
    assert ascii_path.linked([str(odd)], odd / "x")[0].isascii()


def test_a_directory_that_was_fixed_at_import_is_the_same_in_every_process(tmp_path):
    write(tmp_path, mine__py=FIXED)
    done = kit(tmp_path, "--memproto=mine", "--memproto-clause=MP-PROC")
    assert done.returncode == 0, done.stdout
    rules = len(spec.select(["MP-PROC"], "provider"))
    assert f"{rules} passed" in done.stdout


@pytest.mark.parametrize("target", ["mine", "mine:Proxy", "mine:make", "mine:register"])
def test_a_proxy_is_the_provider_that_it_stands_before(tmp_path, target):
    write(tmp_path, mine__py=PROXY)
    done = kit(tmp_path, f"--memproto={target}", "--memproto-clause=MP-TURN-003")
    assert done.returncode == 0, done.stdout


def test_a_proxy_that_is_built_already_is_refused_as_any_instance(tmp_path):
    write(tmp_path, mine__py=PROXY)
    done = kit(tmp_path, "--memproto=mine:ready")
    assert done.returncode == 4
    assert "built already" in done.stderr + done.stdout


def test_a_program_of_the_users_factory_is_not_booked_on_the_provider(tmp_path):
    settings = 'factory = "mine:make"\n'
    write(tmp_path, mine__py=FACTORY, memproto__toml=settings)
    done = kit(tmp_path, "--memproto=own", "--memproto-clause=MP-LOAD-003")
    assert done.returncode == 0, done.stdout


def test_a_run_that_cannot_start_leaves_no_file_and_spares_an_older_one(tmp_path):
    (tmp_path / "old.json").write_text("old", encoding="utf-8")
    words = ("--memproto-html=new/page.html", "--memproto-replay=scripts/x")
    (tmp_path / "tests").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for report in ("old.json", "a/b/new.json"):
        done = kit(tmp_path, "--memproto=nothere", f"--memproto-report={report}", *words)
        assert done.returncode == 4
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "old.json").read_text(encoding="utf-8") == "old"


REFUSED = {
    "./mine.py": ("is a file", "--memproto=mine"),
    "mine.py:Memory": ("is a file", "--memproto=mine:Memory"),
    "src/pkg/deep.py": ("is a file", "--memproto=pkg.deep"),
    "nix.py": ("there is no file", "name one that is there: pytest --memproto=mine"),
    "./nix": ("there is no directory", "name one that is there: pytest --memproto=mine"),
    "deep.py": ("there is no file", "did you mean 'src/pkg/deep.py'? pytest --memproto=pkg.deep"),
    "/no/such/nix.py": ("there is no file", "or an installed module"),
    "json.py:Memory": ("no module 'json.py'", "without .py: pytest --memproto=json:Memory"),
    "./folder": ("without __init__.py", "add the file"),
    "~/x": ("begins with a `~`", '"$HOME/x"'),
    "": ("names nothing", "module"),
    "mine.Memory": ("no module 'mine.Memory'", "--memproto=mine:Memory"),
    "hermes:nix": ("hermes-agent", "pip install hermes-agent"),
    "x" * 300: ("there is no module", "install"),
}


@pytest.mark.parametrize(
    "target", places.half_nightly(REFUSED), ids=lambda target: target[:20] or "nothing"
)
def test_a_target_that_is_no_provider_is_named_with_its_repair(tmp_path, target):
    write(tmp_path, mine__py="class Memory: pass", src__pkg__deep__py="")
    for folder in ("folder", "src/pkg"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "src/pkg/deep.py").touch()
    done = kit(tmp_path, f"--memproto={target}")
    said = done.stdout + done.stderr
    assert done.returncode == 4, said
    assert "Traceback" not in said
    for part in REFUSED[target]:
        assert part in said


BROKEN_SETTINGS = {
    "UTF-16 without a mark": ("# ü\n".encode("utf-16-le"), "UTF-16"),
    "UTF-32": ("# ü\n".encode("utf-32"), "UTF-32"),
    "latin-1": ("# ü\n".encode("latin-1"), "no UTF-8"),
    "a NUL": (b'env = {A = "a\\u0000b"}\n', "NUL"),
    "no name": (b'env = {"A=B" = "x"}\n', "no name of a variable"),
}


@pytest.mark.parametrize("name", BROKEN_SETTINGS)
def test_settings_that_cannot_be_read_or_set_are_named(tmp_path, name):
    data, said = BROKEN_SETTINGS[name]
    (tmp_path / "memproto.toml").write_bytes(data)
    done = kit(tmp_path, "--memproto=builtin", "--memproto-clause=MP-NAME")
    assert done.returncode == 4, done.stdout
    assert "memproto.toml:1" in done.stdout + done.stderr
    assert said in done.stdout + done.stderr


PROJECT = '[project]\nname = "Jürgen"\n'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_judge_reads_no_project_file_in_which_pytest_would_fail(tmp_path, encoding):
    """pytest reads pyproject.toml before it loads any plugin; docs/settings.md says so."""
    (tmp_path / "pyproject.toml").write_bytes(PROJECT.encode(encoding))
    done = judged(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code 0" in done.stdout


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_settings_in_a_project_file_that_cannot_be_read_are_not_passed_over(tmp_path, encoding):
    text = f'{PROJECT}[tool.memproto.target."builtin"]\nmax_hook_calls = 3\n'
    (tmp_path / "pyproject.toml").write_bytes(text.encode(encoding))
    done = judged(tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 4, said
    assert "pyproject.toml:" in said
    assert "save it as UTF-8" in said
    assert "Traceback" not in said


def judged(directory, *more):
    words = [sys.executable, "-P", "-m", "memproto.cli", "judge", "builtin"]
    return subprocess.run(
        [*words, "--memproto-clause=MP-NAME-001", *more],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_name_is_the_same_bytes_in_every_locale():
    for name in NAMES.values():
        assert os_names.native(os_names.readable(name)) == name
        assert os_names.heard(os_names.told({"A": [name]})) == {"A": [name]}


def test_a_stack_of_a_file_with_any_letters_names_it(tmp_path):
    (tmp_path / "größe.py").touch()
    written = str(tmp_path / "größe.py").encode("ascii", "backslashreplace").decode()
    dump = f'Timeout (0:00:01)!\n\n  File "{written}", line 3 in f\\xfcr'
    (line,) = locate.frames(dump)
    assert line.endswith("größe.py:3 in für")


def test_a_package_whose_name_begins_as_the_kits_is_an_authors():
    assert locate.is_authors(f"{locate._KIT}_mem0/provider.py")
    assert not locate.is_authors(f"{locate._KIT}/testing/child.py")


def test_a_checkout_before_what_is_installed_is_passed_over(tmp_path, monkeypatch):
    """`python -m pytest` in a checkout takes its memproto, which holds no checks."""
    kit_folder = tmp_path / "site" / "memproto"
    (kit_folder / "conformance").mkdir(parents=True)
    (kit_folder / "__init__.py").touch()
    monkeypatch.setattr(outer.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "path", [str(Path(outer.memproto.__file__).parents[1])])
    assert outer._installed() is None
    assert "pip install" in outer._not_installed()
    sys.path.append(str(kit_folder.parent))
    assert outer._installed()[0] == kit_folder / "conformance"


def test_the_time_of_a_check_grows_with_what_slows_the_machine(monkeypatch):
    held = types.SimpleNamespace(_excused_s=0.0, _patience=0.0, _slowdown=1.0)
    monkeypatch.setattr(process.noise, "slowdown", lambda: 3.0)
    assert process.ChildProcess._end(held, 0.0, 60.0, 59.0) == 60.0
    assert process.ChildProcess._end(held, 0.0, 60.0, 61.0) == 180.0
