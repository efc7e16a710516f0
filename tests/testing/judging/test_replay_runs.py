"""Replay scripts of the shelf: each shows its broken provider's fault, and no good provider's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memproto import spec
from memproto.testing.judging.judge import judge
from memproto.testing.outcomes import NO_SCRIPT, Outcome
from memproto.testing.settings import settings
from memproto.testing.settings.order import Order
from tests.broken.marks import load_all
from tests.commands.test_replay_scripts import PROGRAM
from tests.kit_runs import ROOT, kit

pytestmark = pytest.mark.once

#: Broken providers of different chapters, whose faults their calls show.
SHOWN = (
    "tests.broken.extensions.backup:ThePathsAreKnownInASessionOnly",
    "tests.broken.extensions.checkpoint:ACheckpointNeedsAMessage",
    "tests.broken.provider.compression:CompressionNeedsAMessage",
    "tests.broken.provider.contexts:AContextIsUnknown",
    "tests.broken.provider.data:ABatchRemovesLast",
    "tests.broken.extensions.delegation:ADelegationHasNoMoreKeywords",
    "tests.broken.provider.identity:NameWithASpace",
    "tests.broken.provider.tenancy:TheSessionKeyIsEncoded",
    "tests.broken.provider.isolation:LeavesWithTheProcess",
    "tests.broken.extensions.compress_notes:NotesNeedAWord",
    "tests.broken.extensions.prompt:TheBlockNeedsATurn",
    "tests.broken.provider.recall:NothingFoundBringsTheNewest",
    "tests.broken.provider.recall:RecallWaitsForTheBackend",
    "tests.broken.extensions.record:RecordNeedsAnAuthor",
    "tests.broken.provider.turns:LastTurnStaysInTheBatch",
    "tests.broken.provider.turns:TurnsAreEncoded",
)

#: Those whose faults are seen beside their calls: copied homes, workers, what is not there.
HIDDEN = (
    "tests.broken.extensions.backup:TheStoreHoldsThePathOfTheHome",
    "tests.broken.extensions.prewarm:AWorkerOutlivesTheSwitch",
    "tests.broken.provider.recall:RecallNeedsAPreparedAnswer",
)

RED = (Outcome.FAIL, Outcome.WARN)


def judged(target, directory):
    mutant = load_all()[target]
    found = settings.read(target, ROOT)
    order = Order(target, settings=found, directory=ROOT, scale=mutant.scale, replay=str(directory))
    results = judge(order, [spec.requirement(mutant.kills)])
    return next(item for item in results if item.id == mutant.kills and item.outcome in RED)


def run(path):
    """Run a script where neither pytest nor a package of the kit can be imported."""
    words = [sys.executable, "-I", "-c", PROGRAM, str(path)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)


def good_of(target):
    """The good provider of which a mutant is one with one hook changed."""
    module, _, name = target.partition(":")
    base = getattr(sys.modules[module], name).__mro__[1]
    return f"{base.__module__}:{base.__name__}"


@pytest.mark.parametrize("target", SHOWN)
def test_a_script_shows_the_fault_of_its_provider_and_none_of_a_good_one(target, tmp_path):
    path = Path(judged(target, tmp_path).replay)
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 80
    done = run(path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.endswith("it is seen again\n")
    other = tmp_path / "good.py"
    other.write_text(text.replace(f'"{target}"', f'"{good_of(target)}"'), "utf-8")
    done = run(other)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", HIDDEN)
def test_what_calls_alone_do_not_show_gets_no_script(target, tmp_path):
    assert judged(target, tmp_path).replay == NO_SCRIPT
    assert list(tmp_path.rglob("*.py")) == []


def test_a_run_names_the_script_in_the_line_that_reproduces(tmp_path):
    target = "tests.broken.provider.turns:LastTurnStaysInTheBatch"
    words = [f"--memproto={target}", "--memproto-clause=MP-TURN-003", "--memproto-replay=again"]
    done = kit(tmp_path, *words, "-n", "2", COLUMNS="60", PYTHONIOENCODING="ascii")
    path = "again/tests.broken.provider.turns-LastTurnStaysInTheBatch/MP-TURN-003.py"
    assert done.returncode == 1, done.stdout
    assert (tmp_path / path).is_file()
    assert f"  reproduce python {path}  # or: pytest" in done.stdout
    assert "\nmemproto 1.0 | " in done.stdout


def test_a_directory_that_cannot_be_made_is_said_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    done = kit(tmp_path, "--memproto=builtin", "--memproto-replay=file/scripts")
    assert done.returncode == 4
    assert "--memproto-replay=file/scripts: cannot be made" in done.stdout + done.stderr


#: Needs its key, and loses every turn.
NEEDS_A_KEY = """
from tests.good.journal import Journal


class Mine(Journal):
    def initialize(self, session_key, config):
        if config["api_key"] != "sk-velbella-" + "123456":
            raise ValueError("a wrong key")
        super().initialize(session_key, config)

    def on_turn_complete(self, user_message, assistant_response):
        pass
"""


def test_a_provider_that_needs_a_key_by_its_config_gets_a_script_without_it(tmp_path):
    key = "sk-velbella-123456"
    (tmp_path / "mine.py").write_text(NEEDS_A_KEY, "utf-8")
    (tmp_path / "memproto.toml").write_text(f'config = {{api_key = "{key}"}}\n', "utf-8")
    words = ("--memproto=mine:Mine", "--memproto-clause=MP-TURN-003", "--memproto-replay=again")
    done = kit(tmp_path, *words)
    (path,) = (tmp_path / "again").rglob("MP-TURN-003.py")
    assert key not in path.read_text("utf-8")
    assert f"python {path.relative_to(tmp_path)}" in done.stdout
    kept = {name: value for name, value in os.environ.items() if name != "CONFIG_API_KEY"}
    for given, code in (({"CONFIG_API_KEY": key}, 1), ({"CONFIG_API_KEY": "no"}, 4), ({}, 4)):
        again = subprocess.run(
            [sys.executable, "-P", str(path)],
            cwd=tmp_path,
            env={**kept, **given},
            capture_output=True,
            text=True,
            check=False,
        )
        assert again.returncode == code, again.stdout + again.stderr
