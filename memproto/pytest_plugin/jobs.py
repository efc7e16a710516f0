"""A run that is a job of GitHub Actions: its annotations and its summary."""

import os
from pathlib import Path
from typing import Any

import pytest

from memproto.pytest_plugin import terminal
from memproto.report import github, markdown


class Job:
    """
    The plugin object of the controller; it writes nothing where there is no such job.

    What providers say is printed between `stop` and `resume`, so that none of it is a command.
    """

    def __init__(self, config: pytest.Config, suite: Any) -> None:
        self._config = config
        self._suite = suite
        directory = Path(config.invocation_params.dir)
        self._commands = github.Commands(os.environ, directory)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Have the runner read no commands."""
        self._print(self._commands.stop())

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Have it read commands again, and give it those of the run."""
        self._print(self._commands.resume())
        document = self._suite.document
        if document is None:
            return
        self._print(self._commands.annotations(document))
        fault = self._commands.summarize(markdown.summary(document))
        if fault:
            terminal.complain(self._config, fault)

    def _print(self, lines: list[str]) -> None:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        for line in lines if reporter is not None else ():
            reporter.ensure_newline()
            reporter.write_line(terminal.writable(line))
