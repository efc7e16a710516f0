"""The examples of docs/asyncio.md and docs/hooks.md run as they stand there."""

import asyncio
import re
import sys
import textwrap
from pathlib import Path

import pytest

from memproto.adapters.hooks import HOOKS
from memproto.registry import MemoryProviderRegistry
from tests import hooks_plugin
from tests.virtual import FakeProvider

DOCS = Path(__file__).parents[2] / "docs"


def examples(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_example_of_the_asyncio_registry_runs(tmp_path):
    (example,) = examples("asyncio.md")
    provider = FakeProvider("a", enrich_turn=lambda *_: "Orida is a tug.")

    async def model(content):
        yield "A tug. "
        yield content.partition("\n\n")[2]

    names = {
        "provider": provider,
        "session_key": "s",
        "home": tmp_path,
        "user_message": "What is Orida?",
        "messages": [],
        "model": model,
    }
    body = textwrap.indent(example, "    ")
    exec(f"async def main():\n{body}\n    return content", names)
    assert "Orida is a tug." in asyncio.run(names["main"]())
    assert provider.named("on_turn_complete") == [("What is Orida?", "A tug. ")]
    assert provider.named("shutdown") == [()]


def test_the_example_of_a_plugin_of_hooks_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "notebook_plugin", hooks_plugin)
    plugin, example = examples("hooks.md")
    names = {"recall": lambda **_: None, "store": lambda **_: None}
    exec(plugin, names)
    assert callable(names["register"])
    exec(example, names)
    registry = names["registry"]
    assert isinstance(registry, MemoryProviderRegistry)
    registry.initialize_all("s", {"home": str(tmp_path)})
    assert registry.providers == ("notebook",)
    registry.shutdown_all()


@pytest.mark.parametrize("hook", HOOKS)
def test_the_page_of_hooks_names_each_hook(hook):
    assert f"`{hook}`" in (DOCS / "hooks.md").read_text(encoding="utf-8")
