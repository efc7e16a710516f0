"""Small programs in an interpreter of their own, for what happens when one forks or exits."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import memproto

IMPORTABLE = os.pathsep.join(
    str(path) for path in (Path(memproto.__file__).parents[1], Path(__file__).parents[1])
)

PROLOGUE = """
    import os, sys, threading, time
    from memproto import Deadlines, MemoryProviderRegistry
    from tests.virtual import FakeProvider

    def say(*words):
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())

    def opened(*providers, **kwargs):
        registry = MemoryProviderRegistry(**kwargs)
        for provider in providers:
            registry.register(provider)
        registry.initialize_all("session", {})
        return registry
"""


def run(program, timeout=60):
    """Returns exit code, lines of stdout and lines of stderr of a program after `PROLOGUE`."""
    text = textwrap.dedent(PROLOGUE) + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": IMPORTABLE}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", text],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()
