"""From TARGET to a provider: plugin directories, contexts, distributions, submodules, faults."""

import importlib.metadata
import sys

import pytest

from memproto import loading
from memproto.adapters.hermes import HOST_CALLS
from memproto.bindings import hermes_agent as host
from memproto.bindings.hermes_agent import RELEASE_VARIABLE
from memproto.errors import (
    MissingPackage,
    NoProvider,
    NoSuchTarget,
    SeveralProviders,
    TargetDoesNotImport,
)
from memproto.loading.context import PluginContext
from memproto.loading.modules import is_registering

PROVIDER = """
class {name}:
    name = "{name}"
    def initialize(self, session_id, **kwargs): ...
    def is_available(self): return True
    def get_tool_schemas(self): return []
    def prefetch(self, query, *, session_id=""): return ""
    def sync_turn(self, user, assistant, *, session_id=""): ...
"""


def written(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.fixture
def place(tmp_path, monkeypatch, imports_are_forgotten):
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def installed(root, name, *, modules, entry_points=""):
    info = root / f"{name.replace('-', '_')}-1.0.dist-info"
    record = "".join(f"{module},,\n" for module in modules)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files = {"METADATA": metadata, "RECORD": record, "entry_points.txt": entry_points}
    written(info, files)
    # Of an instance: on Python 3.11 it is no method of the class.
    importlib.metadata.MetadataPathFinder().invalidate_caches()


def install_host(root):
    base = "class MemoryProvider: ...\n"
    written(root, {"agent/__init__.py": "", "agent/memory_provider.py": base})
    installed(root, "hermes-agent", modules=["agent/__init__.py"])


# -- plugin directories ----------------------------------------------------------------------------


def test_a_plugin_directory_is_a_submodule_of_the_package_that_a_host_makes(place):
    code = "from .store import KEPT\n" + PROVIDER.format(name="Dashed")
    written(place, {"my-plugin/__init__.py": code, "my-plugin/store.py": "KEPT = __name__\n"})
    written(place, {"my-plugin/plugin.yaml": "name: dashed\n"})
    found = loading.load(str(place / "my-plugin"))
    assert found.raw.__module__ == "_hermes_user_memory.my-plugin"
    assert sys.modules["_hermes_user_memory.my-plugin"].KEPT.endswith("my-plugin.store")
    assert "_hermes_user_memory" in sys.modules


def test_the_one_plugin_of_a_checkout_is_found_below_it(place):
    code = PROVIDER.format(name="Inner") + "# a MemoryProvider\n"
    files = {"shop/integrations/hermes/__init__.py": code}
    files |= {"shop/integrations/hermes/plugin.yaml": "name: inner\n", "shop/README.md": "Shop\n"}
    written(place, {**files, "shop/sdk/__init__.py": "", "shop/tests/p/__init__.py": code})
    written(place, {"shop/tests/p/plugin.yaml": "name: tests\n"})
    found = loading.load(str(place / "shop"))
    assert found.origin == str(place / "shop/integrations/hermes")
    assert found.raw.__module__ == "_hermes_user_memory.hermes"


def test_a_checkout_of_a_plugin_without_a_memory_beside_one_with_it_has_one(place):
    code = PROVIDER.format(name="Inner") + "# a MemoryProvider\n"
    written(place, {"shop/memory/__init__.py": code, "shop/memory/plugin.yaml": "name: a\n"})
    written(place, {"shop/page/__init__.py": "", "shop/page/plugin.yaml": "name: b\n"})
    assert loading.load(str(place / "shop")).origin == str(place / "shop/memory")


def test_a_checkout_of_several_memory_plugins_names_them(place):
    code = PROVIDER.format(name="Inner") + "# a MemoryProvider\n"
    for name in ("one", "two"):
        written(place, {f"shop/{name}/__init__.py": code})
        written(place, {f"shop/{name}/plugin.yaml": f"name: {name}\n"})
    with pytest.raises(SeveralProviders, match=r"holds 2 memory plugins: one, two"):
        loading.load(str(place / "shop"))


def test_a_directory_without_a_plugin_says_what_it_lacks(place):
    written(place, {"shop/src/thing.py": "x = 1\n"})
    with pytest.raises(NoSuchTarget, match=r"without __init__.py, and holds no plugin.yaml"):
        loading.load(str(place / "shop"))


def test_a_module_of_a_plugin_that_needs_its_init_fails_as_it_does_on_the_host(place):
    code = "from .store import Store\nLIMIT = 3\n" + PROVIDER.format(name="Circular")
    store = "from . import LIMIT\nclass Store: ...\n"
    written(place, {"circular/__init__.py": code, "circular/store.py": store})
    written(place, {"circular/plugin.yaml": "name: circular\n"})
    with pytest.raises(TargetDoesNotImport, match="cannot import name 'Store'"):
        loading.load(str(place / "circular"))


def test_a_directory_that_is_no_plugin_runs_only_what_it_imports(place):
    init = "from tests.good.journal import Journal as Base\nclass Mine(Base): ...\n"
    written(place, {"plain/__init__.py": init, "plain/__main__.py": "raise SystemExit(3)\n"})
    assert loading.load(str(place / "plain")).binding.name == "native"


# -- register(ctx) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["0.19", "0.21"])
def test_a_context_takes_whatever_a_plugin_asks_for_and_says_what_no_host_has(
    place, monkeypatch, release
):
    monkeypatch.setenv(RELEASE_VARIABLE, release)
    code = PROVIDER.format(name="Asking") + (
        "def register(ctx):\n"
        "    ctx.register_hook('on_session_end', print)\n"
        "    ctx.register_command('note', print, description='x')\n"
        "    ctx.telemetry.span('x')\n"
        "    assert ctx.manifest.key and ctx.config.get('x', 1) == 1 and ctx.hermes_home\n"
        "    ctx.register_memory_provider(Asking())\n"
    )
    written(place, {"asking.py": code})
    found = loading.load("asking")
    told = " ".join(found.notes)
    assert "ctx.telemetry, which no known host has" in told
    # A loader of memory plugins hands on other registrations from 0.21 on.
    assert ("ctx.register_command, not for memory plugins" in told) == (release == "0.19")
    assert found.raw.context.hooks == ["on_session_end"]


def test_a_context_without_a_session_answers_as_a_host_without_one():
    context = PluginContext("mine")
    assert context.inject_message("x") is False
    assert "unknown tool" in context.dispatch_tool("mine", {})
    assert not hasattr(context, "__wrapped__")


def test_where_register_gives_no_provider_the_only_class_is_built(place):
    code = PROVIDER.format(name="Only") + "def register(ctx):\n    ctx.register_tool('x')\n"
    written(place, {"only_class.py": code})
    assert loading.load("only_class").build().wrapped.name == "Only"


def test_a_registered_object_is_built_anew_from_its_class(place):
    code = PROVIDER.format(name="One") + (
        "ONE = One()\ndef register(ctx):\n    ctx.register_memory_provider(ONE)\n"
    )
    written(place, {"one_object.py": code})
    found = loading.load("one_object")
    assert found.build().wrapped is not found.build().wrapped


def test_a_function_of_another_name_registers_where_it_takes_a_context():
    assert is_registering(lambda ctx: None)
    assert not is_registering(lambda: None)
    assert not is_registering(lambda path: None)


# -- names -----------------------------------------------------------------------------------------


def test_a_dashed_name_is_that_of_a_distribution_and_its_likeliest_module(place):
    written(place, {"my_memory/__init__.py": PROVIDER.format(name="Mine"), "aaa.py": ""})
    installed(place, "my-memory", modules=["aaa.py", "my_memory/__init__.py"])
    found = loading.load("my-memory")
    assert found.origin == "distribution my-memory, module my_memory"


def test_the_entry_point_of_a_distribution_comes_before_its_modules(place):
    written(place, {"inner_part.py": PROVIDER.format(name="Inner"), "outer_part.py": ""})
    groups = "[hermes_agent.memory_providers]\ninner = inner_part:Inner\n"
    installed(place, "outer-part", modules=["outer_part.py"], entry_points=groups)
    assert loading.load("outer-part").origin.endswith("entry point inner_part:Inner")


def test_what_a_distribution_was_searched_for_is_said(place):
    written(place, {"empty_part/__init__.py": "", "empty_part/tools.py": ""})
    installed(place, "empty-part", modules=["empty_part/__init__.py"])
    with pytest.raises(NoProvider) as caught:
        loading.load("empty-part")
    told = str(caught.value)
    assert "no entry point in memproto.providers" in told
    assert "empty_part defines no provider (its modules: tools)" in told


def test_a_name_that_nothing_has_is_said_to_be_none(place):
    with pytest.raises(NoSuchTarget, match="a distribution or an entry point"):
        loading.load("no-such-thing")


# -- submodules ------------------------------------------------------------------------------------


def test_a_provider_in_a_submodule_is_found_and_its_neighbours_are_not_imported(place):
    code = PROVIDER.format(name="Deep")
    written(place, {"deep/__init__.py": "", "deep/hermes/__init__.py": "", "deep/cli.py": "1 / 0"})
    written(place, {"deep/hermes/provider.py": code})
    assert loading.load("deep").raw.__module__ == "deep.hermes.provider"


def test_two_providers_in_submodules_are_named_with_their_modules(place):
    files = {f"pair/{name}.py": PROVIDER.format(name=name.title()) for name in ("one", "two")}
    written(place, {"pair/__init__.py": "", **files})
    with pytest.raises(SeveralProviders, match=r"pair\.one:One, pair\.two:Two"):
        loading.load("pair")


def test_a_stand_in_for_the_base_class_is_not_taken_for_a_provider(place):
    base = PROVIDER.format(name="MemoryProvider")
    written(place, {"standing.py": f"{base}\nclass Real(MemoryProvider):\n    name = 'real'\n"})
    assert loading.load("standing").raw.__name__ == "Real"


# -- what is missing -------------------------------------------------------------------------------


def test_one_that_asks_for_a_variable_is_told_of_the_setting_that_gives_it(place):
    written(place, {"keyed.py": 'raise ValueError("HARBOUR_URL is required")\n'})
    with pytest.raises(TargetDoesNotImport, match="HARBOUR_URL") as caught:
        loading.load("keyed")
    assert "`env`" in caught.value.fix


def test_a_missing_package_that_an_author_raises_anew_is_still_a_missing_package(place):
    code = (
        "try:\n    import no_such_client\nexcept ImportError as error:\n"
        "    raise ImportError('pip install no-such-client') from error\n"
    )
    written(place, {"wanting.py": code})
    with pytest.raises(MissingPackage, match="no_such_client"):
        loading.load("wanting")


def test_a_plugin_without_a_provider_gives_way_to_the_next_entry_point_of_its_name(place):
    plugin = "def register(ctx):\n    ctx.register_tool('a', 'b', {}, print)\n"
    written(place, {"split/plugin.py": plugin, "split/__init__.py": ""})
    written(place, {"split/memory.py": PROVIDER.format(name="Apart")})
    groups = "[hermes_agent.plugins]\nsplit-one = split.plugin\n"
    groups += "[hermes.memory_providers]\nsplit-one = split.memory:Apart\n"
    installed(place, "split-one", modules=["split/__init__.py"], entry_points=groups)
    assert loading.load("split-one").raw.__name__ == "Apart"


def test_a_missing_host_is_called_by_the_name_under_which_it_is_installed(place):
    written(place, {"hosted.py": "from hermes_constants import get_hermes_home\n"})
    with pytest.raises(MissingPackage, match="install hermes-agent, which holds"):
        loading.load("hosted")


def test_a_name_that_only_a_newer_host_has_is_told_with_the_host_that_lacks_it(place):
    install_host(place)
    written(place, {"newer.py": "from agent.memory_provider import RecallStatus\n"})
    with pytest.raises(MissingPackage, match=r"needs RecallStatus .* hermes-agent 1\.0 lacks"):
        loading.load("newer")


def test_a_stand_in_where_the_host_is_installed_is_reported(place):
    install_host(place)
    base = PROVIDER.format(name="MemoryProvider")
    written(place, {"skewed.py": f"{base}\nclass Real(MemoryProvider):\n    name = 'real'\n"})
    loading.import_ahead("skewed")
    standing, skew = loading.load("skewed").notes
    assert standing == "its base class is skewed.MemoryProvider, not that of hermes-agent 1.0"
    assert skew.startswith("hermes-agent 1.0 does not call ")


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        ("recall_status", "hermes-agent 0.17.0 does not call recall_status, which it has"),
        ("prefetch", "hermes-agent 0.19 calls backup_paths too, which it lacks"),
    ],
)
def test_hooks_that_another_release_of_the_host_calls_are_named(monkeypatch, hook, told):
    hooks = [hook for hook in HOST_CALLS if hook != "backup_paths"]
    base = type("MemoryProvider", (), dict.fromkeys(hooks, lambda self: None))
    provider = type("Mine", (base,), {hook: lambda self: None})()
    monkeypatch.setattr(host, "version", lambda: "0.17.0")
    monkeypatch.setattr(host, "base_class", lambda: base)
    assert told in host.notes(provider)


def test_the_host_makes_what_it_keeps_in_a_home_before_a_provider_is_watched(place, monkeypatch):
    install_host(place)
    code = "import os, pathlib\ndef ensure_hermes_home():\n"
    code += "    pathlib.Path(os.environ['HERMES_HOME'], 'SOUL.md').touch()\n"
    written(place, {"hermes_cli/__init__.py": "", "hermes_cli/config.py": code})
    monkeypatch.setenv("HERMES_HOME", str(place))
    loading.import_ahead("mine")
    assert (place / "SOUL.md").exists()


def test_a_provider_of_the_same_release_as_the_host_is_not_remarked_on(monkeypatch):
    base = type("MemoryProvider", (), dict.fromkeys(HOST_CALLS, lambda self: None))
    monkeypatch.setattr(host, "version", lambda: "0.19.0")
    monkeypatch.setattr(host, "base_class", lambda: base)
    assert host.notes(type("Mine", (base,), {})()) == ()


def test_a_bundled_provider_is_found_by_the_hosts_own_loader(place):
    loader = "def load_memory_provider(name):\n    return None\n"
    files = {"plugins/__init__.py": "", "plugins/memory/__init__.py": loader}
    files["plugins/memory/mine/__init__.py"] = "import no_such_client\n"
    written(place, files)
    with pytest.raises(MissingPackage, match="no_such_client"):
        loading.load("hermes:mine")
    with pytest.raises(NoSuchTarget, match="name one of: mine"):
        loading.load("hermes:other")


def test_nothing_is_imported_ahead_where_there_is_no_host(place):
    before = set(sys.modules)
    loading.import_ahead("hermes:anything")
    assert not {"agent", "plugins"} & (set(sys.modules) - before)
