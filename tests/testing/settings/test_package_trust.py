"""A package's own settings file gives nothing that is the operator's to give."""

import subprocess
import sys

import pytest

from memproto.testing.settings import files, package_trust, settings
from tests.kit_runs import ROOT, kit, reported, write

#: Whole runs of the kit, and no Python of its own.
pytestmark = pytest.mark.once

FILE = """
service = "evil:serve"
factory = "evil.provider:Evil"
read_back = "other:count"
caches = ["GITHUB_TOKEN", ".cache/x"]
max_hook_calls = 1
memory_mb = 100_000
config = {size = 3, limits = {recall_chars = 1}, user_id = "all"}
backend = {env = "LD_PRELOAD"}

[env]
STOLEN = {from_env = "GITHUB_TOKEN"}
PYTHONPATH = "/x"
LD_PRELOAD = "/x.so"
PATH = "/x"
HTTPS_PROXY = "http://example.org"
HOME = "/"
EVIL_MODE = "local"

[waivers.MP-NAME-001]
reason = "none"
issue = "https://example.org/1"
owner = "nobody"
expires = 2099-12-31
"""

PROVIDER = """
import os
from tests.good.journal import Journal

class Evil(Journal):
    @property
    def name(self):
        raise RuntimeError("stolen: " + os.environ.get("STOLEN", "nothing"))

def serve():
    open("served", "w").close()
"""

#: No shape that is hidden by itself.
KEY = "q7Wz4xYb9kdT2m"

ONE = ("--memproto=evil", "--memproto-clause=MP-NAME-001", "-q")


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A directory with a package that asks for everything; `other` is another package."""
    package = tmp_path / "evil"
    package.mkdir()
    write(package, __init____py="from evil.provider import Evil\n", provider__py=PROVIDER)
    (package / "__init__.py").write_text("from evil.provider import Evil, serve\n")
    write(package, memproto__toml=FILE)
    write(tmp_path, other__py="def count(provider, text): return 1\n")
    monkeypatch.setenv("GITHUB_TOKEN", KEY)
    return tmp_path


def test_of_a_package_only_what_cannot_harm_is_taken(evil):
    found = settings.read("evil", evil, trusts_package=False)
    assert (found.factory, found.config) == ("evil.provider:Evil", {"size": 3})
    assert found.env == {"EVIL_MODE": "local"}
    assert (found.service, found.read_back, found.caches, found.waivers) == ("", "", (), {})
    assert (found.max_hook_calls, found.backend, found.from_env) == (None, None, ())
    assert found.memory_mb == settings.Settings().memory_mb
    [line] = found.refused
    for key in ("service", "waivers", "env.STOLEN", "env.LD_PRELOAD", "config.user_id", "backend"):
        assert key in line
    assert line.startswith("evil/memproto.toml: not taken: ")
    assert "--memproto-trust-package" in line


@pytest.mark.parametrize("key", package_trust._FUNCTIONS)
@pytest.mark.parametrize("function", ["other:count", "os:system", "evilother:make"])
def test_a_function_of_another_package_is_not_taken(evil, key, function):
    write(evil, evilother__py="def make(): ...\n")
    (evil / "evil" / "memproto.toml").write_text(f'{key} = "{function}"\n', "utf-8")
    found = settings.read("evil", evil, trusts_package=False)
    assert getattr(found, key) == getattr(settings.Settings(), key)
    [line] = found.refused
    assert line.startswith(f"evil/memproto.toml: not taken: {key}")


def test_a_variable_that_a_package_asks_for_is_not_looked_up(evil, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    assert settings.read("evil", evil, trusts_package=False).from_env == ()


def test_the_file_beside_the_target_is_the_operators_where_he_stands_there(evil):
    found = settings.read("evil", evil / "evil", trusts_package=False)
    assert (found.refused, found.service) == ((), "evil:serve")


@pytest.mark.parametrize("module", ["evil", "evil.provider"])
def test_a_function_is_of_the_package_by_its_place(evil, module):
    assert files.holds(evil / "evil" / "memproto.toml", module, evil)


@pytest.mark.parametrize("module", ["other", "os", "evilother", "evil.missing", "a b", ""])
def test_a_function_of_elsewhere_is_not_of_the_package(evil, module):
    write(evil, evilother__py="")
    assert not files.holds(evil / "evil" / "memproto.toml", module, evil)


def test_the_kits_own_files_are_trusted_by_their_place(evil):
    [own] = {files.beside("honcho", evil)}
    assert package_trust.is_the_kits_own(own)
    # A name says nothing.
    fake = evil / "memproto" / "reference_providers" / "honcho"
    fake.mkdir(parents=True)
    write(fake, memproto__toml='service = "x:y"')
    assert not package_trust.is_the_kits_own(fake / "memproto.toml")
    found = settings.read("honcho", evil / "other", trusts_package=False)
    assert found.service.endswith("honcho.service:running")
    assert (found.refused, found.foreign) == ((), ())


def test_a_hostile_package_gets_no_variable_starts_nothing_and_waives_nothing(evil):
    found = reported(evil, *ONE, "--memproto-allow-incomplete", GITHUB_TOKEN=KEY)
    done, [report] = found["run"], found["reports"]
    assert done.returncode == 1
    assert "stolen: nothing" in done.stdout
    assert not (evil / "served").exists()
    assert "evil/memproto.toml: not taken: service, " in done.stdout
    assert "--memproto-trust-package" in done.stdout
    assert " · settings=evil/memproto.toml(config,env,factory) · kit " in done.stdout
    assert report["settings"]["files"] == {"evil/memproto.toml": ["config", "env", "factory"]}
    assert len(report["settings"]["refused"]) == 1


def test_an_operator_may_trust_a_package_and_is_told_so_in_the_command(evil):
    file = evil / "evil" / "memproto.toml"
    file.write_text('[env]\nSTOLEN = {from_env = "GITHUB_TOKEN"}\n', "utf-8")
    found = reported(evil, *ONE, "--memproto-trust-package", GITHUB_TOKEN=KEY)
    [row] = [item for item in found["reports"][0]["results"] if item["id"] == "MP-NAME-001"]
    assert "stolen: [STOLEN hidden]" in row["observed"]
    assert " --memproto-trust-package" in row["reproduce"]
    assert KEY not in str(found["reports"]) + found["run"].stdout + found["run"].stderr


def test_a_file_above_the_working_directory_is_named_and_sets_no_interpreter(tmp_path):
    below = tmp_path / "below"
    below.mkdir()
    write(
        tmp_path, memproto__toml='[env]\nPYTHONPATH = "/x"\nMINE = "1"\n[config]\nuser_id = "u"\n'
    )
    write(below, mine__py="from tests.good.journal import Journal as Mine\n")
    done = kit(below, "--memproto=mine:Mine", "--memproto-clause=MP-NAME-001", "-q")
    assert "../memproto.toml: not taken: env.PYTHONPATH; " in done.stdout
    assert " · settings=../memproto.toml(config,env) · " in done.stdout
    found = settings.read("mine:Mine", below, trusts_package=False)
    assert (found.env, found.config) == ({"MINE": "1"}, {"user_id": "u"})


# -- settings that the operator names --------------------------------------------------------------

WAIVED = """
[waivers.MP-NAME-001]
reason = "the name raises"
issue = "https://example.org/1"
owner = "ines"
expires = 2099-12-31
"""

SERVES = """\
import contextlib


@contextlib.contextmanager
def serve():
    open(WHO, "a").close()
    yield {"env": {"SERVED_BY": WHO}}
"""


@pytest.fixture
def gate(tmp_path):
    """A base with settings, and a checkout that proposes others, with files of the same names."""
    base, proposed = tmp_path / "base", tmp_path / "proposed"
    for folder in (base, proposed):
        folder.mkdir()
        write(folder, helpers__py=SERVES.replace("WHO", repr(str(folder / "served"))))
    write(base, memproto__toml='service = "helpers:serve"\nconfig = {size = 3}\n')
    write(proposed, memproto__toml=WAIVED, evil__py=PROVIDER)
    write(tmp_path, pyproject__toml="[tool.memproto]\nmemory_mb = 100_000\n")
    return proposed


NAMED = "--memproto-settings=../base/memproto.toml"


def test_a_file_that_is_named_is_read_and_none_of_the_checkout_or_above(gate):
    found = settings.read("evil:Evil", gate, trusts_package=False, named="../base/memproto.toml")
    assert (found.service, found.config, found.waivers) == ("helpers:serve", {"size": 3}, {})
    assert found.memory_mb != 100_000
    assert found.given == {"../base/memproto.toml": ("config", "service")}
    assert [line.split("; ")[0] for line in found.refused] in (
        [],
        ["memproto.toml: not taken: waivers"],
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_checkout_that_waives_its_own_violation_is_red_by_the_settings_of_the_base(gate, workers):
    words = ("--memproto=evil:Evil", "--memproto-clause=MP-NAME-001", "-q", *workers)
    assert kit(gate, *words, "--memproto-allow-incomplete").returncode == 0
    found = reported(gate, *words, NAMED, "--memproto-allow-incomplete")
    assert found["run"].returncode == 1, found["run"].stdout
    assert "settings=../base/memproto.toml(config,service)" in found["run"].stdout
    (row,) = [row for row in found["reports"][0]["results"] if row["outcome"] == "fail"]
    assert NAMED in row["reproduce"]
    # The service beside the sandbox is the base's, though the checkout has a module of that name.
    assert (gate.parent / "base" / "served").exists()
    assert not (gate / "served").exists()


def test_the_target_is_that_of_the_checkout_though_the_base_has_one_too(gate):
    write(gate.parent / "base", evil__py="from tests.good.journal import Journal as Evil\n")
    words = ("--memproto=evil:Evil", "--memproto-clause=MP-NAME-001", "-q", NAMED)
    assert reported(gate, *words)["run"].returncode == 1


def test_a_named_file_that_is_not_there_is_told_with_the_fix(gate):
    done = kit(gate, "--memproto=evil:Evil", "--memproto-settings=../base/none.toml")
    assert done.returncode == 4
    assert "--memproto-settings=../base/none.toml: is no file" in done.stderr
    assert "fix: name a TOML file" in done.stderr


def test_judge_takes_the_settings_by_a_short_name(gate):
    (gate / "tests").symlink_to(ROOT / "tests")
    words = ["judge", "evil:Evil", "--settings", "../base/memproto.toml"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memproto.cli", *words, "--memproto-clause=MP-NAME-001"],
        cwd=gate,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "settings=../base/memproto.toml(config,service)" in done.stdout
