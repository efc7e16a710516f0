"""A newcomer's first inputs: each prints one message, and it holds the command to type."""

import os
import re
import subprocess
import sys

import pytest

from tests.kit_runs import TIMEOUT_S, write

pytestmark = pytest.mark.once

PROVIDER = """
from memproto.reference_providers.sqlite import SqliteMemoryProvider as Base

class {}(Base): ...
"""

TWO = f"# MemoryProvider\n{PROVIDER.format('One')}\nclass Two(Base): ...\n"

#: A client that was built while a proxy is set, as the library behind it words that.
PROXY = """
import library
library.connect()
"""

LIBRARY = """
def connect():
    raise ImportError(
        "Using SOCKS proxy, but the 'socksio' package is not installed. "
        "Make sure to install httpx using `pip install httpx[socks]`."
    )
"""

#: The words behind `memproto`, the files that are there, and the fix.
INPUTS = {
    "a file below here": (
        ["judge", "./batches.py"],
        {"batches__py": PROVIDER.format("Batches")},
        "pytest --memproto=batches",
    ),
    "a file": (
        ["judge", "batches.py"],
        {"batches__py": PROVIDER.format("Batches")},
        "pytest --memproto=batches",
    ),
    "a folder of the source": (
        ["judge", "src/acmee"],
        {"src/acme/__init__.py": PROVIDER.format("Acme")},
        "did you mean 'acme'? pytest --memproto=src/acme",
    ),
    "a colon and nothing": (
        ["judge", "acme:"],
        {"src/acme/__init__.py": PROVIDER.format("Acme")},
        "pytest --memproto=acme",
    ),
    "a name": (["judge", "builtn"], {}, "did you mean 'builtin'? pytest --memproto=builtin"),
    "an area": (
        ["judge", "builtin", "--memproto-clause=MP-RECAL"],
        {},
        "did you mean 'MP-RECALL'? --memproto-clause=MP-RECALL",
    ),
    "a class": (
        ["judge", "builtin", "--memproto-class=cor"],
        {},
        "did you mean 'core'? --memproto-class=core",
    ),
    "a command": (["explan"], {}, "memproto explain"),
    "a table": (
        ["judge", "builtin"],
        {"memproto__toml": "[tool.memproto.builtin]\nmemory_mb = 512"},
        'write [tool.memproto.target."builtin"]',
    ),
    "several providers": (
        ["judge", "acme"],
        {"acme/__init__.py": "", "acme/both.py": TWO},
        "say which one: pytest --memproto=acme.both:One or pytest --memproto=acme.both:Two",
    ),
    "a proxy": (
        ["judge", "batches"],
        {"batches__py": PROXY, "library__py": LIBRARY},
        "pip install 'httpx[socks]'",
    ),
    "the extra honcho": (["judge", "honcho"], {}, "pip install 'memproto[honcho]'"),
    "the extra mentisdb": (["judge", "mentisdb"], {}, "pip install 'memproto[mentisdb]'"),
    "the extra mcp": (["judge", "mcp"], {}, "pip install 'memproto[mcp]'"),
}

#: In each process of the run the packages that the extras bring are not installed.
LACKING = """
import importlib.metadata as metadata

installed = metadata.distribution

def distribution(name):
    if name in ("honcho-ai", "httpx", "mcp"):
        raise metadata.PackageNotFoundError(name)
    return installed(name)

metadata.distribution = distribution
"""


@pytest.mark.parametrize("case", INPUTS)
def test_each_prints_one_message_that_holds_the_command_to_type(tmp_path, case):
    words, files, fix = INPUTS[case]
    here, site = tmp_path / "here", tmp_path / "site"
    here.mkdir()
    write(here, **files)
    write(site, sitecustomize__py=LACKING)
    before = sorted(here.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memproto", *words],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 4, text
    assert len(re.findall("^(?:ERROR|memproto): .", text, re.MULTILINE)) == 1, text
    assert re.findall("^  fix: (.*)$", text, re.MULTILINE) == [fix]
    assert "Traceback" not in text
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("target", ["src/acme", "acme", "src.acme", "src/acme/"])
def test_a_folder_of_the_source_is_judged_by_any_of_its_names(tmp_path, target):
    write(tmp_path, **{"src/acme/__init__.py": PROVIDER.format("Acme")})
    done = subprocess.run(
        [*(sys.executable, "-P", "-m", "memproto", "judge"), target, "--memproto-clause=MP-NAME"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"memproto 1.0 · {target} · native" in done.stdout
