"""The providers of `memproto new --lang`: built, replayed, fuzzed, judged, broken and mended."""

import dataclasses
from pathlib import Path

import pytest

from memproto.wire import WireProvider
from tests.kit_runs import kit_process, outcomes, read_report
from tests.languages import building
from tests.wire import fuzzing, transcripts

#: Seconds that a whole verdict may take on a slow machine.
_VERDICT_S = 550

#: One hook broken by hand: the file, the good line, the bad one, and the rule that finds it.
BROKEN = {
    "typescript": (
        "src/store.ts",
        "for (const { begin, end } of entries) fs.writeSync",
        "for (const { begin, end } of entries.slice(1)) fs.writeSync",
    ),
    "rust": ("src/store.rs", "for entry in entries {", "for entry in &entries[1..] {"),
}

RULE = "MP-WRITE-004"


@dataclasses.dataclass(frozen=True)
class Built:
    """A project that was built, with what its own tests said."""

    language: building.Language
    project: Path
    said: str

    @property
    def command(self):
        return self.language.command(self.project)


@pytest.fixture(scope="module")
def built(language, tmp_path_factory):
    project = building.made(language, tmp_path_factory.mktemp(language.name))
    return Built(language, project, building.tested(language, project))


def judged(built, directory, *words):
    """The report of the kit on the built program."""
    target = f"--memproto=wire:{' '.join(built.command)}"
    file = directory / "report.json"
    done = kit_process(directory, target, *words, f"--memproto-report={file}", timeout_s=_VERDICT_S)
    return read_report(file, done)


def test_its_own_tests_pass(built):
    passed = {"typescript": "# fail 0", "rust": "test result: ok. 8 passed; 0 failed"}
    assert passed[built.language.name] in built.said


@pytest.mark.parametrize("path", transcripts.TRANSCRIPTS, ids=lambda path: path.stem)
def test_each_transcript_fits(built, path):
    with transcripts.replaying(built.command) as replay:
        replay.play(path)


def test_the_whole_kit_finds_nothing(built, tmp_path):
    document = judged(built, tmp_path, "-n", "2")
    assert document["run"].returncode == 0, document["run"].stdout
    assert "CONFORMANT shared" in document["run"].stdout
    found = outcomes(document["reports"][0])
    assert {found[name] for name in found if name.startswith("MP-WIRE-")} == {"pass"}


def test_a_host_of_python_takes_it(built, tmp_path):
    config = {"home": str(tmp_path), "limits": {}, "protocol": {}}
    for key in ("s1", "s2"):
        provider = WireProvider(built.command)
        provider.initialize(key, config)
        if key == "s1":
            provider.on_turn_complete("My boat is moored in Velbellogren.", "Noted. \U0001f6b2")
            provider.on_memory_write("add", "memory", "The key is under the mat.")
        else:
            assert "\U0001f6b2" in str(provider.enrich_turn("Where is my boat moored?", []))
            assert "mat" in str(provider.enrich_turn("Where is the key?", []))
        provider.shutdown()


def test_no_line_of_any_shape_ends_it(built):
    fuzzing.assert_outlived(built.command, fuzzing.lines(23, 3_000))


def test_a_hook_that_is_broken_by_hand_is_found_and_mended(built, tmp_path):
    name, good, bad = BROKEN[built.language.name]
    path = built.project / name
    text = path.read_text("utf-8")
    assert text.count(good) == 1
    try:
        path.write_text(text.replace(good, bad), "utf-8")
        for step in _build(built.language):
            building.run(step, built.project)
        document = judged(built, tmp_path, f"--memproto-clause={RULE}")
    finally:
        path.write_text(text, "utf-8")
        for step in _build(built.language):
            building.run(step, built.project)
    assert document["run"].returncode == 1
    assert outcomes(document["reports"][0])[RULE] == "fail"
    again = judged(built, tmp_path, f"--memproto-clause={RULE}")
    assert again["run"].returncode == 0, again["run"].stdout


def _build(language):
    """The commands that compile alone."""
    if language is building.TYPESCRIPT:
        return (("npm", "run", "build"),)
    return language.test[1:]
