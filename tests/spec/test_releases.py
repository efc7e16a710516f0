"""A release of the specification is frozen: what came later is not scored, by whichever kit."""

import dataclasses

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.errors import KitUsageError
from memproto.pytest_plugin.options import check_options
from memproto.report import verifying
from memproto.testing.evidence import Differs
from memproto.testing.judging.judge import Judge
from memproto.testing.judging.redaction import Outlet
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Contact, Order
from tests.made_reports import built, judged, row

LATER = "MP-TURN-002"


@pytest.fixture
def grown(monkeypatch):
    """A catalogue to which release 1.10 brought one requirement, and 1.9 another."""
    known = spec.requirements()
    changed = {
        **known,
        LATER: dataclasses.replace(known[LATER], since="1.10"),
        "MP-TURN-003": dataclasses.replace(known["MP-TURN-003"], since="1.9"),
    }
    monkeypatch.setattr(spec, "requirements", lambda: changed)
    return changed


class Option:
    memproto_profile, memproto_seed = "quick", "0"
    memproto_class = "shared"
    memproto_report = memproto_html = memproto_replay = None

    def __init__(self, release: str) -> None:
        self.memproto_spec = release

    def __getattr__(self, name: str) -> None:
        return None


@pytest.mark.usefixtures("grown")
def test_releases_are_ordered_by_their_numbers():
    assert spec.releases() == ["1.0", "1.9", "1.10"]


def test_this_catalogue_holds_the_release_of_the_runtime():
    assert spec.releases()[-1] == spec.SPEC_VERSION


def test_an_unknown_release_is_a_usage_error_with_the_known_ones(grown):
    for release in spec.releases():
        check_options(Option(release))
    for release in ("1.1", "2.0", "", "latest", "1.0.0"):
        with pytest.raises(KitUsageError) as caught:
            check_options(Option(release))
        assert str(caught.value) == (
            f"--memproto-spec={release}: is no release of the specification that this kit knows\n"
            "  fix: use 1.0 or 1.9 or 1.10"
        )


@pytest.mark.usefixtures("grown")
@pytest.mark.parametrize(
    ("release", "scored"), [("1.0", (False, False)), ("1.9", (False, True)), ("1.10", (True, True))]
)
def test_what_came_later_is_not_scored_whatever_became_of_it(release, scored):
    found = built(judged(release=release, MP_TURN_002="fail", MP_TURN_003="not_run"))
    seen = tuple(row(found, key)["outcome"] != "not_scored" for key in (LATER, "MP-TURN-003"))
    assert seen == scored
    assert found["reports"][0]["spec"] == release
    assert verifying.faults(found) == []


@pytest.mark.usefixtures("grown")
def test_the_verdict_of_a_release_does_not_change_by_what_came_later():
    assert built(judged(MP_TURN_002="fail"))["exit_code"] == 0
    assert built(judged(release="1.10", MP_TURN_002="fail"))["exit_code"] == 1


@pytest.mark.usefixtures("grown")
def test_a_report_that_scores_a_later_requirement_is_found_out():
    found = built(judged(release="1.10"))
    found["reports"][0]["spec"] = "1.0"
    said = " ".join(verifying.faults(found))
    assert f"{LATER} came with release 1.10, and is scored all the same" in said


def test_the_check_of_a_later_requirement_is_not_run(grown, tmp_path):
    judge = Judge(Order("no.such:Thing", directory=tmp_path), tmp_path, Contact(binding=NATIVE))
    [found] = judge.run(grown[LATER])
    assert found.outcome is Outcome.NOT_SCORED
    assert found.reason == "came after release 1.0, which the run scores by"


@pytest.mark.usefixtures("grown")
def test_a_later_rule_that_is_violated_on_the_way_is_not_shown(tmp_path):
    outlet = Outlet(Order("mine", directory=tmp_path), Contact(), tmp_path)
    [found] = outlet([Result(LATER, Outcome.FAIL, Differs(wanted="x", seen="y"))])
    assert (found.outcome, found.observed) == (Outcome.NOT_SCORED, "")
