"""Sessions of the builtin provider for its own tests."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memproto.reference_providers.builtin import BuiltinMemoryProvider

#: The beginning of a program with a session, which it leaves open.
OPEN = """\
import sys
from memproto.reference_providers.builtin import BuiltinMemoryProvider
provider = BuiltinMemoryProvider()
provider.initialize("s", {"home": sys.argv[1]})
"""


def opened(home: Path | str, **config: Any) -> BuiltinMemoryProvider:
    """A provider with a session on a home."""
    provider = BuiltinMemoryProvider()
    provider.initialize("session", {"home": str(home), **config})
    return provider


def call(
    provider: BuiltinMemoryProvider, action: str, target: str = "memory", **args: Any
) -> dict[str, Any]:
    """The answer of the tool."""
    answer: dict[str, Any] = json.loads(
        provider.handle_tool_call("memory", {"action": action, "target": target, **args})
    )
    return answer


def stored(provider: BuiltinMemoryProvider, target: str = "memory") -> list[str]:
    """The entries of a target."""
    entries: list[str] = call(provider, "read", target)["entries"]
    return entries


def process(code: str, home: Path, **options: Any) -> subprocess.Popen[str]:
    """A process that runs the code after `OPEN`."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", OPEN + code, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def provider(tmp_path: Path) -> BuiltinMemoryProvider:
    """One with a session on the directory of the test."""
    return opened(tmp_path)
