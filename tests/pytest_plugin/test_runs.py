"""Runs of the kit as a user sees them: verdicts, reports, isolation from the user's project."""

import json
import sys

import jsonschema
import pytest

from memproto import spec
from memproto.report import document, html
from tests.kit_runs import kit, outcomes, reported, write

pytestmark = pytest.mark.once

BUILTIN = "--memproto=builtin"

#: A project whose own settings would break, or change, any run inside of it.
PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["checks"]
addopts = "--strict-markers --cov=mine --maxfail=1 -k nothing"
filterwarnings = ["error"]
xfail_strict = true
python_files = "*.nothing"
required_plugins = []
"""


#: Chapters enough to tell two runs apart; the verdict over all of them is asked for once.
SOME = [f"--memproto-clause=MP-{area}" for area in ("NAME", "INIT", "RECALL", "WRITE", "TOOL")]


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    return outcomes(reported(tmp_path_factory.mktemp("some"), BUILTIN, *SOME)["reports"][0])


@pytest.fixture(scope="module")
def builtin(tmp_path_factory):
    directory = tmp_path_factory.mktemp("builtin")
    found = reported(directory, BUILTIN)
    return directory, found


def test_builtin_is_conformant_with_exit_code_0(builtin):
    _, found = builtin
    report = found["reports"][0]
    assert found["run"].returncode == found["exit_code"] == 0, found["run"].stdout
    assert report["verdict"] == "CONFORMANT"
    assert "CONFORMANT" in found["run"].stdout
    assert f"{report['counts']['pass']} passed" in found["run"].stdout


def test_the_report_validates_against_its_schema(builtin):
    _, found = builtin
    plain = {key: value for key, value in found.items() if key != "run"}
    jsonschema.Draft202012Validator(spec.schema("report")).validate(plain)


def test_the_report_holds_every_requirement_once(builtin):
    _, found = builtin
    rows = [row["id"] for row in found["reports"][0]["results"]]
    assert rows == [item.id for item in spec.select([], "provider")]


def test_the_report_says_what_each_hook_was_called_and_took(builtin):
    _, found = builtin
    cost = found["reports"][0]["cost"]
    calls, longest_s, total_s = cost["hooks"]["mirror"]
    assert calls > 1
    assert longest_s < total_s <= cost["hooks_s"]
    assert "in the provider: " in found["run"].stdout


def test_the_fingerprint_is_that_of_the_reports_canonical_form(builtin):
    _, found = builtin
    report = found["reports"][0]
    assert report["fingerprint"] == document.fingerprint(report)
    assert document.fingerprint({**report, "seed": 99}) != report["fingerprint"]


def test_a_run_leaves_nothing_in_the_directory_but_what_was_asked_for(builtin):
    directory, _ = builtin
    left = {path.name for path in directory.iterdir()}
    assert left <= {"report.json", "tests"}


def test_what_failed_last_is_remembered_where_a_cache_is_there_or_asked_for(tmp_path):
    words = (BUILTIN, "--memproto-clause=MP-NAME-001")
    kit(tmp_path, *words)
    assert not (tmp_path / ".pytest_cache").exists()
    done = kit(tmp_path, *words, "--lf")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / ".pytest_cache").is_dir()


def test_two_workers_give_the_same_outcomes_as_one_process(some, tmp_path):
    found = reported(tmp_path, BUILTIN, *SOME, "-n", "2")
    assert outcomes(found["reports"][0]) == some
    assert found["exit_code"] == 0


def test_the_same_seed_draws_the_same_and_is_reported(tmp_path):
    found = reported(tmp_path, BUILTIN, "--memproto-seed=7", "--memproto-clause=MP-TURN")
    assert found["reports"][0]["seed"] == 7


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_a_projects_own_settings_do_not_reach_the_suite(tmp_path, some, words):
    write(tmp_path, pyproject__toml=PYPROJECT, conftest__py="raise RuntimeError('mine')")
    (tmp_path / "checks").mkdir()
    mine = {"PYTHONWARNINGS": "error", "PYTEST_ADDOPTS": "--no-such-option"}
    found = reported(tmp_path, BUILTIN, *SOME, *words, **mine)
    assert outcomes(found["reports"][0]) == some
    assert found["run"].returncode == 0
    assert "mine" not in found["run"].stdout.replace("MP-", "")


def test_a_narrowed_run_exits_0_and_says_that_it_is_selected(tmp_path):
    found = reported(tmp_path, BUILTIN, "--memproto-clause=MP-NAME")
    report = found["reports"][0]
    assert found["run"].returncode == 0
    assert report["verdict"] == "INCOMPLETE"
    assert report["selected"] is True
    assert report["counts"]["not_run"] == len(report["results"]) - len(
        spec.select(["MP-NAME"], "provider")
    )


@pytest.mark.parametrize(
    "words", [["-k", "MP-NAME-002"], [*SOME, "--deselect", "builtin/40-recall"]]
)
def test_pytests_own_selection_counts_as_narrowed(tmp_path, words):
    found = reported(tmp_path, BUILTIN, *words)
    assert found["reports"][0]["selected"] is True
    assert found["reports"][0]["verdict"] == "INCOMPLETE"


def test_a_selection_that_leaves_nothing_is_not_green(tmp_path):
    found = reported(tmp_path, BUILTIN, "-k", "nothing_has_this_name")
    assert found["run"].returncode == 6
    assert found["reports"][0]["verdict"] == "INCOMPLETE"


def test_a_red_requirement_gives_seven_lines_and_a_command_that_reproduces_it(tmp_path):
    target = "tests.broken.provider.identity:NameWithASpace"
    done = kit(tmp_path, f"--memproto={target}", "--memproto-clause=MP-NAME")
    assert done.returncode == 1
    for label in ("rule", "expected", "observed", "where", "reproduce", "fix", "clause"):
        assert f"  {label} " in done.stdout
    line = next(line for line in done.stdout.splitlines() if "reproduce" in line)
    again = kit(tmp_path, *line.split()[2:])
    assert again.returncode == 1
    assert "MP-NAME-002" in again.stdout


def test_several_targets_keep_their_own_verdicts(tmp_path):
    broken = "--memproto=tests.broken.provider.identity:NameWithASpace"
    found = reported(tmp_path, BUILTIN, broken, "--memproto-clause=MP-NAME")
    verdicts = [report["verdict"] for report in found["reports"]]
    assert verdicts == ["INCOMPLETE", "NON-CONFORMANT"]
    first, second = map(outcomes, found["reports"])
    names = [item.id for item in spec.select(["MP-NAME"], "provider")]
    # One rule is about a hook that Hermes providers alone may have.
    assert {first[name] for name in names} == {"pass", "not_applicable"}
    assert "fail" in {second[name] for name in names}
    assert found["exit_code"] == 1


def test_settings_reach_the_provider_and_values_of_variables_stay_out_of_the_report(tmp_path):
    write(
        tmp_path,
        memproto__toml='factory = "mine:make"\n[env]\nMY_KEY = {from_env = "SECRET_KEY"}\n',
        mine__py="import os\nfrom tests.good.journal import Journal\n"
        "class Keyed(Journal):\n"
        "    def is_available(self): return os.environ.get('MY_KEY') == 'sesame'\n"
        "def make(): return Keyed()\n",
    )
    found = reported(tmp_path, "--memproto=mine", *SOME, SECRET_KEY="sesame")
    assert outcomes(found["reports"][0])["MP-WRITE-001"] == "pass", found["run"].stdout
    assert "sesame" not in (tmp_path / "report.json").read_text()


def test_an_unavailable_provider_is_incomplete_and_names_what_it_needs(tmp_path):
    write(
        tmp_path,
        mine__py="from tests.good.journal import Journal\n"
        "class Mine(Journal):\n    def is_available(self): return False\n",
    )
    found = reported(tmp_path, "--memproto=mine")
    assert found["run"].returncode == 6
    assert "needs: the setting `env`, or a `factory`" in found["run"].stdout
    allowed = kit(tmp_path, "--memproto=mine", "--memproto-allow-incomplete")
    assert allowed.returncode == 0


def test_the_idle_plugin_imports_nothing_of_the_kit(tmp_path):
    write(
        tmp_path,
        test_mine__py="import sys\n"
        "def test_mine():\n"
        "    kit = [name for name in sys.modules if name.startswith('memproto')]\n"
        "    assert sorted(kit) == ['memproto', 'memproto.pytest_plugin'], kit\n"
        "    assert 'hypothesis' not in sys.modules\n",
    )
    done = kit(
        tmp_path,
        "-p",
        "memproto.pytest_plugin",
        "-q",
        "test_mine.py",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert done.returncode == 0, done.stdout


def test_the_kit_says_what_to_install_when_its_packages_are_missing(tmp_path):
    code = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'psutil' else real(name, *a)\n"
        "import pytest\n"
        "sys.exit(pytest.main(['--memproto=builtin']))\n"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "memproto[kit]" in done.stderr


def test_a_report_that_cannot_be_written_is_said_before_anything_runs(tmp_path):
    write(tmp_path, file="")
    done = kit(tmp_path, BUILTIN, "--memproto-clause=MP-NAME", "--memproto-report=file/r.json")
    assert done.returncode == 4
    assert "--memproto-report=file/r.json: cannot be written" in done.stdout + done.stderr


@pytest.mark.parametrize("option", ["--memproto-report", "--memproto-html", "--memproto-sarif"])
def test_a_folder_that_is_not_there_is_said_before_anything_runs(tmp_path, option):
    done = kit(tmp_path, BUILTIN, "--memproto-clause=MP-NAME", f"{option}=my reports/r.x")
    assert done.returncode == 4
    said = f"{option}=my reports/r.x: the folder my reports is not there"
    assert f"{said}\n  fix: mkdir -p 'my reports'\n" in done.stdout + done.stderr
    assert not (tmp_path / "my reports").exists()


def test_the_page_of_a_run_is_that_of_its_document(tmp_path):
    files = ("--memproto-report=new/folder/r.json", "--memproto-html=other/r.html")
    for folder in ("new/folder", "other"):
        (tmp_path / folder).mkdir(parents=True)
    kit(tmp_path, BUILTIN, "--memproto-clause=MP-NAME", *files)
    found = json.loads((tmp_path / "new/folder/r.json").read_text("utf-8"))
    assert (tmp_path / "other/r.html").read_text("utf-8") == html.render(found, is_own=True)
    (report,) = found["reports"]
    assert report["operations"]["name"]["calls"] > 0
    assert (found["format"], report["operations"]["name"]["budget_s"]) == (1, 5.0)


def test_one_fault_that_many_checks_meet_is_one_red_item(tmp_path):
    write(
        tmp_path,
        odd__py="from tests.good.journal import Journal\n\n\n"
        "class Odd(Journal):\n"
        "    def on_turn_complete(self, user_message, assistant_response):\n"
        "        raise KeyError(user_message[:1])\n",
    )
    words = ["--memproto=odd:Odd", "--memproto-clause=MP-TURN", "--memproto-clause=MP-SHUT-00"]
    found = reported(tmp_path, *words)
    assert found["reports"][0]["counts"]["fail"] == 1
    assert "1 failed" in found["run"].stdout.splitlines()[-1]
    assert found["run"].stdout.count("\nMP-TURN-002 (MUST) is violated") == 1


def test_what_only_the_check_of_another_rule_meets_turns_the_rules_own_item_red(tmp_path):
    write(
        tmp_path,
        odd__py="from tests.good.journal import Journal\n\n\n"
        "class Odd(Journal):\n"
        "    def initialize(self, session_key, config):\n"
        "        self.narrow = config['limits']['recall_chars'] < 100_000\n"
        "        super().initialize(session_key, config)\n"
        "    def shutdown(self):\n"
        "        super().shutdown()\n"
        "        if self.narrow: raise KeyError('narrow')\n",
    )
    words = ["--memproto-clause=MP-RECALL-007", "--memproto-clause=MP-SHUT-001"]
    found = reported(tmp_path, "--memproto=odd:Odd", *words)
    rows = outcomes(found["reports"][0])
    assert (rows["MP-RECALL-007"], rows["MP-SHUT-001"]) == ("untestable", "fail")
    assert "1 failed" in found["run"].stdout.splitlines()[-1]
    assert found["run"].stdout.count("\nMP-SHUT-001 (MUST) is violated") == 1


def test_a_plugin_of_hooks_alone_is_judged_to_a_whole_verdict(tmp_path):
    (report,) = reported(tmp_path, "--memproto=tests.hooks_plugin", "-q")["reports"]
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "native")
    warned = {name for name, outcome in outcomes(report).items() if outcome == "warn"}
    # It stores a block that a host left in a turn, and hooks tell it no context of an agent.
    assert warned == {"MP-TEXT-004", "MP-CTX-003"}
