"""Files that a new provider needs beside it in the tests of `memproto new`."""

import os
import sys
from pathlib import Path

from tests.kit_runs import ROOT

#: The base class of a plugin of Hermes stands first in this file.
_HOST = ROOT / "tests" / "good" / "plugged" / "__init__.py"


def a_host_is_importable(folder: Path) -> None:
    """Put a stand-in for the base class of Hermes where the host has it, and on the path."""
    agent = folder / "agent"
    agent.mkdir()
    (agent / "__init__.py").touch()
    base = _HOST.read_text("utf-8").partition("class Plugged")[0]
    base = base.replace("from tests.good.journal import Journal\n", "")
    (agent / "memory_provider.py").write_text(base, "utf-8")
    sys.path.insert(0, str(folder))


def importable(*folders: Path) -> str:
    """PYTHONPATH with these folders in it, instead of an installation."""
    return os.pathsep.join(map(str, folders))
