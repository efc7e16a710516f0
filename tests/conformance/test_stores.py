"""Behaviour that the checks of stores allow, and behaviour that they take for a loss."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import stores
from memproto.testing import needs
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.lifetimes import store_files
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests import places
from tests.broken.provider.stores import JoinsTheLastOfItsWriters
from tests.good.journal import Journal

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]

SCALE = 0.2


class Remembers(Journal):
    """Keeps everything in the process."""

    kept: list[dict[str, str]] = []  # noqa: RUF012 - shared by its sessions

    def _load(self):
        return self.kept

    def _save(self):
        pass


class HoldsItsFiles(Journal):
    """One process at a time: its file, and the one that it locks, are held by an open session."""

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self._gate = self._path.open("ab")
        fcntl.flock(self._gate, fcntl.LOCK_EX)

    def _changing(self):
        return self._lock

    def _save(self):
        self._gate.truncate(0)
        self._gate.write("".join(json.dumps(entry) + "\n" for entry in self._entries).encode())
        self._gate.flush()

    def shutdown(self):
        if self._path is not None:
            self._gate.close()


@pytest.fixture
def run_of(tmp_path):
    """A function that gives a run of a provider of this file."""
    with (tmp_path / "wire").open("wb") as file:

        def begin(kind, module=__name__):
            watch = Watch(Wire(file.fileno()), scale=SCALE)
            home = tmp_path / "root" / "home"
            home.parent.mkdir()
            run = Run(kind, NATIVE, home, watch, Context(scale=SCALE))
            target = f"{module}:{kind.__name__}"
            run.loading = {
                "target": target,
                "factory": None,
                "path": [str(ROOT)],
                "root": str(run.root),
                "env": {},
            }
            return run

        yield begin


def test_a_store_in_no_file_is_not_asked(run_of):
    with pytest.raises(NotApplicable, match="in no file below its home"):
        stores.what_a_locked_store_accepts_is_not_lost(run_of(Remembers))


def test_a_provider_that_locks_its_files_itself_is_not_asked(run_of):
    with pytest.raises(NotApplicable, match="locked itself"):
        stores.recall_does_not_wait_for_a_lock(run_of(HoldsItsFiles))


def test_what_lies_beside_a_database_stands_for_the_database(run_of):
    run = run_of(Journal)
    fact = run.facts.new()
    run.home.mkdir()
    (run.home / "store.db").write_bytes(b"nothing yet")
    (run.home / "store.db-wal").write_text(fact.text)
    assert store_files.files(run, [fact]) == [run.home / "store.db"]


class Truncates(Journal):
    """Empties its file before it writes."""

    def _save(self):
        with self._path.open("w", encoding="ascii") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in self._entries)


def test_a_file_that_is_emptied_before_the_disk_is_full_is_a_loss(run_of):
    with pytest.raises(Violation, match="did not come back"):
        stores.a_full_disk_costs_nothing_that_was_stored(run_of(Truncates))


class KeepsTheLastOne(Journal):
    """Each entry takes the place of the one before."""

    def _save(self):
        self._entries = self._entries[-1:]
        super()._save()


def test_a_loss_to_the_next_turn_is_not_blamed_on_a_fault(run_of):
    with pytest.raises(Untestable, match="while the store is well does not come back either"):
        store_files.needs_return(run_of(KeepsTheLastOne))


class KeepsTheLastTen(Journal):
    """A store with room for so many."""

    def _save(self):
        self._entries = self._entries[-10:]
        super()._save()


def test_a_batch_that_does_not_come_back_otherwise_either_is_not_blamed_on_a_fault(run_of):
    run = run_of(KeepsTheLastTen)
    store_files.needs_return(run)
    with pytest.raises(Untestable, match="while the store is well does not come back either"):
        store_files.needs_return(run, 12)


def test_a_loss_is_blamed_on_it_where_every_turn_comes_back_without(run_of):
    store_files.needs_return(run_of(Journal))


class BelowTheUser(Journal):
    """Keeps its journal below ~, and lists it for a backup."""

    def initialize(self, session_key, config):
        super().initialize(session_key, {**config, "home": str(Path.home() / ".harbour")})

    def backup_paths(self):
        return [str(Path.home() / ".harbour")]

    def capabilities(self):
        return {**super().capabilities(), "extensions": ["backup"]}


class TruncatesBelowTheUser(BelowTheUser, Truncates):
    """Empties its file there before it writes."""


@pytest.fixture
def at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "root" / "user"))


#: Checks that look into the files of a store.
ON_FILES = [
    stores.recall_does_not_wait_for_a_lock,
    stores.what_a_locked_store_accepts_is_not_lost,
    stores.a_store_works_again_when_the_lock_is_gone,
    stores.initialize_does_not_wait_for_a_lock,
    stores.a_full_disk_costs_nothing_that_was_stored,
    stores.what_a_full_disk_accepts_is_not_lost,
    stores.a_store_works_again_when_there_is_room,
    stores.what_a_read_only_store_accepts_is_not_lost,
    stores.a_damaged_store_neither_hangs_nor_ends_the_process,
    stores.a_damaged_file_is_kept,
]


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("check", ON_FILES)
def test_a_store_below_the_user_is_judged_as_one_below_the_home(run_of, check):
    # It says nothing where it has looked into no file.
    assert check(run_of(BelowTheUser)) is None
    assert (Path.home() / ".harbour" / "journal.jsonl").is_file()


@pytest.mark.usefixtures("at_home")
def test_a_loss_below_the_user_is_seen(run_of):
    with pytest.raises(Violation, match="did not come back"):
        stores.a_full_disk_costs_nothing_that_was_stored(run_of(TruncatesBelowTheUser))


class AtTheOperators(Journal):
    """Keeps its journal where a variable says."""

    def initialize(self, session_key, config):
        super().initialize(session_key, {**config, "home": os.environ["JOURNAL_DIR"]})


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("check", places.half_nightly(ON_FILES))
def test_a_store_at_a_place_of_the_operators_is_left_alone_and_said_so(
    run_of, monkeypatch, tmp_path, check
):
    # Every path in a variable is searched, and these lead to many files.
    for name in ("PWD", "OLDPWD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JOURNAL_DIR", str(tmp_path / "operator"))
    with pytest.raises(Untestable, match=r"journal\.jsonl") as found:
        check(run_of(AtTheOperators))
    assert needs.settings(found.value.needs) == ["config", "env"]


class EndsWithoutItsFile(Journal):
    """A provider that takes the whole process with it if it may not write."""

    def initialize(self, session_key, config):
        if not os.access(config["home"], os.W_OK, effective_ids=True):
            os._exit(3)
        super().initialize(session_key, config)


def test_a_process_that_ends_before_it_stores_has_not_passed(run_of):
    with pytest.raises(Untestable, match="did not come to 'open ended': exit code 3"):
        stores.what_a_read_only_store_accepts_is_not_lost(run_of(EndsWithoutItsFile))


class JoinsAllOfItsWriters(JoinsTheLastOfItsWriters):
    """Each of the threads that try again is waited for."""

    def __init__(self):
        super().__init__()
        self.all = []

    def on_turn_complete(self, user_message, assistant_response):
        super().on_turn_complete(user_message, assistant_response)
        self.all += [self.last] if self.last is not None else []

    def shutdown(self):
        for thread in self.all:
            thread.join()


@pytest.mark.parametrize("_", range(3))
def test_writers_that_are_not_waited_for_are_seen_each_time(run_of, _):
    # 11 of them, less those whose writer was quick on a slow machine.
    with pytest.raises(Violation, match=r"\d+ of 12 did not come back"):
        stores.what_a_read_only_store_accepts_is_not_lost(
            run_of(JoinsTheLastOfItsWriters, JoinsTheLastOfItsWriters.__module__)
        )


def test_writers_that_are_all_waited_for_lose_nothing(run_of):
    assert stores.what_a_read_only_store_accepts_is_not_lost(run_of(JoinsAllOfItsWriters)) is None
