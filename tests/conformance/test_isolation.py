"""Files outside of its home that count against a provider, and those that do not."""

import contextlib
import sys
from pathlib import Path

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import isolation, tenancy
from memproto.testing.clauses import Violation
from memproto.testing.context import Context
from memproto.testing.instruments.load_step import LoadStep
from memproto.testing.processes import sandbox
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests.audit import AUDIT
from tests.good.journal import Journal


@pytest.fixture
def run_of(tmp_path, monkeypatch):
    for place in sandbox.places(tmp_path).values():
        place.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(sandbox.places(tmp_path)["user"]))
    monkeypatch.chdir(sandbox.places(tmp_path)["work"])
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()))
        told = Context(
            routes={"turns": "declared", "writes": "declared", "tools": "absent"},
            capabilities=Journal().capabilities(),
        )
        home = sandbox.places(tmp_path)["memory"]
        yield lambda factory: Run(factory, NATIVE, home, watch, told)


def leaving(name, *, when="initialize", backed_up=()):
    """A journal that makes a file of that name in one of its hooks."""

    def leave():
        path = Path(name).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")

    class Leaves(Journal):
        def __init__(self):
            super().__init__()
            if when == "load":
                leave()

        def is_available(self):
            if when == "available":
                leave()
            return True

        def initialize(self, session_key, config):
            super().initialize(session_key, config)
            if when == "initialize":
                leave()

        def backup_paths(self):
            return [str(Path(path).expanduser()) for path in backed_up]

        def enrich_turn(self, user_message, messages):
            if when == "recall":
                leave()
            return super().enrich_turn(user_message, messages)

        def on_session_end(self, messages):
            if when == "end":
                leave()

        def shutdown(self):
            super().shutdown()
            if when == "shutdown":
                leave()

    return Leaves


@pytest.mark.parametrize("name", ["~/.mine/state.json", "~/.config/mine/id", "mine.lock"])
@pytest.mark.parametrize("when", ["initialize", "recall", "end", "shutdown"])
def test_state_outside_of_the_home_is_named(run_of, name, when):
    with pytest.raises(Violation, match=Path(name).name):
        isolation.a_session_leaves_no_file_elsewhere(run_of(leaving(name, when=when)))


@pytest.mark.parametrize(
    "name", ["~/.cache/mine/model.bin", "~/.mine/cache/a.json", "~/.mine/logs/day.txt", "~/my.log"]
)
def test_what_may_be_lost_or_only_people_read_does_not_count(run_of, name):
    isolation.a_session_leaves_no_file_elsewhere(run_of(leaving(name)))


@pytest.mark.parametrize("when", ["load", "available"])
def test_what_is_there_before_the_session_has_rules_of_its_own(run_of, when):
    isolation.a_session_leaves_no_file_elsewhere(run_of(leaving("~/.mine/id", when=when)))


def test_a_path_that_is_listed_for_backups_does_not_count(run_of):
    factory = leaving("~/.mine/id", backed_up=["~/.mine"])
    isolation.a_session_leaves_no_file_elsewhere(run_of(factory))


def test_a_file_that_holds_stored_text_is_the_matter_of_another_rule(run_of):
    class Exports(Journal):
        def on_turn_complete(self, user_message, assistant_response):
            super().on_turn_complete(user_message, assistant_response)
            folder = Path("~/.mine").expanduser()
            folder.mkdir(exist_ok=True)
            (folder / "turns.txt").write_text(user_message)
            (folder / "turns.txt-shm").write_text("")

    isolation.a_session_leaves_no_file_elsewhere(run_of(Exports))


def test_a_hook_that_raises_is_left_to_the_rule_on_it(run_of):
    class Raises(Journal):
        def enrich_turn(self, user_message, messages):
            raise LookupError(user_message)

    isolation.a_session_leaves_no_file_elsewhere(run_of(Raises))


class APlaceForEachUser(Journal):
    """Keeps each user's journal in a directory of his own, none of them below the home."""

    @staticmethod
    def _named(user):
        return "".join(letter if letter.isalnum() else "-" for letter in user)

    def initialize(self, session_key, config):
        place = Path("~/.quayside", self._named(config["user_id"])).expanduser()
        super().initialize(session_key, {**config, "home": str(place)})


class APlaceNamedByTheUser(APlaceForEachUser):
    @staticmethod
    def _named(user):
        return user


def test_a_place_for_each_id_is_no_stray_wherever_all_of_them_are(run_of):
    tenancy.no_id_leads_out_of_the_home(run_of(APlaceForEachUser))
    with pytest.raises(Violation, match=r"with the user_id '\.\./stray' it is in"):
        tenancy.no_id_leads_out_of_the_home(run_of(APlaceNamedByTheUser))


# -- the settings of the interpreter ---------------------------------------------------------------


class Slow(Journal):
    """Lets a thread run for longer while its session is open; `puts_back` says whether it ends."""

    puts_back = True

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self._before = sys.getswitchinterval()
        sys.setswitchinterval(0.25)

    def shutdown(self):
        super().shutdown()
        if self.puts_back:
            sys.setswitchinterval(self._before)


class SlowForEver(Slow):
    puts_back = False


@pytest.fixture
def interval():
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


def test_a_setting_that_the_end_of_a_session_puts_back_is_not_left_changed(run_of, interval):
    run = run_of(Slow)
    run.load_step = LoadStep(audit=AUDIT)
    isolation.a_session_leaves_the_interpreter_as_it_was(run)


def test_a_setting_that_a_session_leaves_is_named_with_its_hook(run_of, interval):
    run = run_of(SlowForEver)
    run.load_step = LoadStep(audit=AUDIT)
    with pytest.raises(Violation, match="switch interval") as caught:
        isolation.a_session_leaves_the_interpreter_as_it_was(run)
    assert caught.value.operation == "open"


@pytest.mark.parametrize(("factory", "is_red"), [("", True), ("mine:make", False)])
def test_a_factory_may_change_a_setting_and_an_import_not(run_of, factory, is_red):
    run = run_of(Journal)
    run.load_step = LoadStep(settings=["umask: 18 became 0"], audit=AUDIT, factory=factory)
    raised = pytest.raises(Violation, match="umask") if is_red else contextlib.nullcontext()
    with raised:
        isolation.a_session_leaves_the_interpreter_as_it_was(run)
