"""Writes are mirrored where the provider takes them: by declared actions, into declared targets."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import HERMES, NATIVE, Binding
from memproto.conformance.provider import data, initialize, recall, turns
from memproto.errors import WriteRefused
from memproto.testing.clauses import Lost, NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.provider.survey import survey
from memproto.testing.provider.write_action import ADD_ONLY, Writing
from memproto.testing.wire import Wire
from tests import places
from tests.good.targeted import HermesNotes, HermesRefusing, HermesUser, Refusing, Targeted
from tests.good.unusual.vectors import TopThree

ACTIONS = ("add", "replace", "remove")

SETS = [list(some) for count in range(4) for some in itertools.combinations(ACTIONS, count)]

MIRRORS = [{"memory": memory, "user": user} for memory in SETS for user in SETS]

CHECKS = (
    turns.an_added_text_comes_back,
    turns.a_replaced_text_is_gone,
    turns.a_removed_text_is_gone,
    turns.what_is_not_stored_is_reported,
    data.what_was_accepted_once_is_stored_once,
    data.writes_take_effect_in_their_order,
    recall.the_first_recall_brings_what_is_stored,
    initialize.something_comes_back,
)


class UpToDate(Targeted):
    """A replace of what it does not know is refused, as there is nothing to replace."""

    def on_memory_write(self, action, target, content, old_text=None):
        known = [entry for entry in self._load() if self._is_old(entry, target, old_text)]
        if action == "replace" and not known and action in self.mirrors.get(target, []):
            raise WriteRefused("nothing here fits the old text")
        super().on_memory_write(action, target, content, old_text)


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[Any]:
    with (tmp_path / "wire").open("wb") as file:
        watch, numbers = Watch(Wire(file.fileno())), itertools.count()

        def build(kind: type, binding: Binding = NATIVE, **more: Any) -> Run:
            home = tmp_path / f"homes-{next(numbers)}" / "home"
            return Run(kind, binding, home, watch, Context(**more))  # type: ignore[arg-type]

        yield build


def of(base, mirrors, calls):
    """A kind that declares these mirrors and notes what of them was not asked for."""

    class Declares(base):
        def on_memory_write(self, action, target, content, old_text=None):
            if action not in mirrors.get(target, []):
                calls.append((action, target))
            super().on_memory_write(action, target, content, old_text)

    Declares.mirrors = mirrors
    return Declares


WITHOUT_ADD = [some for some in MIRRORS if not any("add" in actions for actions in some.values())]


@pytest.mark.once
@pytest.mark.parametrize(
    ("base", "mirrors"),
    [*((Targeted, some) for some in MIRRORS), *((UpToDate, some) for some in WITHOUT_ADD)],
    ids=str,
)
def test_whatever_is_mirrored_each_rule_holds_or_does_not_concern_it(make_run, base, mirrors):
    undeclared: list[Any] = []
    kind = of(base, mirrors, undeclared)
    told = kind().capabilities()
    run = make_run(kind, routes={"writes": "declared"}, capabilities=told)
    outcomes = {check.__name__: outcome(check, run) for check in CHECKS}
    brings = any("add" in actions for actions in mirrors.values())
    if not run.serves("writes"):
        # A memory that takes nothing in cannot be shown to work, and that is all there is to say.
        assert outcomes.pop("something_comes_back") == "untestable"
        assert not brings
    assert set(outcomes.values()) <= {"pass", "not applicable"}, outcomes
    if brings:
        assert outcomes["an_added_text_comes_back"] == "pass"
    if any(mirrors.values()):
        assert not undeclared


def outcome(check: Any, run: Run) -> str:
    try:
        check(run)
    except NotApplicable:
        return "not applicable"
    except Untestable:
        return "untestable"
    except Violation as found:
        return str(found)
    return "pass"


class LosesWhatIsAboutTheUser(Targeted):
    def _save(self):
        self._entries = []
        super()._save()


class ForgetsToRemove(Targeted):
    def on_memory_write(self, action, target, content, old_text=None):
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (LosesWhatIsAboutTheUser, turns.an_added_text_comes_back),
        (ForgetsToRemove, turns.a_removed_text_is_gone),
    ],
)
def test_a_fault_in_the_one_target_that_is_taken_is_found(make_run, kind, check):
    run = make_run(kind, routes={"writes": "declared"}, capabilities=kind().capabilities())
    with pytest.raises(Violation):
        check(run)


class KeepsOneNoteOfASession(Targeted):
    """A note of a day that the next one of the day writes over."""

    mirrors = {"user": ["add"]}  # noqa: RUF012 - as its base says

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self._last = None

    def on_memory_write(self, action, target, content, old_text=None):
        super().on_memory_write(action, target, content, old_text)
        if self._last is not None:
            self._entries = [e for e in self._entries if e["text"] != self._last]
            self._save()
        self._last = content


def test_a_note_that_the_next_one_replaces_is_not_said_to_be_too_long(make_run):
    kind = KeepsOneNoteOfASession
    run = make_run(kind, routes={"writes": "declared"}, capabilities=kind().capabilities())
    with pytest.raises(Violation):
        turns.an_added_text_comes_back(run)
    with pytest.raises(Lost, match="of 8 plain texts"):
        turns.what_is_not_stored_is_reported(run)


# -- those that do not declare ---------------------------------------------------------------------


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "binding", "targets"),
    [
        (Refusing, NATIVE, None),
        places.nightly(HermesUser, HERMES, ["user"]),
        places.nightly(HermesRefusing, HERMES, ["user"]),
        (HermesNotes, HERMES, ["memory"]),
    ],
)
def test_first_contact_finds_the_target_that_is_taken(make_run, kind, binding, targets):
    found = survey(make_run(adapted(kind, binding), binding))
    assert found["routes"]["writes"] == "observed"
    mirrors = found["capabilities"].get("mirrors")
    assert mirrors == (targets and {target: ["add"] for target in targets})


@pytest.mark.once
@pytest.mark.parametrize("stores", [["writes"], ["writes", "turns"]])
def test_a_setting_that_writes_are_stored_says_nothing_about_their_targets(make_run, stores):
    run = make_run(adapted(HermesUser, HERMES), HERMES, declares={"stores": stores})
    found = survey(run)
    assert found["routes"]["writes"] == "declared"
    assert found["capabilities"]["mirrors"] == {"user": ["add"]}


def adapted(kind, binding):
    from memproto.adapters.hermes import from_hermes

    return (lambda: from_hermes(kind())) if binding is HERMES else kind


def test_a_native_provider_that_ignores_a_target_without_a_word_loses_what_it_accepted(make_run):
    class Ignores(Targeted):
        def capabilities(self):
            declared = super().capabilities()
            return {key: declared[key] for key in declared if key != "mirrors"}

    run = make_run(Ignores, routes={"writes": "declared"}, capabilities=Ignores().capabilities())
    with pytest.raises(Violation, match="added to memory"):
        turns.an_added_text_comes_back(run)


def test_a_policy_against_one_target_is_no_loss_and_leaves_the_other_to_be_judged(make_run):
    told = Refusing().capabilities()
    run = make_run(Refusing, routes={"writes": "observed"}, capabilities=told)
    for check in (turns.an_added_text_comes_back, turns.what_is_not_stored_is_reported):
        assert outcome(check, run) == "pass"


def test_a_refused_target_is_tried_as_long_as_nothing_was_taken():
    writing = Writing(ADD_ONLY)
    assert writing.to_try() == [("add", "memory"), ("add", "user")]
    writing.prefer(("add", "user"))
    assert writing.to_try() == [("add", "user")]


class Tooled(HermesNotes):
    """It stores through a tool that does not look like one."""

    description = "Files it."

    def get_tool_schemas(self):
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return [{"name": "ledger", "description": self.description, "parameters": text}]

    def handle_tool_call(self, tool_name, args, **kwargs):
        self.on_memory_write("add", "memory", args["text"])
        return '{"success": true}'


class Described(Tooled):
    description = "Keeps a note."


def test_a_tool_that_is_not_recognised_is_told_as_such(make_run) -> None:
    with pytest.raises(Untestable, match="no tool was recognised that stores a text") as raised:
        turns.what_a_tool_stored_comes_back(make_run(adapted(Tooled, HERMES), HERMES))
    assert [need.name for need in raised.value.needs] == ["declares.stores"]
    run = make_run(adapted(Tooled, HERMES), HERMES, capabilities={"stores": ["writes"]})
    with pytest.raises(NotApplicable):
        turns.what_a_tool_stored_comes_back(run)


def test_a_tool_that_is_described_as_one_that_stores_is_judged(make_run) -> None:
    run = make_run(adapted(Described, HERMES), HERMES)
    turns.what_a_tool_stored_comes_back(run)


def test_a_long_text_that_comes_back_for_the_whole_of_it_is_stored(make_run) -> None:
    """A question is a small part of its vector: the text is near to itself alone."""
    turns.what_is_not_stored_is_reported(make_run(TopThree))


class Shortening(TopThree):
    """It keeps the end of a long text."""

    def on_memory_write(self, action, target, content, old_text=None):
        super().on_memory_write(action, target, content and content[-5_000:], old_text)


def test_a_long_text_of_which_the_beginning_is_cut_off_is_not_stored(make_run) -> None:
    with pytest.raises(Violation):
        turns.what_is_not_stored_is_reported(make_run(Shortening))
