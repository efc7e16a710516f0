"""Replay scripts as programs: what they print, how they exit, what they leave behind."""

import subprocess
import sys

import pytest

from memproto import replay
from memproto.testing.judging import replay_story
from memproto.testing.judging.replay_story import Sight
from memproto.testing.settings.settings import Settings
from tests.kit_runs import ROOT
from tests.testing.judging.test_replays import FACT, STORY, call, text

#: Packages of the kit: a script must run where none of them is installed.
WITHOUT = ("pytest", "_pytest", "hypothesis", "jsonschema", "psutil", "freezegun", "xdist")
PROGRAM = (
    "import runpy, sys\n"
    f"for name in {WITHOUT}: sys.modules[name] = None\n"
    "runpy.run_path(sys.argv[1], run_name='__main__')\n"
)


def run(path, **environment):
    """Run a script as one who has the provider and the runtime, and nothing else."""
    return subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, str(path)],
        cwd=ROOT,
        env={"PATH": "", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_script_exits_1_with_the_broken_provider_and_0_with_the_good_one(tmp_path):
    path = tmp_path / "script.py"
    for target, code in (
        ("tests.broken.provider.turns:LastTurnStaysInTheBatch", 1),
        ("tests.good.journal:Journal", 0),
    ):
        shortest = replay_story.slices(STORY.calls, Sight("lacks", 31, "Velbella"))[0]
        path.write_text(text(tmp_path, shortest, target=target))
        done = run(path)
        assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.endswith("it is not seen again\n")


@pytest.mark.parametrize(
    ("target", "more", "said"),
    [
        ("no.such.module", {}, "no.such.module"),
        ("tests.good.journal:Journal", {"settings": Settings(env={"MY_KEY": "x"})}, "set MY_KEY"),
        ("tests.broken.provider.initialize:NoSuch", {}, "NoSuch"),
    ],
)
def test_a_script_that_cannot_make_its_calls_exits_4_and_says_why(tmp_path, target, more, said):
    path = tmp_path / "script.py"
    path.write_text(text(tmp_path, target=target, **more))
    done = run(path)
    assert done.returncode == 4
    assert said in done.stderr


def test_a_call_that_raises_as_it_had_not_raised_exits_4(tmp_path):
    path = tmp_path / "script.py"
    wrong = call(12, 1, "record", "on_no_such_hook", FACT.text)
    path.write_text(text(tmp_path, [STORY.calls[0], wrong, *STORY.calls[-2:]]))
    done = run(path)
    assert done.returncode == 4
    assert "AttributeError" in done.stderr


def test_a_script_leaves_nothing_behind(tmp_path):
    path, places = tmp_path / "script.py", tmp_path / "places"
    places.mkdir()
    path.write_text(text(tmp_path))
    done = run(path, TMPDIR=str(places))
    assert done.stdout.endswith("seen again\n"), done.stderr
    assert list(places.iterdir()) == []


def test_a_hook_that_hangs_is_seen_by_the_clock(tmp_path):
    path = tmp_path / "script.py"
    (tmp_path / "slow.py").write_text(
        "import threading\nfrom tests.good.journal import Journal\n"
        "class Slow(Journal):\n"
        "    def enrich_turn(self, user_message, messages): threading.Event().wait()\n"
    )
    shown = text(tmp_path, sight=Sight("late", 31, "0.3"), target="slow:Slow")
    path.write_text(f"import sys\nsys.path.append({str(tmp_path)!r})\n{shown}")
    done = run(path)
    assert done.returncode == 1, done.stderr
    assert "had not returned after 0.3 s" in done.stdout


def test_an_answer_is_compared_as_the_kit_shows_it():
    from memproto.testing.wire import show

    for value in (None, "x" * 999, ["y"] * 999, {"a": 1}, b"z" * 200, "é"):
        assert replay.shows(value, show(value))


def test_a_name_is_found_whatever_its_case_and_accents():
    assert replay.holds("the tug vélbélla", "Velbella")
    assert replay.lacks(None, "Velbella")
