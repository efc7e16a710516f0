"""
A run that is a job of GitHub Actions: its annotations and its summary.

The outer run has told the runner to read no commands, before this process was started, and lets it
read them again after its end; so nothing that is printed here is one, however the run ends. The
commands for the runner go to the outer run, by a descriptor.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from memproto import pytest_plugin
from memproto.pytest_plugin import terminal
from memproto.report.formats import github, markdown


class Job:
    """The plugin object of the controller; it writes nothing where there is no such job."""

    def __init__(self, config: pytest.Config, suite: Any) -> None:
        self._config = config
        self._suite = suite
        directory = Path(config.invocation_params.dir)
        self._commands = github.Commands(os.environ, directory)
        self._descriptor = _descriptor()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Leave annotations for the runner, and add to the summary of the step."""
        document = self._suite.document
        if document is None:
            return
        self._leave(self._commands.annotations(document))
        fault = self._commands.summarize(markdown.summary(document))
        if fault:
            terminal.complain(self._config, fault)

    def _leave(self, lines: list[str]) -> None:
        if self._descriptor is None:
            return
        with contextlib.suppress(OSError), os.fdopen(self._descriptor, "wb") as file:
            file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def _descriptor() -> int | None:
    """Descriptor of the outer run, which no process that is started from here is to have."""
    named = os.environ.pop(pytest_plugin.COMMANDS, "")
    if not named.isdecimal():
        return None
    try:
        os.set_inheritable(int(named), False)
    except OSError:
        return None
    return int(named)
