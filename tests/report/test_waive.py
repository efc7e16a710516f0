"""memproto waive: entries are written at the end of a file, and nothing else of it changes."""

import datetime as dt
import tomllib

import pytest

from memproto import cli
from memproto.testing.evidence import Differs
from memproto.testing.needs import Setting, depends_on
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings import settings, waivers
from tests.made_reports import built, changed, judged, saved

pytestmark = pytest.mark.once

TODAY = dt.date(2026, 11, 22)
RULE = "MP-TURN-002"
REASON = "the index loses half surrogates"

HELD = """\
# Ours, and why.
[MP-NAME-001]   # the old name
reason = "it is renamed with version 2"
issue = "#3"
owner = 'noor'
expires = 2099-01-01  # far away
"""


@pytest.fixture(autouse=True)
def _in_its_own_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waivers, "today", lambda: TODAY)


def waive(*words, **changes):
    given = {"reason": REASON, "issue": "#12", "owner": "mara", "expires": "2027-01-31", **changes}
    options = [word for key, value in given.items() if value for word in (f"--{key}", value)]
    return cli.main(["waive", *words, *options])


def entry(path, key=RULE):
    return tomllib.loads(path.read_text("utf-8"))[key]


def test_an_entry_is_written_to_a_new_file_that_the_settings_are_to_name(tmp_path, capsys):
    assert waive(RULE) == 0
    path = tmp_path / "waivers.toml"
    assert entry(path) == {
        "reason": REASON,
        "issue": "#12",
        "owner": "mara",
        "expires": dt.date(2027, 1, 31),
    }
    said = capsys.readouterr().out
    assert "waivers.toml: MP-TURN-002 is waived" in said
    assert (
        'no settings name it yet; memproto.toml, or [tool.memproto], needs: waivers = "wai' in said
    )


def test_what_was_written_is_a_valid_waiver(tmp_path):
    (tmp_path / "memproto.toml").write_text('waivers = "waivers.toml"\n')
    (tmp_path / "waivers.toml").touch()
    assert waive(RULE.lower()) == 0
    book = waivers.book(settings.read("mine", tmp_path).waivers, TODAY, side="provider")
    assert (list(book.valid), book.faults) == ([RULE], ())


def test_comments_and_other_entries_stay_as_they_are(tmp_path):
    path = tmp_path / "waivers.toml"
    path.write_text(HELD)
    assert waive(RULE) == 0
    assert path.read_text().startswith(HELD + "\n[MP-TURN-002]\n")


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_line_ends_are_those_of_the_file(tmp_path, end):
    path = tmp_path / "waivers.toml"
    text = HELD.replace("\n", "\r\n").rstrip() + end
    path.write_bytes(text.encode())
    assert waive(RULE) == 0
    assert path.read_bytes().replace(b"\r\n", b"").count(b"\n") == 0
    assert set(tomllib.loads(path.read_text())) == {"MP-NAME-001", RULE}


def test_the_file_that_the_settings_name_is_the_one(tmp_path, capsys):
    (tmp_path / "conf").mkdir()
    (tmp_path / "memproto.toml").write_text('waivers = "conf/known.toml"\n')
    assert waive(RULE) == 0
    assert entry(tmp_path / "conf" / "known.toml")["owner"] == "mara"
    assert "needs:" not in capsys.readouterr().out


def test_tables_of_a_pyproject_get_another_table(tmp_path):
    path = tmp_path / "pyproject.toml"
    text = "[project]\nname = 'x'\n" + HELD.replace("[MP", "[tool.memproto.waivers.MP")
    path.write_text(text)
    assert waive(RULE) == 0
    assert path.read_text().startswith(text)
    assert list(settings.read("mine", tmp_path).waivers) == ["MP-NAME-001", RULE]


def test_an_entry_that_is_there_stays(tmp_path, capsys):
    path = tmp_path / "waivers.toml"
    path.write_text(HELD)
    assert waive("MP-NAME-001") == 1
    assert path.read_text() == HELD
    assert "MP-NAME-001 has an entry, which stays" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["waivers = {}\n", "[waivers]\nx = [\n"])
def test_a_file_that_can_take_no_table_stays_as_it_is(tmp_path, text, capsys):
    path = tmp_path / "memproto.toml"
    path.write_text(text)
    assert waive(RULE, file="memproto.toml") == 4
    assert path.read_text() == text
    assert "fix:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "reason", ['say "no" \\ to\n[MP-NAME-001]', "tab\tand é and 寿", "del \x7f here"]
)
def test_a_reason_is_any_text(tmp_path, reason):
    assert waive(RULE, reason=reason) == 0
    assert entry(tmp_path / "waivers.toml")["reason"] == reason


def test_half_a_surrogate_in_a_reason_is_written_as_its_code(tmp_path):
    assert waive(RULE, reason="the file a\udcff is not read") == 0
    assert entry(tmp_path / "waivers.toml")["reason"] == "the file a\\udcff is not read"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reason": ""}, "has no reason"),
        ({"reason": "later"}, "the reason 'later' tells nothing"),
        ({"expires": "tomorrow"}, "expires tomorrow is no date\n  fix: write expires = 2027-01-21"),
        ({"expires": "2026-11-21"}, "expired on 2026-11-21; today is 2026-11-22 in UTC"),
        ({"owner": " "}, "has no owner"),
    ],
)
def test_no_faulty_waiver_is_written(tmp_path, change, said, capsys):
    assert waive(RULE, **change) == 4
    assert said in capsys.readouterr().err
    assert not (tmp_path / "waivers.toml").exists()


def test_an_unknown_id_gets_a_suggestion(tmp_path, capsys):
    assert waive("MP-TRUN-002") == 4
    assert "did you mean 'MP-TURN-002'?" in capsys.readouterr().err
    assert not (tmp_path / "waivers.toml").exists()


def test_a_place_that_cannot_be_written_is_one_message(tmp_path, capsys):
    assert waive(RULE, "--file", str(tmp_path / "no" / "w.toml")) == 4
    said = capsys.readouterr().err
    assert "cannot be written (No such file or directory)\n  fix: name a place" in said


# -- a baseline ------------------------------------------------------------------------------------


SEEN = Differs(wanted="x", seen="y")


def baseline(path, *words, reason=""):
    return waive("--baseline", str(path), *words, reason=reason)


def test_a_first_run_gives_an_entry_for_each_rule_that_failed(tmp_path):
    found = built(judged(MP_TURN_002="fail", MP_WRITE_001="fail", MP_RECALL_005="warn"))
    assert baseline(saved(tmp_path / "r.json", found)) == 0
    written = tomllib.loads((tmp_path / "waivers.toml").read_text())
    assert sorted(written) == [RULE, "MP-WRITE-001"]
    assert written[RULE]["reason"] == "known since the first run: seen"


@pytest.mark.parametrize(
    ("ran", "words", "written"),
    [("quick", (), None), ("deep", (), "deep"), ("deep", ("--profile", "ci"), "ci")],
)
def test_a_baseline_names_the_profile_under_which_it_failed(tmp_path, ran, words, written):
    found = changed(built(judged(MP_TURN_002="fail")), profile=ran)
    assert baseline(saved(tmp_path / "r.json", found), *words) == 0
    assert entry(tmp_path / "waivers.toml").get("profile") == written


def test_an_entry_names_the_profile_that_is_asked_for(tmp_path, capsys):
    assert waive(RULE, profile="deep") == 0
    assert entry(tmp_path / "waivers.toml")["profile"] == "deep"
    assert waive("MP-TURN-003", profile="nightly") == 4
    assert "profile 'nightly' is none of quick, ci, deep\n  fix: write profile = \"" in (
        capsys.readouterr().err
    )


def test_in_a_strict_run_what_warned_failed_as_well(tmp_path):
    found = built(judged(MP_RECALL_005="warn"), strict=True)
    assert baseline(saved(tmp_path / "r.json", found), reason=REASON) == 0
    assert entry(tmp_path / "waivers.toml", "MP-RECALL-005")["reason"] == REASON


def test_a_baseline_adds_what_is_not_waived_yet(tmp_path):
    (tmp_path / "waivers.toml").write_text(HELD)
    found = built(judged(MP_TURN_002="fail", MP_NAME_001="fail"))
    assert baseline(saved(tmp_path / "r.json", found)) == 0
    assert (tmp_path / "waivers.toml").read_text().startswith(HELD)
    assert entry(tmp_path / "waivers.toml", "MP-NAME-001")["owner"] == "noor"


@pytest.mark.parametrize("settings_file", [False, True])
def test_a_baseline_ends_with_the_command_of_the_gate(tmp_path, settings_file, capsys):
    if settings_file:
        (tmp_path / "memproto.toml").write_text("memory_mb = 900\n", "utf-8")
    waiting = Result(
        "MP-TURN-003", Outcome.UNTESTABLE, SEEN, needs=depends_on("MP-TURN-002", "MP-DATA-001")
    )
    asked = Result("MP-DATA-001", Outcome.UNTESTABLE, SEEN, needs=(Setting("settle"),))
    found = judged(MP_TURN_002="fail", MP_TURN_003=waiting, MP_DATA_001=asked)
    path = saved(tmp_path / "r.json", built(found, conformance_class="durable"))
    assert baseline(path) == 0
    said = capsys.readouterr().out
    assert "1 more waits for them, and is covered\n" in said
    assert "1 could not be judged for another reason (MP-DATA-001); a gate allows" in said
    command = "pytest --memproto=mine --memproto-class=durable --memproto-allow-incomplete"
    named = "" if settings_file else "echo 'waivers = \"waivers.toml\"' > memproto.toml && "
    assert said.endswith(f"\nnext: {named}{command}\n")
    assert entry(tmp_path / "waivers.toml")["baseline"] is True


def test_a_baseline_of_a_good_run_writes_nothing(tmp_path, capsys):
    assert baseline(saved(tmp_path / "r.json", built(judged()))) == 0
    assert "nothing failed; nothing is written" in capsys.readouterr().out
    assert not (tmp_path / "waivers.toml").exists()


def test_of_several_targets_one_is_to_be_named(tmp_path, capsys):
    found = built(judged("a", MP_TURN_002="fail"), judged("b", MP_TURN_003="fail"))
    path = saved(tmp_path / "r.json", found)
    assert baseline(path) == 4
    assert "holds 2 reports that it could mean\n  fix: name one: --target a or b" in (
        capsys.readouterr().err
    )
    assert baseline(path, "--target", "b") == 0
    assert list(tomllib.loads((tmp_path / "waivers.toml").read_text())) == ["MP-TURN-003"]


@pytest.mark.parametrize("words", [(), (RULE, "--baseline", "r.json")])
def test_one_of_id_and_baseline_is_needed(words, capsys):
    assert waive(*words) == 4
    assert "needs one requirement, or --baseline" in capsys.readouterr().err
