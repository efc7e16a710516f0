"""Replay scripts: what they are made of, and what they do by themselves."""

import ast
import dataclasses
import os
import subprocess
import sys

import pytest

from memproto.bindings import HERMES, NATIVE
from memproto.report import message
from memproto.testing import messages
from memproto.testing.evidence import Differs, Late, NotRecalled, Raised, Returned
from memproto.testing.facts import Fact
from memproto.testing.judging import redaction, replay_script, replay_story, replays
from memproto.testing.judging.replay_story import Call, Look, Sight
from memproto.testing.messages import CallBegins, CallRaised, StoryBegins
from memproto.testing.outcomes import NO_SCRIPT, Outcome, Result
from memproto.testing.processes.answer import Answer
from memproto.testing.provider import calls
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings
from tests.kit_runs import ROOT

ROOT_OF_CHECK = "/tmp/kit/check-1"
CONFIG = {"home": f"{ROOT_OF_CHECK}/memory", "user_id": "user-1"}
FACT = Fact("My sister Ori works on the tug Velbella.", "Which tug does Ori work on?", "Velbella")
LOST = Result("MP-TURN-003", Outcome.FAIL, NotRecalled(wanted="the turn", texts=(FACT.text,)))
LATE = Late(hook="prefetch", took_s=3.0, budget_s=2.5, state="ended")
ANSWERED = Answer("answered")


def call(number, who, operation, hook, *arguments, **more):
    return Call(number, who, operation, hook, list(arguments), {}, **more)


def session(who, first, *between):
    """The calls of a session: it is opened, and closed."""
    opened = call(first, who, "open", "initialize", "session-1", CONFIG, shown="None")
    return [opened, *between, call(first + 9, who, "close", "shutdown", shown="None")]


RECORDED = call(12, 1, "record", "on_turn_complete", FACT.text, "Noted.", shown="None")
OTHER = call(13, 1, "record", "on_turn_complete", "Is it late?", "No.", shown="None")
ASKED = call(
    31,
    3,
    "recall",
    "enrich_turn",
    FACT.query,
    [],
    shown="None",
    looks=[Look(FACT.name, FACT.text, FACT.query, found=False)],
)
STORY = replay_story.Story(
    ROOT_OF_CHECK,
    [*session(1, 11, RECORDED, OTHER), *session(2, 21), *session(3, 30, ASKED)[:2]],
)


def order(tmp_path, target="tests.good.journal:Journal", **more):
    return Order(target, directory=ROOT, replay=str(tmp_path), **more)


# -- what shows a violation ------------------------------------------------------------------------


def seen(result, calls_, answer=ANSWERED):
    return replay_story.sight(replay_story.Story("", calls_), result, answer, HERMES)


def test_a_fact_that_was_looked_for_in_vain_shows_its_loss():
    assert seen(LOST, STORY.calls) == Sight("lacks", 31, "Velbella")


def test_a_fact_that_the_message_does_not_name_shows_nothing():
    other = Result("MP-TURN-003", Outcome.FAIL, Differs(seen="'a.txt' was written"))
    assert seen(other, STORY.calls) is None


def asked(who, *, found, query=FACT.query):
    look = Look(FACT.name, FACT.text, FACT.query, found=found)
    return call(31, who, "recall", "enrich_turn", query, [], shown="'x'", looks=[look])


def lived(user, *more):
    """A turn of one user, and what another instance, of `user`, does after it."""
    config = {**CONFIG, "user_id": user}
    begins = call(30, 3, "open", "initialize", "session-2", config, shown="None")
    return [*session(1, 11, RECORDED), begins, *more]


def test_what_another_user_is_told_shows_a_leak():
    assert seen(LOST, lived("user-2", asked(3, found=True))) == Sight("holds", 31, "Velbella")


def test_what_its_own_user_is_told_is_no_leak_unless_it_was_taken_back_or_not_asked_for():
    forgot = call(29, 1, "forget", "forget", {"user_id": "user-1"}, shown="{}")
    assert seen(LOST, lived("user-1", asked(3, found=True))) is None
    other = lived("user-1", asked(3, found=True, query="Is it late?"))
    assert seen(LOST, other).kind == "holds"
    assert seen(LOST, [*other, call(32, 3, "close", "shutdown", shown="None")]) is None
    assert seen(LOST, [*session(1, 11, RECORDED), forgot, asked(1, found=True)]).kind == "holds"


def test_what_another_user_is_not_told_is_no_loss_nor_what_was_not_asked_for():
    assert seen(LOST, lived("user-2", asked(3, found=False))) is None
    assert seen(LOST, lived("user-1", asked(3, found=False, query="Is it late?"))) is None


def test_what_another_session_is_not_told_is_no_loss_where_sessions_are_kept_apart():
    found = replay_story.Story("", lived("user-1", asked(3, found=False)))
    assert replay_story.sight(found, LOST, ANSWERED, NATIVE, ["profile"]).kind == "lacks"
    assert replay_story.sight(found, LOST, ANSWERED, NATIVE, ["session"]) is None


def test_an_error_that_the_message_names_shows_it():
    raised = call(3, 1, "record", "on_turn_complete", "x", "y", error="KeyError")
    result = Result(
        "MP-TURN-002",
        Outcome.FAIL,
        Raised(hook="sync_turn", error="KeyError", shown="KeyError: 'x'"),
    )
    assert seen(result, [raised]) == Sight("raises", 3, "KeyError")


def test_a_hook_that_did_not_return_shows_that_it_is_late():
    open_ = call(3, 1, "recall", "enrich_turn", "x", [])
    result = Result("MP-RECALL-002", Outcome.FAIL, LATE)
    assert seen(result, [open_], Answer("late", operation="recall")) == Sight("late", 3, "2.5")
    done = call(3, 1, "recall", "enrich_turn", "x", [], shown="None")
    assert seen(result, [done], Answer("late", operation="recall")) is None


@pytest.mark.parametrize("fate", ["died", "froze", "grew", "overdue"])
def test_what_becomes_of_a_process_is_not_seen_by_calls(fate):
    assert seen(LOST, STORY.calls, Answer(fate)) is None


def test_a_value_that_every_call_gives_shows_nothing_unless_it_is_what_was_observed():
    given = call(3, 1, "available", "is_available", shown="None")
    ended = call(4, 1, "close", "shutdown", shown="None")
    result = Result("MP-AVAIL-002", Outcome.FAIL, Returned(value="None"))
    assert seen(result, [given, ended]) == Sight("shows", 3, "None")
    assert (
        seen(Result("MP-AVAIL-002", Outcome.FAIL, Returned(value="None", lead="wrote ")), [given])
        is None
    )
    assert (
        seen(Result("MP-TURN-001", Outcome.FAIL, Returned(value="None", tail=" came")), [given])
        is None
    )


# -- shorter ---------------------------------------------------------------------------------------


def test_the_shortest_story_is_what_stores_the_fact_and_what_asks_for_it():
    sight = Sight("lacks", 31, "Velbella")
    first = replay_story.slices(STORY.calls, sight)[0]
    assert [item.number for item in first] == [11, 12, 20, 30, 31]


def test_what_stores_the_fact_is_never_left_out():
    parts = replay_story.parts(STORY.calls, Sight("lacks", 31, "Velbella"))
    assert [[item.number for item in part] for part in parts] == [[21, 30], [13]]


def test_a_story_is_read_from_what_a_child_told():
    about = (1, "record", "on_turn_complete")
    told = (
        StoryBegins("/r"),
        CallBegins(1, *about, ["x"], {}),
        CallRaised(1, "KeyError"),
        CallBegins(2, *about, None, None),
        CallRaised(2, "HookWithdrawn"),
    )
    found = replay_story.told(told)
    assert found.root == "/r"
    assert [(item.number, item.error) for item in found.calls] == [(1, "KeyError")]


class Heard:
    """A wire that keeps what is sent."""

    def __init__(self):
        self.messages = []

    def send(self, message):
        line = messages.encoded(message, 1)
        self.messages.append(messages.read(messages.parsed(line), len(line)))


class Instance:
    number = 0


def test_arguments_are_told_as_they_were_before_the_call(tmp_path):
    heard, given = Heard(), ["x"]
    telling = calls.ToldCalls(heard, tmp_path)
    telling.follow(Instance(), "compress", ("on_compress", [given], {}), given.clear)
    assert replay_story.told(tuple(heard.messages)).calls[0].arguments == [["x"]]


@pytest.mark.parametrize("value", [object(), ("x",), "x" * 5000, {1: 2}, [b"x"]])
def test_what_is_no_literal_is_not_told(tmp_path, value):
    heard = Heard()
    calls.ToldCalls(heard, tmp_path).follow(
        Instance(), "record", ("hook", [value], {}), lambda: None
    )
    assert not replay_story.told(tuple(heard.messages)).calls[0].is_writable


def test_a_look_is_told_with_the_answer_that_was_looked_into(tmp_path):
    heard, subject = Heard(), Instance()
    telling = calls.ToldCalls(heard, tmp_path)
    for answer in ("nothing", "the tug Velbella"):
        telling.follow(subject, "recall", ("enrich_turn", ["?"], {}), lambda answer=answer: answer)
    telling.looked(FACT, "nothing", found=False)
    first, second = replay_story.told(tuple(heard.messages)).calls
    assert first.looks == [Look("Velbella", FACT.text, FACT.query, found=False)]
    assert not second.looks


# -- the text --------------------------------------------------------------------------------------


LACKS = Sight("lacks", 31, "Velbella")


def text(tmp_path, calls_=None, sight=LACKS, **more):
    found = STORY.calls if calls_ is None else calls_
    return replay_script.script(LOST, order(tmp_path, **more), STORY, found, sight)


def test_a_script_is_a_program_without_the_checks_own_places(tmp_path):
    shown = text(tmp_path)
    compile(shown, "script", "exec")
    assert ROOT_OF_CHECK not in shown
    assert '{**config, "home": replay.path("memory")}' in shown
    assert shown.count('"user_id"') == 1


@pytest.mark.parametrize(
    "target", ['a"""b', "a\\", "a'b", "./plugins/é", 'x"""\nimport os', "a\udc80"]
)
def test_any_name_of_a_target_gives_a_program(tmp_path, target):
    shown = text(tmp_path, target=target)
    compile(shown, "script", "exec")
    shown.encode("utf-8")


@pytest.mark.parametrize("said", ["'", '"""', "\\", "a\nb", "\ud800", "\x1b[31m", "{x}", "é" * 200])
def test_any_text_is_written_as_a_literal(tmp_path, said):
    recorded = call(12, 1, "record", "on_turn_complete", said, "Noted.")
    shown = text(tmp_path, [STORY.calls[0], recorded, *STORY.calls[-2:]])
    compile(shown, "script", "exec")
    shown.encode("utf-8")


def test_long_values_are_broken_between_their_items():
    value = {"hooks": ["on turn", "a, b"] * 30, "text": "x y " * 90, "none": [], "n": 1.5}
    shown = replay_script.literal(value, "")
    assert ast.literal_eval(shown) == value
    assert all(len(row) < 100 for row in shown.splitlines() if "x y" not in row)


def test_a_call_that_cannot_be_written_down_is_refused(tmp_path):
    hidden = Call(12, 1, "record", "", None, None)
    with pytest.raises(ValueError, match="record"):
        text(tmp_path, [STORY.calls[0], hidden, *STORY.calls[-2:]])


def test_a_script_that_would_tell_a_credential_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="environment"):
        scripts(tmp_path, {"MY_KEY": "Velbella"}).write(
            tmp_path / "x.py", LOST, STORY, STORY.calls, LACKS
        )
    assert not (tmp_path / "x.py").exists()


def scripts(tmp_path, env):
    """Scripts of a target whose settings give it the variables `env`."""
    asked, contact = order(tmp_path, settings=Settings(env=env)), Contact(NATIVE)
    outlet = redaction.Outlet(asked, contact, tmp_path)
    return replays.Scripts(asked, contact, tmp_path, outlet.text)


KEYED = {
    "api_key": "sk-velbella-123456",
    "server": {"url": "https://ines:sk-velbella-123456@example.org", "token": "tk-orchard-987654"},
}


def keyed(tmp_path):
    """A story whose config holds credentials, and the scripts of a target with these settings."""
    opened = STORY.calls[0]
    *first, config = opened.arguments
    calls = [dataclasses.replace(opened, arguments=[*first, {**config, **KEYED}]), *STORY.calls[1:]]
    asked, contact = order(tmp_path, settings=Settings(config=KEYED)), Contact(NATIVE)
    outlet = redaction.Outlet(asked, contact, tmp_path)
    return replays.Scripts(asked, contact, tmp_path, outlet.text), calls


def test_a_script_reads_a_credential_of_the_config_from_a_variable(tmp_path):
    made, calls = keyed(tmp_path)
    path = tmp_path / "x.py"
    made.write(path, LOST, dataclasses.replace(STORY, calls=calls), calls, LACKS)
    shown = path.read_text("utf-8")
    compile(shown, "script", "exec")
    assert "sk-velbella" not in shown
    assert "tk-orchard" not in shown
    assert 'secrets=["CONFIG_API_KEY", "CONFIG_TOKEN"]' in shown
    assert '"api_key": replay.secret("CONFIG_API_KEY")' in shown
    assert '"https://ines:" + replay.secret("CONFIG_API_KEY") + "@example.org"' in shown


@pytest.mark.parametrize("is_set", [True, False])
def test_a_replay_takes_a_credential_out_of_the_environment_or_says_which_to_set(tmp_path, is_set):
    source = """
from pathlib import Path
import os
from memproto.replay import Replay
with Replay("builtin", Path.cwd(), expected="", observed="", secrets=["CONFIG_API_KEY"]) as replay:
    print(replay.secret("CONFIG_API_KEY"), "CONFIG_API_KEY" in os.environ)
"""
    kept = {name: value for name, value in os.environ.items() if name != "CONFIG_API_KEY"}
    given = {"CONFIG_API_KEY": "the key"} if is_set else {}
    done = subprocess.run(
        [sys.executable, "-P", "-c", source],
        cwd=tmp_path,
        env={**kept, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if is_set else 4), done.stderr
    said = "the key False" if is_set else "set CONFIG_API_KEY, which the settings give"
    assert said in done.stdout + done.stderr


def test_a_script_tells_of_what_was_observed_no_more_than_a_report_does(tmp_path):
    said = f"; refused key-of-ines at {tmp_path}/memory/a.db"
    path = tmp_path / "x.py"
    lost = dataclasses.replace(LOST, evidence=LOST.evidence.told(tail=said))
    scripts(tmp_path, {"MY_KEY": "key-of-ines"}).write(path, lost, STORY, STORY.calls, LACKS)
    shown = path.read_text("utf-8")
    assert "refused [MY_KEY hidden] at $home/a.db" in shown
    assert "key-of-ines" not in shown
    assert str(tmp_path) not in shown


def test_a_value_of_the_environment_that_stands_anywhere_is_no_reason_to_write_none(tmp_path):
    path = tmp_path / "x.py"
    scripts(tmp_path, {"MY_DEBUG": "1"}).write(path, LOST, STORY, STORY.calls, LACKS)
    assert path.exists()


# -- what an author is told ------------------------------------------------------------------------


COMMAND = "pytest --memproto=mine --memproto-clause=MP-TURN-003"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("", COMMAND),
        ("replay/mine/MP-TURN-003.py", f"python replay/mine/MP-TURN-003.py  # or: {COMMAND}"),
        (NO_SCRIPT, COMMAND),
    ],
)
def test_the_command_that_reproduces_names_the_script_if_there_is_one(found, said):
    result = Result("MP-TURN-003", Outcome.FAIL, replay=found)
    assert message.reproduce(result, Order("mine")) == said
