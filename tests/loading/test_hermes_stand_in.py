"""A provider of Hermes Agent where hermes-agent is not installed: its modules are stood in for."""

import contextvars
import json
import sys

import pytest

from memproto import loading
from memproto.adapters.hermes_releases import NEWEST, RELEASES
from memproto.bindings import hermes_agent, hermes_stand_in
from memproto.errors import MissingPackage
from tests import places
from tests.kit_runs import kit, write

#: A provider as a vendor writes it: nothing of it loads without the host's modules.
VENDORS = """
import json
import threading
from pathlib import Path

from agent.memory_provider import MemoryProvider, RecallStatus, is_trivial_prompt
from agent.memory_provider import spawn_context_thread
from agent.secret_scope import get_secret
from hermes_cli.config import cfg_get, load_config
from hermes_constants import get_hermes_home
from tools.registry import tool_error
from utils import atomic_json_write


class Vendors(MemoryProvider):
    name = "vendors"

    def is_available(self):
        return True

    def initialize(self, session_id, *, hermes_home, **kwargs):
        self.file = Path(hermes_home, "vendors.json")

    def get_tool_schemas(self):
        return []

    def prefetch(self, query, *, session_id=""):
        return "\\n".join(self.read())

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        atomic_json_write(self.file, [*self.read(), user_content])

    def read(self):
        return json.loads(self.file.read_text("utf-8")) if self.file.exists() else []


def register(ctx):
    ctx.register_memory_provider(Vendors())
"""


@pytest.fixture
def place(tmp_path, monkeypatch, imports_are_forgotten):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(hermes_agent.RELEASE_VARIABLE, raising=False)
    yield tmp_path
    hermes_stand_in.withdraw()


def module(name):
    return __import__(name, fromlist=["anything"])


# -- loading ---------------------------------------------------------------------------------------


def test_a_provider_that_needs_the_hosts_modules_is_loaded_and_the_report_says_how(place):
    write(place, vendors__py=VENDORS)
    loading.import_ahead("vendors")
    found = loading.load("vendors")
    assert found.notes == (f"host: stand-in {NEWEST}",)
    assert isinstance(found.build().wrapped, sys.modules["agent.memory_provider"].MemoryProvider)


def test_without_the_kit_no_module_of_the_host_is_there(place):
    write(place, vendors__py=VENDORS)
    with pytest.raises(MissingPackage, match="install hermes-agent, which holds 'agent'"):
        loading.load("vendors")


@pytest.mark.parametrize("release", [name for name in RELEASES if name != NEWEST])
def test_a_name_that_an_older_release_does_not_have_is_missing_there(place, monkeypatch, release):
    monkeypatch.setenv(hermes_agent.RELEASE_VARIABLE, release)
    write(place, vendors__py="from agent.memory_provider import RecallStatus\n")
    loading.import_ahead("vendors")
    with pytest.raises(MissingPackage, match=rf"RecallStatus .* the stand-in of {release} lacks"):
        loading.load("vendors")


def test_a_module_that_no_stand_in_holds_is_told_with_the_package_that_holds_it(place):
    write(place, vendors__py="from agent.auxiliary_client import call_llm\n")
    loading.import_ahead("vendors")
    with pytest.raises(MissingPackage, match=r"'agent.auxiliary_client', which the stand-in of"):
        loading.load("vendors")


def test_modules_of_the_author_are_found_before_the_stand_ins(place):
    write(place, utils__py="mine = 1\n", agent__py="mine = 2\n")
    loading.import_ahead("vendors")
    assert (module("utils").mine, module("agent").mine) == (1, 2)
    with pytest.raises(ModuleNotFoundError):
        module("agent.memory_provider")


def test_the_base_class_has_the_hooks_of_each_release(place):
    for name, release in RELEASES.items():
        hermes_stand_in.withdraw()
        hermes_stand_in.offer(name)
        base = module("agent.memory_provider").MemoryProvider
        assert {hook for hook in vars(base) if not hook.startswith("_")} - {
            "pre_compress_checkpoint_api_version"
        } == set(release.hooks)
        assert hasattr(base, "pre_compress_checkpoint_api_version") is release.has_checkpoints


# -- behaviour -------------------------------------------------------------------------------------


def test_a_thread_carries_the_home_and_the_credentials_of_who_starts_it(place):
    hermes_stand_in.offer()
    constants, scope = module("hermes_constants"), module("agent.secret_scope")
    seen = []

    def looks():
        seen.append((str(constants.get_hermes_home()), scope.get_secret("KEY")))

    def served():
        constants.set_hermes_home_override(place / "other")
        scope.set_secret_scope({"KEY": "theirs"})
        for spawn in (module("agent.memory_provider").spawn_context_thread, bare):
            thread = spawn(looks, name="looks")
            thread.start()
            thread.join()

    contextvars.copy_context().run(served)
    assert seen == [(str(place / "other"), "theirs"), (str(place / "home"), None)]


def bare(target, *, name):
    import threading

    return threading.Thread(target=target, name=name)


def test_a_process_of_many_profiles_gives_no_credential_outside_of_them(place):
    hermes_stand_in.offer()
    scope = module("agent.secret_scope")
    scope.set_multiplex_active(True)
    with pytest.raises(scope.UnscopedSecretError, match="KEY"):
        scope.get_secret("KEY")


def test_a_section_that_is_saved_leaves_the_others(place):
    hermes_stand_in.offer()
    config = module("hermes_cli.config")
    assert config.load_config() == {}
    config.save_config({"memory": {"provider": "mine"}, "display": {"skin": "x"}})
    config.save_config({"memory": {"mine": {"k": 1}}}, merge_existing=True)
    assert config.load_config() == {
        "memory": {"provider": "mine", "mine": {"k": 1}},
        "display": {"skin": "x"},
    }
    assert config.cfg_get(config.load_config(), "memory", "mine", "k") == 1
    assert config.cfg_get(None, "memory", default=2) == 2


def test_credentials_are_kept_in_a_file_of_their_own(place, monkeypatch):
    monkeypatch.setenv("MINE_KEY", "")
    hermes_stand_in.offer()
    config = module("hermes_cli.config")
    config.save_env_value("MINE_KEY", "k=1")
    assert config.get_env_value_prefer_dotenv("MINE_KEY") == "k=1"
    assert config.get_env_path().stat().st_mode & 0o77 == 0


def test_a_json_file_is_replaced_whole_or_stays(place):
    hermes_stand_in.offer()
    utils = module("utils")
    file = place / "mine.json"
    utils.atomic_json_write(file, {"a": 1})
    with pytest.raises(TypeError):
        utils.atomic_json_write(file, {"a": object()})
    assert utils.read_json_or_empty(file) == {"a": 1}
    assert [path.name for path in place.glob(".mine*")] == []
    assert utils.read_json_or_empty(place / "none.json") == {}
    utils.atomic_json_write(file, {"a": "f\u00fcr"}, ensure_ascii=True, fsync_dir=True, mode=0o600)
    assert file.read_bytes().isascii()
    # The host writes half a surrogate pair as its code, and everything else as it is.
    utils.atomic_json_write(file, {"a": "f\u00fcr \udcff"}, sort_keys=True)
    assert utils.read_json_or_empty(file) == {"a": "f\u00fcr \udcff"}


@pytest.mark.parametrize(
    ("home", "name"), [(".hermes", "default"), (".hermes/profiles/ann", "ann"), ("x", "custom")]
)
def test_a_profile_has_the_name_of_its_home(place, monkeypatch, home, name):
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("HERMES_HOME", str(place / home))
    hermes_stand_in.offer()
    assert module("hermes_cli.profiles").get_active_profile_name() == name


@pytest.mark.parametrize(
    ("text", "is_one"), [("", True), ("/help", True), ("thanks :)", True), ("note it", False)]
)
def test_a_text_that_asks_for_no_recall_is_known(place, text, is_one):
    hermes_stand_in.offer()
    assert module("agent.memory_provider").is_trivial_prompt(text) is is_one


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.once
@pytest.mark.parametrize("release", places.half_nightly(RELEASES))
def test_a_run_without_hermes_agent_gives_a_verdict_and_names_its_host(tmp_path, release):
    code = VENDORS.replace(", RecallStatus, is_trivial_prompt", "")
    if release != NEWEST:
        code = code.replace("from agent.memory_provider import spawn_context_thread\n", "")
    if release == next(iter(RELEASES)):
        code = code.replace("from agent.secret_scope import get_secret\n", "")
    write(tmp_path, vendors__py=code)
    words = [f"--memproto-hermes={release}"] * (release != NEWEST)
    # Of each way in which a provider is loaded: by a child, by a host, by a host without the kit.
    words += [
        f"--memproto-clause=MP-{rule}" for rule in ("LOAD", "TURN-001", "PROC-001", "PROC-009")
    ]
    done = kit(tmp_path, "--memproto=vendors", "--memproto-report=r.json", *words)
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))["reports"][0]
    assert report["host"] == f"stand-in {release}", done.stdout
    outcomes = {row["id"]: row["outcome"] for row in report["results"]}
    assert outcomes["MP-TURN-001"] == outcomes["MP-PROC-001"] == "pass", done.stdout
    assert "fail" not in outcomes.values(), done.stdout


@pytest.mark.once
def test_a_checkout_with_its_plugin_in_a_directory_is_judged(tmp_path):
    folder = tmp_path / "vendors-sdk" / "integrations" / "hermes"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(VENDORS, "utf-8")
    manifest = {"name": "vendors", "version": "1.0", "description": "d", "hooks": ["sync_turn"]}
    (folder / "plugin.yaml").write_text(json.dumps(manifest), "utf-8")
    rules = ("LOAD", "PLUG", "TURN-001", "PROC-001", "PROC-009")
    words = [f"--memproto-clause=MP-{rule}" for rule in rules]
    done = kit(tmp_path, "--memproto=./vendors-sdk", "--memproto-report=r.json", *words)
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))["reports"][0]
    outcomes = {row["id"]: row["outcome"] for row in report["results"]}
    wanted = ("MP-PLUG-001", "MP-PLUG-002", "MP-TURN-001", "MP-PROC-001")
    assert {outcomes[rule] for rule in wanted} == {"pass"}, done.stdout
    assert "integrations/hermes" in done.stdout


@pytest.mark.once
def test_a_provider_that_inherits_from_nothing_has_no_identity_to_judge(tmp_path):
    words = ("--memproto-report=r.json", "--memproto-clause=MP-NAME")
    done = kit(tmp_path, "--memproto=tests.hermes_shapes:Bare", *words)
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))["reports"][0]
    outcomes = {row["id"]: row["outcome"] for row in report["results"]}
    assert outcomes["MP-NAME-004"] == "not_applicable", done.stdout


@pytest.mark.once
def test_a_release_that_the_kit_does_not_know_is_refused(tmp_path):
    done = kit(tmp_path, "--memproto=anything", "--memproto-hermes=0.14")
    assert done.returncode == 4
    assert "use one of 0.13, 0.19, 0.21" in done.stdout + done.stderr
