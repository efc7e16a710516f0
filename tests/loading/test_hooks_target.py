"""A plugin of hooks alone, as a target of the kit."""

import pytest

from memproto.adapters.hooks import HooksAdapter
from memproto.bindings import NATIVE
from memproto.errors import NoProvider
from memproto.loading import load
from memproto.provider import MemoryProvider


def test_a_module_that_registers_hooks_of_a_turn_is_a_native_provider_named_for_it():
    loaded = load("tests.hooks_plugin")
    first, second = loaded.build(), loaded.build()
    assert loaded.binding is NATIVE
    assert isinstance(first, HooksAdapter)
    assert isinstance(first, MemoryProvider)
    assert first.name == "hooks-plugin"
    assert first is not second


def test_a_plugin_in_a_directory_is_named_for_its_directory(tmp_path, monkeypatch):
    folder = tmp_path / "My_Notes2"
    folder.mkdir()
    source = "def register(ctx):\n    ctx.register_hook('pre_llm_call', lambda **_: None)\n"
    folder.joinpath("__init__.py").write_text(source, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert load("./My_Notes2").build().name.endswith("my-notes2")


@pytest.mark.parametrize("hook", ["'post_llm_call', print", "'pre_llm_call', 7"])
def test_a_plugin_whose_hooks_recall_nothing_or_cannot_be_called_is_none(
    tmp_path, monkeypatch, hook
):
    name = f"plugin_{'seven' if '7' in hook else 'deaf'}"
    source = f"def register(ctx):\n    ctx.register_hook({hook})\n"
    tmp_path.joinpath(f"{name}.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoProvider):
        load(name)
