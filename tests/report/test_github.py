"""A job of GitHub Actions: annotations at lines, commands that texts cannot give, and badges."""

import json
import os
import xml.etree.ElementTree as ET

import pytest

from memproto import cli
from memproto.report.formats import badge, github, markdown
from memproto.testing.evidence import Differs
from memproto.testing.outcomes import Outcome, Result
from tests.made_reports import built, changed, judged, saved

pytestmark = pytest.mark.once

RULE = "MP-TURN-002"
LEVELS = ("MUST", "SHOULD")
JOB = {"GITHUB_ACTIONS": "true"}


def annotated(directory, result, workspace=None, **facts):
    environment = {**JOB, "GITHUB_WORKSPACE": str(workspace or directory)}
    commands = github.Commands(environment, directory)
    return commands.annotations(built(judged(MP_TURN_002=result), **facts))


def red(where="mine/a.py:3 in Mine.on_turn_complete", observed="seen"):
    return Result(RULE, Outcome.FAIL, Differs(wanted="asked", seen=observed), where)


def test_a_failure_is_annotated_at_its_line_of_the_repository(tmp_path):
    package = tmp_path / "packages" / "one"
    (package / "mine").mkdir(parents=True)
    (package / "mine" / "a.py").touch()
    [line] = annotated(package, red(), tmp_path)
    assert line.startswith(
        "::error file=packages/one/mine/a.py,line=3,title=MP-TURN-002 (MUST)%2C mine::"
    )
    assert "%0Aexpected: asked%0Aobserved: seen%0Afix: " in line


def test_a_place_that_is_not_of_the_repository_is_left_out(tmp_path):
    (tmp_path / "out.py").touch()
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / os.fsdecode(b"b\xfc.py")).touch()
    for where in (
        "a.py:3 in x",
        "b\\udcfc.py:3 in x",
        "../out.py:3 in x",
        "Mine.on_turn_complete",
        "",
        "a.py:x in y",
    ):
        [line] = annotated(inside, red(where), inside)
        assert line.startswith("::error title=")


def test_no_text_of_a_provider_ends_its_command_or_begins_another(tmp_path):
    hostile = "100% of it\r\n::error file=x,line=1::owned\n##[group]a,b:c"
    [line] = annotated(tmp_path, red(observed=hostile))
    assert "\n" not in line
    assert "\r" not in line
    assert "100%25 of it\\r%0A::error" in line
    [line] = github.Commands(JOB, tmp_path).annotations(
        built(judged("a,file=x::b\r\n%", MP_TURN_002=red()))
    )
    assert "title=MP-TURN-002 (MUST)%2C a%2Cfile=x%3A%3Ab%0D%0A%25::" in line


def test_what_warns_is_a_warning(tmp_path):
    warns = built(judged(MP_RECALL_005="warn"))
    [line] = github.Commands(JOB, tmp_path).annotations(warns)
    assert line.startswith("::warning title=MP-RECALL-005 (SHOULD)")


def test_a_fault_of_a_waiver_is_annotated(tmp_path):
    fault = {"id": RULE, "kind": "stale", "text": "w.toml:1: it holds", "fix": "remove it"}
    table = {"date": "2026-11-22", "faults": [fault], "notes": []}
    lines = github.Commands(JOB, tmp_path).annotations(changed(built(judged()), waivers=table))
    assert lines == ["::error title=memproto::waiver: w.toml:1: it holds"]


def test_annotations_beyond_those_that_are_shown_are_counted(tmp_path):
    from memproto import spec

    fails = {item.id.replace("-", "_"): "fail" for item in spec.select([], "provider")}
    lines = github.Commands(JOB, tmp_path).annotations(built(judged(**fails)))
    assert len(lines) == github.MOST + 1 == 11
    assert lines[-1] == f"::notice title=memproto::{len(fails) - github.MOST} more in the report"


def test_errors_leave_warnings_their_room(tmp_path):
    from memproto import spec

    known = spec.select([], "provider")
    names = {level: [i.id.replace("-", "_") for i in known if i.level == level] for level in LEVELS}
    found = dict.fromkeys(names["MUST"], "fail") | dict.fromkeys(names["SHOULD"], "warn")
    lines = github.Commands(JOB, tmp_path).annotations(built(judged(**found)))
    kinds = [line.split()[0] for line in lines]
    assert kinds == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"]
    assert f"::{len(found) - 20} more in the report" in lines[-1]


def test_commands_are_off_between_two_lines_that_nobody_can_guess(tmp_path):
    first, other = github.Commands(JOB, tmp_path), github.Commands(JOB, tmp_path)
    [stop], [resume] = first.stop(), first.resume()
    token = stop.removeprefix("::stop-commands::")
    assert resume == f"::{token}::"
    assert len(token) == 32
    assert first.stop() == [stop]
    assert other.stop() != [stop]


def test_elsewhere_nothing_is_written(tmp_path):
    summary = tmp_path / "summary.md"
    commands = github.Commands({"GITHUB_STEP_SUMMARY": str(summary)}, tmp_path)
    assert commands.stop() == commands.resume() == []
    assert commands.annotations(built(judged(MP_TURN_002="fail"))) == []
    assert commands.summarize("text") == ""
    assert not summary.exists()


def test_the_summary_is_added_to_that_of_the_job(tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    commands = github.Commands({**JOB, "GITHUB_STEP_SUMMARY": str(summary)}, tmp_path)
    assert commands.summarize("## memproto\n") == ""
    assert summary.read_text() == "before\n## memproto\n"
    nowhere = github.Commands({**JOB, "GITHUB_STEP_SUMMARY": str(tmp_path)}, tmp_path)
    assert nowhere.summarize("x") == f"GITHUB_STEP_SUMMARY={tmp_path}: Is a directory"


def test_what_does_not_fit_into_the_summary_of_a_step_is_counted():
    sections = ["## memproto\n\nx\n\n"] + [f"### {name}\n\n{'é' * 90}\n\n" for name in "abc"]
    sizes = [len(text.encode()) for text in sections]
    note = "... and 2 sections more, for which there is no room here; see the report.\n"
    room = sum(sizes[:2]) + len(note)
    assert markdown.bounded("".join(sections), sum(sizes)) == "".join(sections)
    assert markdown.bounded("".join(sections), room) == "".join(sections[:2]) + note
    assert markdown.bounded("".join(sections), room - 1).endswith("... and 3" + note[9:])
    assert markdown.bounded("".join(sections), 10) == ""


def test_a_summary_counts_what_the_step_has_written_already(tmp_path):
    summary = tmp_path / "summary.md"
    commands = github.Commands({**JOB, "GITHUB_STEP_SUMMARY": str(summary)}, tmp_path)
    text = markdown.summary(built(judged("a", MP_TURN_002="fail"), judged("b")))
    for _ in range(3):
        summary.write_text("x" * (markdown.MOST_BYTES - len(text.encode()) + 1) + "\n")
        assert commands.summarize(text) == ""
        assert summary.stat().st_size <= markdown.MOST_BYTES
        assert summary.read_text().endswith(
            "more, for which there is no room here; see the report.\n"
        )


def test_the_summary_of_many_hostile_targets_fits():
    hostile = Result(
        RULE, Outcome.FAIL, Differs(wanted="\x00" * 400, seen="\x00" * 400), "\x00" * 400
    )
    fails = {"MP_TURN_002": hostile}
    many = [judged("\x00" * 300 + str(number), **fails) for number in range(60)]
    found = markdown.summary(built(*many))
    assert len(found.encode()) > markdown.MOST_BYTES // 4
    assert len(markdown.bounded(found, 200_000).encode()) <= 200_000


# -- badges ----------------------------------------------------------------------------------------


def test_a_badge_is_an_image_that_says_release_and_verdict(tmp_path, capsys):
    path = saved(tmp_path / "r.json", built(judged('<a href="x">&', MP_TURN_002="fail")))
    output = tmp_path / "b.svg"
    assert cli.main(["badge", str(path), "-o", str(output)]) == 0
    root = ET.fromstring(output.read_text())
    assert root.get("aria-label") == "memproto 1.0: NON-CONFORMANT"
    texts = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["memproto 1.0", "NON-CONFORMANT"]
    [title] = [item.text for item in root.iter("{http://www.w3.org/2000/svg}title")]
    assert '<a href="x">& (kit ' in title


def test_control_characters_of_a_target_do_not_break_the_badge():
    ET.fromstring(badge.svg(built(judged("a\x00b\x1bc\ud800"))))


def test_the_badge_of_several_targets_has_the_worst_verdict():
    found = built(judged("a"), judged("b", MP_TURN_002="untestable"), judged("c"))
    assert badge.verdict(found) == ("memproto 1.0", "INCOMPLETE")
    assert badge.verdict(found, "c") == ("memproto 1.0", "CONFORMANT shared")
    error = built(judged("a", MP_TURN_002="fail"), judged("b", MP_TURN_002="kit_error"))
    assert badge.verdict(error) == ("memproto 1.0", "KIT ERROR")


def test_the_endpoint_form_is_json_of_version_1(tmp_path):
    path = saved(tmp_path / "r.json", built(judged()))
    assert cli.main(["badge", str(path), "-o", str(tmp_path / "b.json")]) == 0
    assert json.loads((tmp_path / "b.json").read_text()) == {
        "schemaVersion": 1,
        "label": "memproto 1.0",
        "message": "CONFORMANT shared",
        "color": "brightgreen",
    }


def test_a_badge_of_nothing_or_of_another_form_is_refused(tmp_path, capsys):
    path = saved(tmp_path / "r.json", built(judged()))
    assert cli.main(["badge", str(path), "-o", "b.png"]) == 4
    assert "-o b.png: is neither .svg nor .json" in capsys.readouterr().err
    assert cli.main(["badge", str(path), "--target", "b", "-o", str(tmp_path / "b.svg")]) == 4
    assert "--target b: is no target of the report\n  fix: its targets are mine" in (
        capsys.readouterr().err
    )
    empty = saved(tmp_path / "e.json", {"format": 1, "exit_code": 4, "reports": []})
    assert cli.main(["badge", str(empty), "-o", str(tmp_path / "b.svg")]) == 4
