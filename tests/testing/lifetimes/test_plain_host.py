"""The process that has nothing of the kit: it serves each good provider as the kit does."""

import os
import subprocess
import sys
import zipfile

import pytest

from memproto import spec
from memproto.testing.judging.judge import Order, judge
from memproto.testing.settings import settings
from tests import matrix, places
from tests.installed import environment
from tests.kit_runs import ROOT, outcomes, read_report, write

#: Whole runs of the kit, and no Python of its own.
pytestmark = pytest.mark.once

RULES = ("MP-ISO-010", "MP-ISO-011")

#: Those whose shape no good provider of the matrix has.
SHAPES = ("NotesOnly", "TurnsOnly", "WhereItWasImported")

TARGETED = ("Refusing", "HermesNotes")

#: Of one shape with `HermesNotes`.
NIGHTLY = ("HermesUser", "HermesRefusing")


def told(target, directory=ROOT, **configured):
    read = settings.read(target, directory)
    order = Order(target, settings=read, directory=directory, **configured)
    found = judge(order, [spec.requirement(rule) for rule in RULES])
    return {item.id: (str(item.outcome), item.observed or item.reason) for item in found}


@pytest.mark.long
@pytest.mark.parametrize(
    "target",
    [
        # A provider of the wire runs in a process of its own under any host.
        *(target for target in matrix.GOOD if target != "tests.good.wired:Wired"),
        *(f"tests.plain_shapes:{name}" for name in SHAPES),
        *(f"tests.good.targeted:{name}" for name in TARGETED),
        *(places.nightly(f"tests.good.targeted:{name}") for name in NIGHTLY),
        "tests.good.tooled:HermesTooled",
    ],
)
def test_a_good_provider_is_served_alike_without_the_kit(target):
    found = told(target)
    assert {rule: found[rule] for rule in RULES} == dict.fromkeys(RULES, ("pass", ""))


def test_a_provider_that_stores_nothing_is_not_asked():
    assert told("tests.plain_shapes:CompressOnly")["MP-ISO-011"][0] == "not_applicable"


def test_one_that_answers_late_in_any_process_is_not_said_to_look_for_the_kit():
    outcome, said = told("tests.plain_shapes:WarmsUp")["MP-ISO-011"]
    assert outcome in ("pass", "untestable"), said


def test_a_worker_that_shutdown_cuts_off_is_not_said_to_look_for_the_kit():
    assert told("tests.plain_shapes:LateWithoutTheKit")["MP-ISO-011"] == ("pass", "")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("StoresWhileTheKitIsLoaded", "by turns"),
        places.nightly("MirrorsWhileTheKitIsLoaded", "by writes"),
        places.nightly("NotesWhileTheKitIsLoaded", "by tools"),
        ("RecallsWhileTheKitIsLoaded", "asked for"),
    ],
)
def test_a_provider_that_looks_for_the_kit_is_told_by_the_route_by_which_it_does(name, says):
    target = f"tests.hostile.cheating:{name}"
    order = Order(target, settings=settings.read(target, ROOT), directory=ROOT)
    found = judge(order, [spec.requirement("MP-ISO-011")])
    (result,) = [item for item in found if item.id == "MP-ISO-011"]
    assert result.outcome == "fail", result
    assert says in result.observed


def test_a_crash_without_the_kit_is_told_with_its_signal(tmp_path):
    dies = "        import os, sys\n        sys.argv[0] == '-c' and os.abort()\n"
    head, store = ALONE.split("        self._file =", 1)
    (tmp_path / "crashing.py").write_text(f"{head}{dies}        self._file ={store}", "utf-8")
    found = told("crashing:Alone", tmp_path)
    assert found["MP-ISO-011"][0] == "untestable", found
    assert "did not come to its end: signal SIGABRT" in found["MP-ISO-011"][1]


# -- where a target comes from ---------------------------------------------------------------------

#: A provider with nothing beside it, so that it can lie anywhere.
ALONE = """\
import json
from pathlib import Path


class Alone:
    name = "alone"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        Path(config["home"]).mkdir(parents=True, exist_ok=True)
        self._file = Path(config["home"], "alone.json")

    def capabilities(self):
        return {"stores": ["turns"], "mirrors": {}, "spec_version": "1.0"}

    def _texts(self):
        return json.loads(self._file.read_text()) if self._file.exists() else []

    def enrich_turn(self, user_message, messages):
        asked = set(user_message.lower().strip("?.").split())
        texts = [text for text in self._texts() if len(asked & set(text.lower().split())) > 1]
        return "\\n".join(texts) or None

    def on_turn_complete(self, user_message, assistant_response):
        self._file.write_text(json.dumps([*self._texts(), user_message]))

    def on_memory_write(self, action, target, content, old_text=None):
        pass

    def on_compress(self, messages, compression_count):
        return messages

    def shutdown(self):
        pass
"""


def run(directory, target, *words, flags=("-P",), python=sys.executable, **environment):
    """The kit's own command, by an interpreter with these flags: both rules hold."""
    report = directory / "report.json"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [
            *(str(python), *flags, "-m", "memproto.cli", "judge", f"--memproto={target}"),
            *("--memproto-clause=MP-ISO-010", "--memproto-clause=MP-ISO-011"),
            *(f"--memproto-report={report}", *words),
        ],
        cwd=directory,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    (only,) = read_report(report, done)["reports"]
    found, rows = outcomes(only), {row["id"]: row for row in only["results"]}
    said = [rows[rule]["observed"] or rows[rule]["reason"] for rule in RULES]
    assert [found[rule] for rule in RULES] == ["pass", "pass"], said
    assert done.returncode == 0, done.stdout


def a_package(folder, text=ALONE):
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("", "utf-8")
    (folder / "memory.py").write_text(text, "utf-8")


def test_a_target_below_src(tmp_path):
    a_package(tmp_path / "src" / "mine")
    run(tmp_path, "mine.memory:Alone")


def test_a_target_below_the_directory_in_a_namespace_package(tmp_path):
    a_package(tmp_path / "shelf" / "deep" / "mine")
    run(tmp_path, "shelf.deep.mine.memory:Alone")


def test_a_target_of_a_path_that_the_operator_set(tmp_path):
    a_package(tmp_path / "elsewhere" / "mine")
    (tmp_path / "work").mkdir()
    run(tmp_path / "work", "mine.memory:Alone", PYTHONPATH="../elsewhere")


def test_a_target_in_a_zip_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("mine/__init__.py", "")
        archive.writestr("mine/memory.py", ALONE)
    run(tmp_path, "mine.memory:Alone", PYTHONPATH="app.zip")


def test_a_target_that_is_judged_by_an_isolated_interpreter(tmp_path):
    a_package(tmp_path / "mine")
    run(tmp_path, "mine.memory:Alone", flags=("-I",))


def test_a_target_that_gets_a_key_and_a_service(tmp_path):
    write(
        tmp_path,
        memproto__toml="""\
service = "beside:running"
[config]
api_key = "sk-live-abcdefgh-1234567890"
[env]
KEYED_API_KEY = { from_env = "OPERATORS_KEY" }
""",
        beside__py="""\
import contextlib


@contextlib.contextmanager
def running():
    yield {"config": {"greeting": "hello"}}
""",
    )
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    run(tmp_path, "tests.plain_shapes:Keyed", OPERATORS_KEY="sk-live-abcdefgh-1234567890")


# -- what lies beside it ---------------------------------------------------------------------------

#: Modules of Python's library and of the kit, of which an author may have a file of that name.
HIDING = ("secrets", "queue", "tempfile", "psutil", "sqlite3")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("installed"))


@pytest.mark.parametrize("target", ["builtin", "mine.memory:Alone"])
def test_a_checkout_does_not_hide_the_installed_kit(tmp_path, installed, target):
    (tmp_path / "memproto").mkdir()
    (tmp_path / "memproto" / "__init__.py").write_text("", "utf-8")
    a_package(tmp_path / "mine")
    run(tmp_path, target, python=installed)


@pytest.mark.parametrize("name", ["memproto", "json", "typing"])
def test_a_file_of_the_checkout_does_not_hide_the_installed_kit(tmp_path, installed, name):
    write(tmp_path, **{f"{name}__py": "raise RuntimeError('the one in the working directory')\n"})
    a_package(tmp_path / "mine")
    run(tmp_path, "mine.memory:Alone", python=installed)


@pytest.mark.parametrize("name", HIDING)
def test_a_file_beside_the_target_hides_no_module_that_was_there_before(tmp_path, name):
    write(tmp_path, **{f"{name}__py": "raise RuntimeError('the one in the working directory')\n"})
    # A module that the target imports is looked for beside it first, with the kit or without.
    text = ALONE if name != "secrets" else f"import secrets\n{ALONE}"
    a_package(tmp_path / "mine", text)
    run(tmp_path, "mine.memory:Alone")


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
def test_what_an_interpreter_imports_by_itself_comes_from_the_operators_path_alone(tmp_path, name):
    operators, work = tmp_path / "operators", tmp_path / "work"
    for folder in (operators, work):
        folder.mkdir()
    write(operators, **{f"{name}__py": "import sys\nsys.customized = True\n"})
    write(work, **{f"{name}__py": "raise RuntimeError('the one in the working directory')\n"})
    customized = '__import__("sys")' if name == "sitecustomize" else "None"
    text = ALONE.replace(
        "return True", f"return getattr({customized}, 'customized', {customized} is None)"
    )
    a_package(work / "mine", text)
    run(work, "mine.memory:Alone", PYTHONPATH=str(operators))
