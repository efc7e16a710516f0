"""Each extension of the specification is a protocol with exactly its hooks."""

import inspect
import re
from pathlib import Path

import pytest

from memproto import extensions
from memproto.operations import EXTENSION_HOOKS

PROSE = (Path(__file__).parents[2] / "spec" / "v1" / "20-operations.md").read_text("utf-8")


def parameters(source: str) -> str:
    """A signature without line breaks, annotations of modules and quotes of one kind."""
    flat = (
        " ".join(source.split())
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(" )", ")")
        .replace("'", '"')
    )
    return flat.replace("typing.", "").replace("Message", "dict[str, Any]")


def test_there_is_a_protocol_for_each_extension():
    assert list(extensions.EXTENSIONS) == list(EXTENSION_HOOKS)


@pytest.mark.parametrize("name", EXTENSION_HOOKS)
def test_a_protocol_has_the_hooks_of_its_extension_and_no_others(name):
    protocol = extensions.EXTENSIONS[name]
    hooks = [hook for hook in vars(protocol) if not hook.startswith("_")]
    assert hooks == list(EXTENSION_HOOKS[name])


@pytest.mark.parametrize(
    "hook", [h for name, hooks in EXTENSION_HOOKS.items() if name != "checkpoint" for h in hooks]
)
def test_a_hook_has_the_signature_that_the_specification_shows(hook):
    shown = re.search(rf"def {hook}(\(.*?\) -> .*?): \.\.\.", PROSE, re.DOTALL)
    protocol = next(p for p in extensions.EXTENSIONS.values() if hook in vars(p))
    assert shown is not None
    assert parameters(shown[1]) == parameters(str(inspect.signature(getattr(protocol, hook))))
