"""Faults that the checks of plugins find in a Hermes provider, and behaviour that they allow."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.bindings import HERMES
from memproto.conformance.provider import loading
from memproto.testing.clauses import NotApplicable, Violation
from memproto.testing.context import Context
from memproto.testing.instruments.load_step import LoadStep
from memproto.testing.instruments.watchers import AuditLog
from memproto.testing.processes.sandbox import HOST_HOME
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests.broken.provider.loading import OffersToolsWithoutAHandler
from tests.good.plugged import Plugged
from tests.kit_runs import ROOT, outcomes, reported


@pytest.fixture
def run_of(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()))

        def build(factory):
            place = tmp_path / "home"
            return Run(lambda: from_hermes(factory()), HERMES, place, watch, Context())

        yield build
    HOST_HOME.put_back()


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
    """Its wishes of the host's own configuration are saved where the host keeps that."""

    file = "config.yaml"


def test_a_config_that_the_host_keeps_is_where_the_host_keeps_it(run_of):
    with pytest.raises(NotApplicable, match="no file is written below either"):
        loading.the_home_that_is_handed_over_counts(run_of(HasTheHostSave))


def test_a_file_of_its_own_belongs_below_the_home_that_it_was_given(run_of):
    with pytest.raises(Violation, match=r"notes\.txt below the HERMES_HOME"):
        loading.the_home_that_is_handed_over_counts(run_of(Writes))


def test_a_provider_that_stores_below_it_passes(run_of):
    loading.the_home_that_is_handed_over_counts(run_of(Plugged))


class Placed(Writes):
    """A store in the folder that the variable named when the instance was built."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(os.environ["HERMES_HOME"])

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        Path(self.place, self.file).write_text("skills: []")


def test_a_factory_of_the_operator_may_place_the_store_by_the_variable(run_of):
    run = run_of(Placed)
    with pytest.raises(Violation, match=r"notes\.txt below the HERMES_HOME"):
        loading.the_home_that_is_handed_over_counts(run)
    run.load_step = LoadStep(factory="site:make", audit=AuditLog())
    loading.the_home_that_is_handed_over_counts(run)


def test_one_that_reads_it_in_a_hook_is_found_behind_a_factory_as_well(run_of):
    run = run_of(Writes)
    run.load_step = LoadStep(factory="site:make", audit=AuditLog())
    with pytest.raises(Violation, match=r"notes\.txt below the HERMES_HOME"):
        loading.the_home_that_is_handed_over_counts(run)


class WritesLater(Plugged):
    """A thread of its own stores, a moment after the hook, below what `_now` gives."""

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self.home = kwargs["hermes_home"]
        super().initialize(session_id, **kwargs)
        self.begun, self.workers = threading.Event(), []

    def sync_turn(self, user_content: str, *args: Any, **kwargs: Any) -> None:
        worker = threading.Thread(target=self._store, args=(user_content,))
        self.workers.append(worker)
        worker.start()

    on_memory_write = prefetch = lambda self, *args, **kwargs: ""

    def _store(self, text: str) -> None:
        # Only once the hook has returned, and another one was called.
        self.begun.wait()
        with Path(self._now(), "later.txt").open("a", encoding="utf-8") as file:
            file.write(text)

    def _now(self) -> str:
        return os.environ["HERMES_HOME"]

    def shutdown(self) -> None:
        self.begun.set()
        for worker in self.workers:
            worker.join()
        super().shutdown()


class WritesLaterWithoutAnEnd(WritesLater):
    """It does not wait for its threads."""

    def shutdown(self) -> None:
        threading.Timer(0.2, self.begun.set).start()


class WritesLaterInItsHome(WritesLaterWithoutAnEnd):
    """The same, below what it was handed."""

    def _now(self) -> str:
        return str(self.home)


@pytest.mark.parametrize("factory", [WritesLater, WritesLaterWithoutAnEnd])
def test_a_thread_that_goes_by_the_variable_is_found_also_after_its_hook(run_of, factory):
    with pytest.raises(Violation, match=r"later\.txt below the HERMES_HOME"):
        loading.the_home_that_is_handed_over_counts(run_of(factory))


def test_a_thread_that_goes_by_what_was_handed_over_passes(run_of):
    loading.the_home_that_is_handed_over_counts(run_of(WritesLaterInItsHome))


def test_between_two_hooks_the_variable_names_the_home_of_the_session(run_of, tmp_path):
    run = run_of(WritesLater)
    with run.session(run.place("second")) as subject:
        subject.record("The boat is in Ostrava.")
    (stored,) = tmp_path.rglob("later.txt")
    assert stored.parent.name.endswith("second")


def test_after_a_check_the_variable_names_what_it_did_before(run_of, monkeypatch):
    monkeypatch.setenv("HERMES_HOME", "/there")
    run = run_of(Plugged)
    with run.session():
        assert os.environ["HERMES_HOME"] != "/there"
    run.finish()
    assert os.environ["HERMES_HOME"] == "/there"


# -- the hooks that a host needs ------------------------------------------------------------------


class ServesLittle(Plugged):
    """Has no hook but those that it serves, as the example of docs/settings.md."""

    on_turn_start = queue_prefetch = on_pre_compress = on_session_end = on_session_switch = None
    on_delegation = backup_paths = system_prompt_block = handle_tool_call = on_memory_write = None


def test_a_hook_that_a_hermes_provider_does_not_serve_need_not_be_there(run_of):
    loading.the_hooks_that_the_host_needs_exist(run_of(ServesLittle))


def test_the_example_of_the_settings_has_what_a_host_needs(run_of):
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    source = next(block for block in text.split("```python\n") if "class Plugin:" in block)
    names: dict[str, Any] = {}
    exec(source.partition("```")[0], names)
    loading.the_hooks_that_the_host_needs_exist(run_of(names["Plugin"]))


def test_tools_that_are_offered_need_a_handler(run_of):
    with pytest.raises(Violation, match="has no handle_tool_call, and offers tools"):
        loading.the_hooks_that_the_host_needs_exist(run_of(OffersToolsWithoutAHandler))


@pytest.mark.once
def test_hooks_that_are_registered_at_initialize_or_by_a_newer_host_are_there(tmp_path):
    words = ("--memproto=tests.good.registering:register", "--memproto-clause=MP-PLUG-002")
    found = reported(tmp_path, *words)
    assert outcomes(found["reports"][0])["MP-PLUG-002"] == "pass", found["run"].stdout
