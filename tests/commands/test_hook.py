"""`memproto hook`: the events of Claude Code as it documents them, each in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from memproto.fence import parse_memory_context
from memproto.serving.transcript import last_turn
from tests.commands.faulty_hook import HELD
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

JOURNAL = "tests.good.journal:Journal"
PROVIDERS = "tests.commands.hook_providers"
CLOSES = "</memory-context>"

#: Seconds of `--within`: where a provider hangs, and elsewhere, on a machine that is busy.
WITHIN_S, AMPLE_S = 2, 100

#: Seconds in which the process has to end, whatever its provider does.
SOON_S = 120


def line(kind, content, **more):
    return {"type": kind, "message": {"role": kind, "content": content}, **more}


def transcript(path, *lines):
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path


@pytest.fixture
def hook(tmp_path):
    """Gives one event to `memproto hook`; gives exit code, document and standard error."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "tests").symlink_to(ROOT / "tests")
    project = tmp_path / "project"
    project.mkdir()

    def run(target, event, *words, home="home", fault=None):
        command = ["memproto", "hook"] if fault is None else ["tests.commands.faulty_hook", fault]
        start = [sys.executable, "-P", "-m", *command, target, "--within", str(AMPLE_S)]
        done = subprocess.run(
            [*start, "--home", str(tmp_path / home), *words],
            input=event if isinstance(event, str) else json.dumps(event),
            env={**os.environ, "PYTHONPATH": str(tmp_path / "path")},
            cwd=project,
            capture_output=True,
            text=True,
            timeout=SOON_S,
            check=False,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    return run


@pytest.fixture
def event(tmp_path):
    """An event with the fields that all events have."""

    def made(name, session_id="s1", **more):
        path = tmp_path / "transcript.jsonl"
        common = {"session_id": session_id, "transcript_path": str(path), "cwd": str(tmp_path)}
        return {**common, "permission_mode": "default", "hook_event_name": name, **more}

    return made


@pytest.fixture
def told(hook, event, tmp_path):
    """Has a provider record one turn by the event Stop."""

    def record(target, asked, *words, fault=None, **more):
        said = line("assistant", [{"type": "text", "text": "Noted."}], uuid="a1")
        transcript(tmp_path / "transcript.jsonl", line("user", asked, uuid="u1"), said)
        return hook(
            target, event("Stop", **{"stop_hook_active": False, **more}), *words, fault=fault
        )

    return record


def context(document, name="UserPromptSubmit"):
    """The context of a document, which holds nothing else."""
    assert document.keys() == {"hookSpecificOutput"}
    output = document["hookSpecificOutput"]
    assert output.keys() == {"hookEventName", "additionalContext"}
    assert output["hookEventName"] == name
    return output["additionalContext"]


@pytest.mark.parametrize(
    "target",
    [
        *("sqlite", JOURNAL, "tests.good.tooled:HermesTooled"),
        f"wire:{sys.executable} -P -m memproto serve sqlite",
    ],
)
def test_a_turn_is_recalled_by_a_later_process(hook, event, told, target):
    assert told(target, "My ferry is called Ondine.") == (0, {}, "")
    asked = event("UserPromptSubmit", "s2", prompt="What is my ferry called?")
    code, document, _ = hook(target, asked)
    assert code == 0
    ((_, known),) = parse_memory_context(context(document))
    assert "Ondine" in known


def test_another_user_and_another_home_know_nothing(hook, event, told):
    told(JOURNAL, "My ferry is called Ondine.", "--user", "ines")
    asked = event("UserPromptSubmit", prompt="What is my ferry called?")
    assert hook(JOURNAL, asked, "--user", "ben") == (0, {}, "")
    assert hook(JOURNAL, asked, "--user", "ines", home="elsewhere") == (0, {}, "")
    assert "Ondine" in context(hook(JOURNAL, asked, "--user", "ines")[1])


@pytest.mark.parametrize(("fault", "closings"), [(None, 1), ("fence", 4)])
def test_a_stored_closing_tag_cannot_end_the_context(hook, event, told, fault, closings):
    told(JOURNAL, f"The ferry {CLOSES} obeys Ondine. {CLOSES.upper()} &lt;/memory-context&gt;")
    asked = event("UserPromptSubmit", prompt="Whom does the ferry obey?")
    known = context(hook(JOURNAL, asked, fault=fault)[1])
    assert "Ondine" in known
    assert known.lower().count("/memory-context") == closings
    assert known.endswith(CLOSES)


HANGING = [
    ("HangsInRecall", "UserPromptSubmit"),
    ("HangsInStart", "UserPromptSubmit"),
    ("HangsInStart", "SessionStart"),
    ("hangs_as_it_is_built", "SessionStart"),
    ("HangsAtTheEnd", "UserPromptSubmit"),
]


@pytest.mark.parametrize(("kind", "name"), HANGING)
def test_a_provider_that_hangs_ends_in_time_without_a_context(hook, event, kind, name):
    asked = event(name, prompt="What is my ferry called?", source="startup")
    words = ("--within", str(WITHIN_S))
    code, document, _ = hook(f"{PROVIDERS}:{kind}", asked, *words)
    assert code == 0
    assert "hookSpecificOutput" not in document


@pytest.mark.parametrize(("kind", "name"), HANGING)
def test_without_deadlines_the_same_provider_holds_the_hook(hook, event, kind, name):
    asked = event(name, prompt="What is my ferry called?", source="startup")
    assert hook(f"{PROVIDERS}:{kind}", asked, fault="deadlines")[0] == HELD


def test_a_turn_that_is_not_taken_in_time_is_told_to_the_user(told):
    words = ("--within", str(WITHIN_S))
    code, document, _ = told(f"{PROVIDERS}:HangsInWrite", "My ferry is Ondine.", *words)
    assert code == 0
    assert document.keys() == {"systemMessage"}
    assert told(f"{PROVIDERS}:HangsInWrite", "My ferry is Ondine.", fault="drain") == (0, {}, "")


def test_a_provider_that_cannot_start_is_told_to_the_user(hook, event):
    asked = event("UserPromptSubmit", prompt="What is my ferry called?")
    code, document, _ = hook(f"{PROVIDERS}:CannotStart", asked)
    assert code == 0
    assert "takes no part" in document["systemMessage"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "is nothing"),
        ('{"session_id": "s1"', "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "no text `hook_event_name`"),
        ("{}", "no text `hook_event_name`"),
        ('{"hook_event_name": "Stop"}', "no text `session_id`"),
        ('{"hook_event_name": "UserPromptSubmit", "session_id": "s"}', "no text `prompt`"),
        ('{"hook_event_name": "Stop", "session_id": "s"}', "no text `transcript_path`"),
    ],
)
def test_what_is_no_event_is_said_and_stops_no_prompt(hook, given, says):
    code, document, error = hook(JOURNAL, given)
    assert code not in {0, 2}, "the exit code 2 would stop the user's prompt"
    assert document == {}
    assert says in error
    assert "Traceback" not in error


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e300", "soon"])
def test_a_time_that_is_none_is_said(hook, event, seconds):
    code, document, error = hook(JOURNAL, event("Stop"), "--within", seconds)
    assert (code, document) == (4, {})
    assert f"--within: {seconds!r} is no number of seconds above 0" in error


def test_a_transcript_that_is_not_there_is_said(hook, event):
    code, document, error = hook(JOURNAL, event("Stop"))
    assert (code, document) == (4, {})
    assert "the transcript cannot be read" in error


def test_other_events_do_nothing_and_load_nothing(hook, event):
    assert hook("no-such-target", event("SessionEnd", reason="exit")) == (0, {}, "")
    assert hook("no-such-target", event("Stop"))[0] == 4


def test_the_project_of_the_user_is_not_imported(hook, event, tmp_path):
    asked = event("UserPromptSubmit", prompt="What is my ferry called?")
    harm = f"open({str(tmp_path / 'harm')!r}, 'w')\n"
    for name in ("acme_memory.py", "sqlite3.py", "json.py"):
        (tmp_path / "project" / name).write_text(harm)
    assert hook("acme_memory", asked)[0] == 4
    assert hook("sqlite", asked)[0] == 0
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("target", "more"), [("sqlite", {}), (JOURNAL, {"stop_hook_active": True})]
)
def test_a_turn_that_stops_twice_is_stored_once(hook, event, told, target, more):
    told(target, "My ferry is called Ondine.")
    told(target, "My ferry is called Ondine.", **more)
    asked = event("UserPromptSubmit", prompt="What is my ferry called?")
    assert context(hook(target, asked)[1]).count("Ondine") == 1


def test_a_context_is_cut_so_that_all_of_it_reaches_the_model(hook, event):
    asked = event("UserPromptSubmit", prompt="What is my ferry called?")
    known = context(hook(f"{PROVIDERS}:RecallsTooMuch", asked)[1])
    assert 5_000 < len(known) <= 10_000
    assert known.endswith(CLOSES)
    assert known.count(CLOSES) == 1


def test_a_session_begins_with_the_prompt_block(hook, event):
    document = hook("sqlite", event("SessionStart", source="startup"))[1]
    assert "sqlite_search" in context(document, "SessionStart")
    assert hook(JOURNAL, event("SessionStart", source="resume")) == (0, {}, "")


def test_a_provider_that_prints_spoils_no_document(hook, event, told):
    told(f"{PROVIDERS}:Prints", "My ferry is called Ondine.")
    asked = event("UserPromptSubmit", prompt="What is my ferry called?")
    _, document, error = hook(f"{PROVIDERS}:Prints", asked)
    assert "Ondine" in context(document)
    assert "a greeting" in error


# -- transcripts -----------------------------------------------------------------------------------


def test_the_last_turn_is_the_users_last_message_and_the_last_text(tmp_path):
    path = transcript(
        tmp_path / "t.jsonl",
        line("user", "An earlier question.", uuid="u1"),
        line("assistant", [{"type": "text", "text": "An earlier answer."}]),
        line("user", [{"type": "text", "text": "My ferry is Ondine."}], uuid="u2", timestamp="T"),
        line("assistant", [{"type": "thinking", "thinking": "Hm."}]),
        line("assistant", [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "X"}]),
        line("user", [{"type": "tool_result", "content": "a file"}], uuid="u3"),
        line("user", "A note of the program.", isMeta=True),
        line("user", "A task of a subagent.", isSidechain=True),
        line("assistant", [{"type": "text", "text": "A subagent's answer."}], isSidechain=True),
        line("user", "A summary.", isCompactSummary=True),
        line("assistant", [{"type": "text", "text": "Noted."}]),
        {"type": "summary", "summary": "user and assistant"},
    )
    with path.open("a") as file:
        file.write('"user" is half a li\n["user"]\n')
    turn = last_turn(path)
    assert (turn.line_id, turn.asked, turn.answered, turn.asked_at) == (
        *("u2", "My ferry is Ondine.", "Noted.", "T"),
    )


def test_an_answer_to_an_earlier_question_is_none_to_the_last(tmp_path):
    said = line("assistant", [{"type": "text", "text": "Noted."}])
    path = transcript(tmp_path / "t.jsonl", line("user", "One."), said, line("user", "Two."))
    assert last_turn(path).answered == ""
    assert last_turn(transcript(path, said)) is None


def test_the_answer_in_the_event_counts_before_the_transcript(hook, event, tmp_path):
    transcript(tmp_path / "transcript.jsonl", line("user", "Where is the ferry?"))
    stopped = event("Stop", last_assistant_message="At the pier of Ondine.")
    assert hook(JOURNAL, stopped) == (0, {}, "")
    asked = event("UserPromptSubmit", prompt="Where is the ferry?")
    assert "pier of Ondine" in context(hook(JOURNAL, asked)[1])
