"""hermes-agent beside what the kit knows of it: read from files, compared, told by a command."""

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from memproto import cli
from memproto.adapters.hermes_releases import NEWEST, RELEASES, nearest
from memproto.bindings import hermes_stand_in
from memproto.catalog import interface
from memproto.errors import KitUsageError
from tests.kit_runs import ROOT

KNOWN = interface.known()

BASE = '''
"""The base class."""
from abc import ABC, abstractmethod
import logging
logger = logging.getLogger(__name__)
GLYPH = "x"
_PRIVATE = 1
def helper(text): ...
class MemoryProvider(ABC):
    version: int = 1
    @property
    @abstractmethod
    def name(self): ...
    def prefetch(self, query, *, session_id=""): ...
    def sync_turn(self, user, assistant, *, session_id="", messages=None, **kwargs): ...
    def _own(self): ...
'''
MANAGER = """
_SYNC_DRAIN_TIMEOUT_S = 5.0
_OTHER = 1
class MemoryManager:
    def prefetch_all(self, query, *, session_id=""):
        for provider in self._providers:
            provider.prefetch(query, session_id=session_id)
            self.prefetch(query)
            executor.prefetch(query)
    def sync_all(self, user, assistant):
        self._each(lambda p: p.sync_turn(user, assistant, **self._more()))
    def _more(self): ...
"""
LOADER = """
ENTRY_POINTS_GROUP = "hermes_agent.memory_providers"
def load_memory_provider(name): ...
def _own(): ...
class _ProviderCollector:
    def register_memory_provider(self, provider): ...
    def __getattr__(self, name): ...
    def collect(self): ...
"""


@pytest.fixture
def release(tmp_path):
    """A directory with a small hermes-agent 0.21.7 in it."""
    return written(tmp_path / "host", base=BASE, manager=MANAGER, loader=LOADER)


def written(folder, **parts):
    for part, text in parts.items():
        file = folder / interface.FILES[part]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    (folder / "pyproject.toml").write_text('[project]\nversion = "0.21.7"\n', "utf-8")
    return folder


# -- what is read ----------------------------------------------------------------------------------


def test_the_files_show_hooks_calls_bounds_and_what_a_plugin_is_offered(release):
    found = interface.read(release)
    assert found == interface.Interface(
        hooks={
            "name": "",
            "prefetch": "query, *, session_id=",
            "sync_turn": "user, assistant, *, session_id=, messages=, **kwargs",
            "version": "",
        },
        abstract=("name",),
        names=("GLYPH", "MemoryProvider", "helper"),
        manager={"prefetch_all": "query, *, session_id=", "sync_all": "user, assistant"},
        calls={"prefetch": ("_, session_id=",), "sync_turn": ("_, _, **",)},
        bounds={"SYNC_DRAIN_TIMEOUT_S": 5.0},
        loader=("ctx.__getattr__", "ctx.register_memory_provider", "load_memory_provider"),
        groups=("hermes_agent.memory_providers",),
    )
    assert interface.Interface.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_the_files_are_read_and_not_run(release):
    base = release / interface.FILES["base"]
    base.write_text(f"raise SystemExit\n{BASE}", "utf-8")
    assert "prefetch" in interface.read(release).hooks


@pytest.mark.parametrize(
    ("part", "text", "told"),
    [
        ("manager", None, "is not there"),
        ("loader", "def broken(:", "is unreadable"),
        ("base", "class Provider: ...", "has no class MemoryProvider"),
    ],
)
def test_files_that_hold_no_interface_are_told_with_their_place(release, part, text, told):
    path = release / interface.FILES[part]
    if text is None:
        path.unlink()
    else:
        path.write_text(text, "utf-8")
    with pytest.raises(KitUsageError, match=told) as caught:
        interface.read(release)
    assert str(path) in str(caught.value)


# -- what differs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "before", "after", "line"),
    [
        ("base", "def _own(self)", "def on_idle(self)", "the base class: on_idle is new"),
        (
            "base",
            'query, *, session_id="")',
            'query, *, session_id="", budget_chars=0)',
            "the base class: prefetch(query, *, session_id=) is now prefetch(query",
        ),
        ("base", "def helper", "def _helper", "agent.memory_provider: helper is gone"),
        (
            "manager",
            "provider.prefetch(query, ",
            "provider.prefetch(query, now=1, ",
            "the manager's calls: prefetch(_, session_id=) is now prefetch(_, now=, session_id=)",
        ),
        (
            "manager",
            "= 5.0",
            "= 3",
            "the manager's bounds in seconds: SYNC_DRAIN_TIMEOUT_S(5.0) is now SYNC_DRAIN",
        ),
        (
            "manager",
            "assistant):",
            "assistant, tags):",
            "the manager: sync_all(user, assistant) is",
        ),
        ("loader", "__getattr__", "register_skill", "the loader: ctx.__getattr__ is gone"),
        ("loader", "hermes_agent.m", "hermes.m", "the entry-point groups: hermes_agent.memory"),
    ],
)
def test_what_another_release_changed_is_one_line(release, part, before, after, line):
    known = interface.read(release)
    path = release / interface.FILES[part]
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")
    lines = interface.differences(known, interface.read(release))
    assert [one for one in lines if one.startswith(line)] != [], lines
    assert len(lines) <= 2
    assert interface.differences(known, known) == []


# -- what the kit knows ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", RELEASES)
def test_the_releases_of_the_adapters_have_what_is_known_of_them(name):
    made, known = RELEASES[name], KNOWN[name]
    checkpoint = {"pre_compress_checkpoint_api_version"}
    assert set(made.hooks) == set(known.hooks) - checkpoint
    assert made.has_checkpoints == (checkpoint <= set(known.hooks))
    recorded = known.hooks["sync_turn"]
    assert made.hands_messages == ("messages=" in recorded)
    assert made.names_authors == ("turn_author=" in recorded)
    assert made.mirrors_removals == ("notify_memory_tool_write" in known.manager)
    assert made.forwards_registrations == ("ctx.__getattr__" in known.loader)


def test_what_is_only_proposed_for_the_host_is_no_hook_of_a_release():
    assert not any("initialize_for_inspection" in made.hooks for made in RELEASES.values())
    assert not any("initialize_for_inspection" in known.hooks for known in KNOWN.values())


@pytest.fixture
def stand_in(imports_are_forgotten):
    """A function that imports the stand-in of a release."""

    def imported(name):
        hermes_stand_in.withdraw()
        hermes_stand_in.offer(name)
        return importlib.import_module("agent.memory_provider")

    yield imported
    hermes_stand_in.withdraw()


def parameters(member):
    """As `Interface.hooks` has them."""
    if not inspect.isfunction(member):
        return ""
    told, is_marked = [], False
    for each in list(inspect.signature(member).parameters.values())[1:]:
        if each.kind is each.KEYWORD_ONLY and not is_marked:
            is_marked = bool(told.append("*") or True)
        sign = {each.VAR_KEYWORD: "**", each.VAR_POSITIONAL: "*"}.get(each.kind, "")
        told.append(f"{sign}{each.name}{'' if each.default is each.empty else '='}")
    return ", ".join(told)


@pytest.mark.parametrize("name", RELEASES)
def test_the_stand_in_of_a_release_has_its_interface(stand_in, name):
    module, known = stand_in(name), KNOWN[name]
    base = module.MemoryProvider
    members = {hook: getattr(base, hook) for hook in dir(base) if not hook.startswith("_")}
    found = {hook: parameters(member) for hook, member in members.items()}
    assert found == known.hooks
    assert base.__abstractmethods__ == set(known.abstract)
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", module.__name__) == module.__name__
    }
    assert own <= set(known.names), own - set(known.names)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        *(("0.12.9", "0.13"), ("0.13.0", "0.13"), ("0.17.0", "0.13"), ("0.18.0", "0.19")),
        *(("0.19.0", "0.19"), ("0.20.2", "0.19"), ("0.21.0", "0.21"), ("0.22.1", "0.21")),
        ("1.0", "0.21"),
    ],
)
def test_an_installed_version_gets_the_calls_of_the_release_that_makes_them(version, name):
    assert nearest(version) == name


# -- the command -----------------------------------------------------------------------------------


def test_the_command_tells_each_difference_and_ends_with_1(release, capsys):
    assert cli.main(["catalog", "interface", str(release)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"hermes-agent 0.21.7 differs from what the kit knows as {NEWEST}:"
    assert "- the base class: on_turn_start(turn_number, message, **kwargs) is gone" in told


def test_the_command_ends_with_0_where_nothing_differs(release, capsys, monkeypatch):
    monkeypatch.setattr(interface, "known", lambda: {NEWEST: interface.read(release)})
    assert cli.main(["catalog", "interface", str(release)]) == 0
    assert capsys.readouterr().out == (
        f"hermes-agent 0.21.7 has the interface that the kit knows as {NEWEST}\n"
    )


def test_the_row_of_a_release_is_printed_for_the_table(release, capsys):
    assert cli.main(["catalog", "interface", str(release), "--row"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert interface.Interface.from_dict(row) == interface.read(release)


def test_the_version_is_that_of_an_unpacked_wheel_too(release):
    (release / "pyproject.toml").unlink()
    assert interface.version(release) == ""
    info = release / "hermes_agent-0.20.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hermes-agent\nVersion: 0.20.1\n")
    assert interface.version(release) == "0.20.1"


# -- the workflow ----------------------------------------------------------------------------------


@pytest.mark.once
@pytest.mark.parametrize("text", [MANAGER, "class Nothing: ..."])
def test_the_step_of_the_workflow_writes_a_report_of_both_places(tmp_path, text):
    workflow = yaml.safe_load((ROOT / ".github/workflows/canary.yml").read_text("utf-8"))
    (step,) = [one for one in workflow["jobs"]["compare"]["steps"] if one.get("id") == "compare"]
    for place in ("index", "repository"):
        written(tmp_path / place, base=BASE, manager=text, loader=LOADER)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text("utf-8") == "differs=true\n"
    report = (tmp_path / "report.md").read_text("utf-8")
    told = "has no class MemoryManager" if text != MANAGER else "on_delegation"
    assert report.count(told) >= 2
    assert (tmp_path / "summary.md").read_text("utf-8") == report
