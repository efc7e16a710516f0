"""What the checks of plugins take for a fault of a Hermes provider, and what they leave alone."""

import os
from pathlib import Path
from typing import Any

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.conformance.provider import plugin
from memproto.testing.clauses import NotApplicable, Violation
from memproto.testing.context import Context
from memproto.testing.run import Run
from memproto.testing.subject import Watch
from memproto.testing.wire import Wire
from tests.good.plugged import Plugged


@pytest.fixture
def run_of(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()))

        def build(factory):
            place = tmp_path / "home"
            return Run(lambda: from_hermes(factory()), "hermes", place, watch, Context())

        yield build


class Writes(Plugged):
    """Keeps its memory elsewhere, and one file where the variable says."""

    file = "notes.txt"

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        Path(os.environ["HERMES_HOME"], self.file).write_text("skills: []")

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return ""

    def sync_turn(self, *args: Any, **kwargs: Any) -> None:
        """It is sent somewhere."""

    on_memory_write = sync_turn

    def shutdown(self) -> None:
        """Nothing is open."""


class HasTheHostSave(Writes):
    """What it asks of the host's own configuration is saved where the host keeps that."""

    file = "config.yaml"


def test_a_config_that_the_host_keeps_is_where_the_host_keeps_it(run_of):
    with pytest.raises(NotApplicable, match="no file is written below either"):
        plugin.the_home_that_is_handed_over_counts(run_of(HasTheHostSave))


def test_a_file_of_its_own_belongs_below_the_home_that_it_was_given(run_of):
    with pytest.raises(Violation, match=r"notes\.txt below the HERMES_HOME"):
        plugin.the_home_that_is_handed_over_counts(run_of(Writes))


def test_a_provider_that_stores_below_it_passes(run_of):
    plugin.the_home_that_is_handed_over_counts(run_of(Plugged))
