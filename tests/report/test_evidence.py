"""The evidence of a report: there as data, of the right kind, and not asked of an old report."""

import json
import re

import pytest

from memproto import cli
from memproto.report import document, reading, verifying
from memproto.testing import evidence
from memproto.testing.evidence import KINDS, Differs, Late, NotRecalled
from memproto.testing.outcomes import Outcome, Result
from tests import matrix, places
from tests.kit_runs import ROOT
from tests.made_reports import built, judged, row, saved

pytestmark = pytest.mark.once

LOST = NotRecalled(wanted="all turns", texts=("Ori likes tea.",), of=3)
RED = Result("MP-TURN-001", Outcome.FAIL, LOST, "a.py:3")


def old(found):
    """The document as a kit wrote it that had no evidence."""
    for report in found["reports"]:
        for item in report["results"]:
            del item["evidence"]
        report["fingerprint"] = document.fingerprint(report)
    return found


def test_a_row_holds_the_evidence_beside_its_words():
    found = row(built(judged(MP_TURN_001=RED)), "MP-TURN-001")
    assert found["evidence"] == {
        "type": "not_recalled",
        "wanted": "all turns",
        "texts": ["Ori likes tea."],
        "of": 3,
    }
    assert evidence.from_dict(found["evidence"]) == LOST
    assert found["expected"] == "all turns"
    assert found["observed"] == "1 of 3 did not come back: 'Ori likes tea.'"


def test_a_row_without_a_finding_has_none():
    open_ = Result("MP-TURN-001", Outcome.UNTESTABLE, reason="no way in")
    found = row(built(judged(MP_TURN_001=open_)), "MP-TURN-001")
    assert (found["evidence"], found["expected"], found["observed"]) == (None, None, None)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_kind_agrees_with_the_schema(kind, tmp_path):
    fields = {"texts": ("a",), "keys": ("a",), "names": ("a",), "seen": "b", "paths": ("a",)}
    texts = dict.fromkeys(("text", "error", "shown", "value", "fault", "kind_of", "subject"), "a")
    more = {"difference": "a", "ending": "a", "place": "a", "about": "a", "name": "a"}
    numbers = {"times": 1, "chars": 2, "limit": 1, "took_s": 1.5, "held_s": 1.5, "deed": "file"}
    known = fields | texts | more | numbers
    if kind.kind == "acted":
        known["seen"] = ("a",)
    if kind.kind == "left":
        known["kind_of"] = "thread"
    names = kind.__dataclass_fields__
    found = kind(**{name: value for name, value in known.items() if name in names})
    result = Result("MP-TURN-001", Outcome.FAIL, found)
    read = reading.read(saved(tmp_path / "r.json", built(judged(MP_TURN_001=result))))
    assert row(read, "MP-TURN-001")["evidence"]["type"] == kind.kind
    assert verifying.faults(read) == []


def test_evidence_of_a_newer_kit_is_read(tmp_path):
    found = built(judged(MP_TURN_001=RED))
    row(found, "MP-TURN-001")["evidence"] = {"type": "telepathy", "by": "me", "of": [], "n": 1}
    assert reading.read(saved(tmp_path / "r.json", found)) == found


def test_a_report_without_evidence_is_read_by_every_command(tmp_path, capsys):
    one = saved(tmp_path / "a.json", old(built(judged(MP_TURN_001=RED))))
    same = saved(tmp_path / "b.json", old(built(judged(MP_TURN_001=RED))))
    fresh = saved(tmp_path / "c.json", built(judged(MP_TURN_001=RED)))
    assert cli.main(["verify", str(one)]) == 0
    assert cli.main(["diff", str(one), str(fresh)]) == 0
    assert cli.main(["merge", str(one), str(same), "-o", str(tmp_path / "m.json")]) == 0
    assert cli.main(["merge", str(one), str(fresh), "-o", str(tmp_path / "n.json")]) == 0
    assert cli.main(["html", str(one), "-o", str(tmp_path / "page.html")]) == 0
    assert cli.main(["board", str(one), "-o", str(tmp_path / "site")]) == 0
    assert cli.main(["summary", str(one)]) == 0
    shown = (tmp_path / "page.html").read_text("utf-8")
    assert "1 of 3 did not come back" in shown
    capsys.readouterr()


def test_the_page_on_reports_names_each_kind():
    page = (ROOT / "docs" / "reports.md").read_text("utf-8").partition("## Evidence")[2]
    assert re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE) == [*KINDS]


HANGS = "tests.broken.provider.threads:MirroringNeverReturns"

BROKEN = {
    "tests.broken.provider.turns:ARepeatedAnswerDropsTheTurn": "not_recalled",
    "tests.broken.extensions.privacy:AnExportIsOfAllSessions": "recalled",
    "tests.broken.extensions.sessions:EachEndTakesTheTranscriptInAgain": "repeated",
    HANGS: "late",
    "tests.broken.provider.shutdown:ShutdownNeedsInitialize": "raised",
    "tests.broken.provider.identity:NameFollowsTheSession": "unsteady",
    "tests.broken.provider.loading:BuildingAsksTheBackend": "acted",
    "tests.broken.extensions.config:AnswersAreSavedForAllProfiles": "wrote",
    "tests.broken.host.fence:LeavesTagsWithAttributes": "delimiter",
    "tests.broken.host.sessions:WaitsForTheEnd": "late",
}


@pytest.mark.parametrize(
    "target",
    # CI judges one that hangs below, and another whose evidence is of this kind here.
    [places.nightly(name) if name == HANGS else name for name in BROKEN],
)
def test_the_report_of_a_broken_target_holds_evidence_of_the_right_kind(target):
    mutant = matrix.load_all()[target]
    result = matrix._judged(target, mutant, "named")[mutant.kills]
    side = "host" if mutant.kills.startswith("MP-HOST-") else "provider"
    key = mutant.kills.replace("-", "_")
    found = row(built(judged(target, side=side, **{key: result})), mutant.kills)
    assert found["evidence"]["type"] == BROKEN[target]
    assert not isinstance(result.evidence, Differs)
    assert json.loads(json.dumps(found["evidence"])) == found["evidence"]


def test_a_hook_that_hangs_is_told_in_seconds():
    target = HANGS
    mutant = matrix.load_all()[target]
    late = matrix._judged(target, mutant, "named")[mutant.kills].evidence
    assert isinstance(late, Late)
    assert (late.hook, late.state) == ("on_memory_write", "ended")
    assert late.took_s >= late.budget_s > 0
    assert "on_memory_write" in late.at[0]
