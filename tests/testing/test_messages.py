"""Messages of a child as they travel, and whatever else one may send that was taken over."""

import dataclasses
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.testing import messages, wire
from memproto.testing.context import Context
from memproto.testing.messages import (
    Beat,
    CallBegins,
    CallRaised,
    CallReturned,
    CommandFailed,
    CommandRefused,
    Done,
    Enter,
    FactLooked,
    Forged,
    Judged,
    Leave,
    Loaded,
    Obeyed,
    Opened,
    Reaches,
    Ready,
    ScriptPlayed,
    SecretsNamed,
    Spent,
    StoryBegins,
    Survey,
    Surveyed,
    Timed,
    Unreadable,
    Waits,
)
from memproto.testing.processes import commands
from memproto.testing.wire import plain

PID = 77

ENTER = Enter(3, "recall", 5.0, "the text 'é\\n'", 12, 0.25)

SENT = (
    Ready(),
    Beat(),
    Waits(),
    Reaches(outside=True),
    ENTER,
    Leave(3),
    Opened({"home": "/h", "deep": [{"a": None}]}),
    Spent(),
    StoryBegins("/r"),
    CallBegins(1, 2, "record", "on_turn_complete", ["x", {"y": 1.5}], {"z": True}),
    CallBegins(2, 2, "record", "", None, None),
    CallReturned(1, "None"),
    CallRaised(1, "KeyError"),
    FactLooked(1, "Velbella", "the tug Velbella", "?", found=False),
)

REPLIES = (
    Obeyed(),
    Loaded({"name": "native"}, "here", forks=False, unconfined=""),
    Judged(({"id": "MP-TURN-001", "outcome": "pass"},), 1, ("umask",), ("record",), ("recall",)),
    Surveyed(
        Survey({"stores": ["turns"]}, {"turns": "observed"}, "question", {"n": 1}, "logged"),
        Timed({"recall": [2, 0.25, 0.5]}, 0.125),
    ),
    Timed({}, 0.0),
    SecretsNamed(("ACME_KEY",)),
    ScriptPlayed(visits=3, is_whole=True),
    CommandRefused("InvalidSettings", "memproto.toml:1: warm", "is missing", "name one"),
    CommandFailed("Traceback", ("builtins.len",)),
)

DONE = [Done(reply, (("10.0.0.1:80", "mine.py:1"),), ("memproto.x",)) for reply in REPLIES]


def heard(line):
    return messages.read(messages.parsed(line), len(line))


@pytest.mark.parametrize("message", [*SENT, *DONE], ids=lambda item: repr(item)[:30])
def test_every_message_is_read_as_it_was_sent(message):
    line = messages.encoded(message, PID)
    assert b"\n" not in line
    assert messages.parsed(line)["pid"] == PID
    assert heard(line) == message


def test_each_type_of_the_module_is_among_them():
    found = {item for item in vars(messages).values() if isinstance(item, type)}
    kinds = {item for item in found if issubclass(item, messages.Message) and item.FORM}
    assert kinds == {type(item) for item in (*SENT, *REPLIES, DONE[0])} | {Survey}
    assert len({item.FORM[0] for item in kinds}) == len(kinds)


@pytest.mark.parametrize("message", SENT, ids=repr)
def test_a_message_is_frozen(message):
    assert type(message).__dataclass_params__.frozen
    assert not hasattr(message, "__dict__")


@given(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_a_hook_is_told_whatever_its_text_is(text, number, seconds):
    message = Enter(number, text, seconds, text, number, seconds)
    assert heard(messages.encoded(message, PID)) == message


def test_a_budget_in_whole_seconds_is_a_budget():
    assert heard(messages.encoded(dataclasses.replace(ENTER, budget_s=5), PID)).budget_s == 5


def test_a_message_is_read_in_any_order_of_its_fields():
    data = messages.parsed(messages.encoded(ENTER, PID))
    assert messages.read(dict(reversed(data.items())), 200) == ENTER


def odd(message, **fields):
    """The message with other fields; None takes one out."""
    data = {**json.loads(messages.encoded(message, PID)), **fields}
    return {name: value for name, value in data.items() if value is not None}


LONG = "x" * (messages.MOST_CHARS + 1)

UNREADABLE = {
    "a kind that there is not": odd(ENTER, kind="entered"),
    "a kind that is no text": odd(ENTER, kind=["enter"]),
    "a kind that is a part": {"kind": "judged", "results": []},
    "forged": {"kind": "forged"},
    "a field less": odd(ENTER, thread=None),
    "a field more": odd(ENTER, more=1),
    "a field more of one without any": odd(Beat(), more=1),
    "a number as a text": odd(ENTER, call="3"),
    "a truth as a number": odd(ENTER, call=True),
    "a truth as seconds": odd(ENTER, budget_s=True),
    "a list as an id": odd(Leave(3), call=[3]),
    "a text as a table": odd(Opened({}), config="home"),
    "a long text": odd(ENTER, operation=LONG),
    "a long text for one call": odd(CallReturned(1, ""), shown=LONG),
    "a table as a list": odd(SENT[7], arguments={}),
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=[*UNREADABLE])
def test_what_no_child_sends_is_unreadable(data):
    line = json.dumps(data).encode()
    with pytest.raises(Unreadable):
        heard(line)


ODD_ANSWERS = {
    "no reply": odd(DONE[0], reply=None),
    "a reply of no kind": odd(DONE[0], reply={}),
    "a message as a reply": odd(DONE[0], reply={"kind": "beat"}),
    "results that are a number": odd(DONE[0], reply={"kind": "judged", "results": 3}),
    "a row that is a text": odd(DONE[0], reply={"kind": "judged", "results": ["pass"]}),
    "a list of texts as names": odd(DONE[0], reply={"kind": "secrets", "names": [1]}),
    "a survey that is none": odd(DONE[0], reply={"kind": "surveyed", "found": {"kind": "beat"}}),
    "an error without a text": odd(DONE[0], reply={"kind": "failed"}),
    "an address alone": odd(DONE[0], outward=["10.0.0.1"]),
    "a field more": odd(DONE[0], results=[]),
}


@pytest.mark.parametrize("data", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_an_answer_that_cannot_be_read_is_one_of_a_command_that_failed(data):
    found = heard(json.dumps(data).encode())
    assert isinstance(found.reply, CommandFailed)
    assert found.reply.text.startswith("the child answered ")
    assert found.changed_kit == ("memproto.x",)


def test_a_table_has_no_more_items_than_a_child_tells(monkeypatch):
    monkeypatch.setattr(messages, "MOST_ITEMS", 3)
    assert heard(messages.encoded(Opened(dict.fromkeys("abc")), PID))
    with pytest.raises(Unreadable, match="4 items, and 3 are the most"):
        heard(messages.encoded(Opened(dict.fromkeys("abcd")), PID))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.sampled_from([*SENT, *DONE]), st.data())
def test_whatever_is_in_a_message_it_is_read_or_unreadable(message, data):
    fields = json.loads(messages.encoded(message, PID))
    name = data.draw(st.sampled_from([*fields, "other"]))
    fields[name] = data.draw(values)
    line = json.dumps(fields).encode()
    try:
        found = heard(line)
    except Unreadable:
        return
    assert found.FORM[0] == fields["kind"]


@pytest.mark.parametrize(
    "line", [b"", b"noise", b"[1]", b'{"torn', b'{"pid": 1}', b"\xff{}", b"{} x"]
)
def test_a_line_that_is_no_message_is_told_from_one(line):
    with pytest.raises(ValueError, match=r"no message|Expecting|decode|Unterminated"):
        messages.parsed(line)


def told(*lines_):
    """The messages that a parent hears if every seal is right."""
    read, write = os.pipe()
    os.write(write, b"".join(b"\n" + b"0" * 16 + line + b"\n" for line in lines_))
    os.close(write)
    try:
        return list(wire.lines(read, bytearray()))
    finally:
        os.close(read)


def test_a_sealed_message_that_cannot_be_read_is_told_as_forged():
    spoiled = json.dumps(odd(Leave(3), call=None)).encode()
    line = messages.encoded(Leave(3), PID)
    assert told(spoiled, line) == [(None, Forged()), (PID, Leave(3))]


def test_a_child_that_was_made_to_answer_something_else_answers_that_it_failed():
    read, write = os.pipe()
    answer = wire.Wire(write).reporter(lambda message: b"0" * 16)
    answer({"results": []}, lambda: ["memproto.testing.judging.child.Child.obey"])
    os.close(write)
    ((pid, found),) = wire.lines(read, bytearray())
    os.close(read)
    assert (pid, found.changed_kit) == (
        os.getpid(),
        ("memproto.testing.judging.child.Child.obey",),
    )
    assert isinstance(found.reply, CommandFailed)


def test_what_a_reply_holds_is_made_plain_and_its_depth_counts_from_the_answer():
    odd_value = object()
    told = messages.fields(Done(Judged(({"id": odd_value},))), plain)
    assert told["reply"]["results"] == [{"id": repr(odd_value)}]
    seen = []
    messages.fields(DONE[3], lambda value, depth: seen.append(depth))
    # The fields of a survey and its times lie in these, and those in the reply.
    assert seen == [2, 2, 2, 2, 2, 2, 2, 0, 0]


# -- commands --------------------------------------------------------------------------------------

CONTEXT = Context(seed=3, config={"a": [1]}, backend=["env", "URL"], stuck=["recall"], slowdown=2.0)

PLACE = commands.Place("/r/é", {"KEY": "välue"}, 7, tells=True, context=CONTEXT)

COMMANDS = (
    commands.Load("mine:Mine", "/r", "/d", ["/d/é"], {"KEY": "v"}, functions={"warm": ["a", "b"]}),
    commands.Check(PLACE, "MP-TURN-001", 0.2),
    commands.TakeSurvey(PLACE, session=False),
    commands.TimeHooks(PLACE),
    commands.NameSecrets(PLACE),
    commands.Play(PLACE, "/r/é.script", "/r/é.kept", 9.5, {"recall_chars": 4}),
    commands.Clean([{"home": "/h"}]),
    commands.Nothing(),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda item: item.DO)
def test_every_command_is_read_as_it_was_written(command):
    line = commands.written(command)
    assert "\n" not in line
    found = commands.read(line)
    # A tuple comes back as a list.
    assert json.loads(commands.written(found)) == json.loads(line)
    assert type(found) is type(command)
    if hasattr(command, "place"):
        assert found.place == dataclasses.replace(
            PLACE, context=dataclasses.replace(CONTEXT, no_session_needs=[], part=[0, 1])
        )
    else:
        assert found == command


def test_each_type_of_command_is_among_them():
    assert {type(item) for item in COMMANDS} == {*commands.Command.__subclasses__()}


def test_the_machine_is_as_slow_as_a_check_says():
    placed = {item.DO for item in COMMANDS if hasattr(item, "place")}
    assert {item.DO: commands.slowdown(item) for item in COMMANDS} == {
        item.DO: 2.0 if item.DO in placed else 1.0 for item in COMMANDS
    }
