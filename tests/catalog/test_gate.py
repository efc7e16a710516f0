"""The checks on an entry and its plugin, under the names of `hermes plugins validate`."""

import json

import pytest

from memproto import cli
from memproto.catalog import checkouts, checks, entries
from memproto.errors import KitUsageError
from tests.catalog.plugins import PLUGIN, entry, repository
from tests.kit_runs import kit

pytestmark = pytest.mark.once


#: Packages as authors ask for them.
ASKED = [
    *("tide-sdk>=2,<3", "ebb[fast]==1.0", "flow ~= 1.4", "moon"),
    "sun>=1.0, !=1.2.*; python_version < '3.13'",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcomes(place, made, **changed):
    """Name of a check to its outcome and detail."""
    read = entries.read(str(entry(place / "tide.yaml", made, **changed)))
    found = [*checks.of_entry(read, str(made.path))]
    plugin = checkouts.plugin_of(read, str(made.path))
    found += checks.of_plugin(read, plugin)
    return {check.name: (check.outcome, check.detail) for check in found}


def failed(found):
    return {name for name, (outcome, _) in found.items() if outcome == "fail"}


def test_a_plugin_that_does_what_it_says_passes_all(place):
    found = outcomes(place, repository(place / "tide"))
    assert {outcome for outcome, _ in found.values()} == {"pass"}, found
    assert len(found) == 13


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": "Tide Log"}, "name 'Tide Log'"),
        ({"repo": "git@example.org:tide"}, "https://"),
        ({"sha": "main"}, "40 hexadecimal digits"),
        ({"tier": "gold"}, "official, community"),
    ],
)
def test_an_entry_that_no_catalog_takes_is_told(place, changed, told):
    outcome, detail = outcomes(place, repository(place / "tide"), **changed)["catalog entry"]
    assert outcome == "fail"
    assert told in detail


def test_another_commit_and_a_changed_file_are_not_what_is_pinned(place):
    made = repository(place / "tide")
    assert "pinned commit" in failed(outcomes(place, made, sha="0" * 40))
    (made.path / "integrations" / "hermes" / "__init__.py").write_text("x = 1\n", "utf-8")
    found = outcomes(place, made)
    assert "integrations/hermes/__init__.py" in found["pinned commit"][1]
    (made.path / ".git").rename(place / "elsewhere")
    assert outcomes(place, made)["pinned commit"][0] == "warn"


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        ({"version": ""}, "manifest fields"),
        ({"requires_hermes": ">=next"}, "requires_hermes"),
        ({"config_schema": {"depth": {"type": "fathoms"}}}, "config schema"),
        ({"config_schema": {"depth": {"required": "yes"}}}, "config schema"),
        ({"requires_env": ["tideKey"]}, "requires_env"),
        ({"provides_tools": ["terminal"]}, "built-in tool collisions"),
    ],
)
def test_a_manifest_that_validate_refuses_is_refused(place, manifest, name):
    assert name in failed(outcomes(place, repository(place / "tide", **manifest)))


@pytest.mark.parametrize("spec", [">=0.19", ">=0.19, <1.0", "0.21.4", "!=0.20.1"])
def test_a_range_of_versions_is_one(place, spec):
    found = outcomes(place, repository(place / "tide", requires_hermes=spec))
    assert found["requires_hermes"][0] == "pass"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('ctx.register_tool("tide_log", "memory", {}, print)', "declared tools"),
        ('ctx.register_hook("post_tool_call", print)', "declared hooks"),
        ('ctx.register_middleware("model", print)', "declared middleware"),
    ],
)
def test_a_registration_that_is_not_declared_is_found(place, line, name):
    found = outcomes(place, repository(place / "tide", code=f"{PLUGIN}    {line}\n"))
    assert failed(found) == {name, "entry capabilities"}


def test_a_plugin_that_does_not_load_is_told_with_its_error(place):
    found = outcomes(place, repository(place / "a", code="import nothing_of_the_kind\n"))
    assert found["capability probe"] == ("fail", found["capability probe"][1])
    assert "nothing_of_the_kind" in found["capability probe"][1]
    found = outcomes(
        place, repository(place / "b", code="def register(ctx): raise OSError('no')\n")
    )
    assert "OSError: no" in found["capability probe"][1]
    found = outcomes(place, repository(place / "c", code="import os\nos._exit(3)\n"))
    assert "ended with 3" in found["capability probe"][1]


def test_a_variable_that_the_entry_does_not_name_is_found(place):
    made = repository(place / "tide", requires_env=[{"name": "TIDE_KEY"}])
    assert "requires_env: TIDE_KEY" in outcomes(place, made)["entry capabilities"][1]
    named = {"requires_env": ["TIDE_KEY"], "provides_hooks": ["sync_turn"]}
    assert failed(outcomes(place, made, capabilities=named)) == set()


def test_an_entry_may_name_what_a_provider_serves_and_nothing_else(place):
    tool = '[{"name": "tide_log", "description": "d", "parameters": {"type": "object"}}]'
    code = PLUGIN.replace("return []\n\n    def prefetch", f"return {tool}\n\n    def prefetch")
    made = repository(place / "tide", code=code)
    served = {"provides_tools": ["tide_log"], "provides_hooks": ["sync_turn"]}
    assert outcomes(place, made, capabilities=served)["entry capabilities"][0] == "pass"
    more = {"provides_tools": ["tide_log", "tide_forecast"], "provides_hooks": []}
    found = outcomes(place, made, capabilities=more)["entry capabilities"]
    assert found[0] == "fail"
    assert "tide_forecast" in found[1]


def test_a_directory_outside_of_the_checkout_is_none_of_it(place):
    made = repository(place / "tide")
    (made.path / "link").symlink_to(place)
    for subdir in ("../elsewhere", "/etc", "link", "missing"):
        read = entries.read(str(entry(place / "tide.yaml", made, subdir=subdir)))
        with pytest.raises(checkouts.NotThere):
            checkouts.plugin_of(read, str(made.path))


def test_an_entry_that_cannot_be_read_is_a_wrong_request(place):
    (place / "a.yaml").write_text("name: [", "utf-8")
    (place / "b.yaml").write_text("- one\n", "utf-8")
    for name, told in (("a", "is no YAML"), ("b", "no mapping"), ("c", "cannot be read")):
        with pytest.raises(KitUsageError, match=told):
            entries.read(str(place / f"{name}.yaml"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--memproto-catalog=tide.yaml", "--memproto=./missing"], "missing is no directory"),
        (["--memproto-catalog=tide.yaml", "--memproto=a", "--memproto=b"], "several targets"),
        (["--memproto-catalog=other.yaml"], "cannot be read"),
        (["--memproto-catalog=tide.yaml", "--memproto-report=no/r.json"], "directory is missing"),
    ],
)
def test_a_request_without_one_checkout_is_refused(place, words, told):
    entry(place / "tide.yaml", repository(place / "tide"))
    done = kit(place, *words)
    assert done.returncode == 4
    assert told in done.stderr


def test_a_checkout_without_the_plugin_is_red_and_reported(place):
    made = repository(place / "tide")
    entry(place / "tide.yaml", made, subdir="plugins/hermes")
    words = ["--memproto-catalog=tide.yaml", "--memproto=tide", "--memproto-report=r.json"]
    done = kit(place, *words)
    assert done.returncode == 1, done.stderr
    assert "FAIL plugin directory" in done.stdout
    assert json.loads((place / "r.json").read_text("utf-8"))["exit_code"] == 1
    assert cli.main(["verify", "r.json"]) == 0


def test_requirements_are_names_and_versions_alone(place, capsys):
    made = repository(place / "tide", pip_dependencies=ASKED)
    file = str(entry(place / "tide.yaml", made))
    assert cli.main(["catalog", "requirements", file, "--checkout", "tide"]) == 0
    assert capsys.readouterr().out.splitlines() == ASKED
    for line in ("--index-url=http://x", "x @ http://x/x.whl", "-r other.txt", "a\n--pre"):
        manifest = made.path / "integrations" / "hermes" / "plugin.yaml"
        manifest.write_text(json.dumps({"pip_dependencies": [line]}), "utf-8")
        assert cli.main(["catalog", "requirements", file, "--checkout", "tide"]) == 4
        assert "is no requirement" in capsys.readouterr().err


def test_a_catalog_of_entries_is_a_matrix_of_those_of_memory(place, capsys):
    made = repository(place / "tide")
    entry(place / "tide.yaml", made)
    entry(place / "theme.yaml", made, category="theme")
    assert cli.main(["catalog", "entries", "tide.yaml", "theme.yaml"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["include"]
    assert (row["name"], row["repository"]) == ("tide", "someone/tide")
