"""Conformance classes in a report: verdicts, the line, the exit code, and what is made of it."""

import json

import pytest

from memproto import spec
from memproto.report import board, classes, merging, reading, verifying
from memproto.report.formats import badge, markdown
from memproto.report.verdict_line import verdict_line
from memproto.testing.outcomes import Outcome, Result
from tests.made_reports import built, changed, former, judged, saved

pytestmark = pytest.mark.once

CORE, DURABLE, SHARED = "MP_TURN_001", "MP_STORE_001", "MP_TENANT_001"
#: A requirement of an extension, in the class shared.
FORGETTING = "MP_PRIV_005"
GOOD, BAD, OPEN = "CONFORMANT", "NON-CONFORMANT", "INCOMPLETE"


def report(*, facts=None, **outcomes):
    return built(judged(**outcomes), **(facts or {}))["reports"][0]


def end(found):
    """The verdict line from the verdict on."""
    return verdict_line(found).partition(f" · kit {found['kit']} · ")[2]


@pytest.mark.parametrize(
    ("outcomes", "found", "said"),
    [
        ({}, (GOOD, GOOD, GOOD), "CONFORMANT shared"),
        ({SHARED: "fail"}, (GOOD, GOOD, BAD), "CONFORMANT durable · shared: 1 violated"),
        (
            {SHARED: "fail", "MP_TENANT_002": "fail", FORGETTING: "untestable"},
            (GOOD, GOOD, BAD),
            "CONFORMANT durable · shared: 2 violated, 1 open",
        ),
        ({DURABLE: "untestable"}, (GOOD, OPEN, OPEN), "CONFORMANT core · durable: 1 open"),
        (
            {DURABLE: "untestable", SHARED: "fail"},
            (GOOD, OPEN, BAD),
            "CONFORMANT core · durable: 1 open · shared: 1 violated",
        ),
        ({CORE: "fail"}, (BAD, BAD, BAD), "NON-CONFORMANT · core: 1 violated"),
        (
            {CORE: "untestable", SHARED: "fail"},
            (OPEN, OPEN, BAD),
            "NON-CONFORMANT · core: 1 open · shared: 1 violated",
        ),
        # A recommendation that is not followed, or is open, keeps nobody from a class.
        (
            {"MP_ISO_009": "warn", "MP_RES_005": "untestable"},
            (GOOD, GOOD, GOOD),
            "CONFORMANT shared",
        ),
    ],
)
def test_each_class_has_a_verdict_and_the_line_tells_the_highest_and_what_is_missing(
    outcomes, found, said
):
    made = report(**outcomes)
    assert made["classes"] == dict(zip(spec.CLASSES, found, strict=True))
    assert made["verdict"] == found[-1]
    assert end(made) == said


def test_the_verdict_does_not_depend_on_the_class_that_was_asked_for():
    for name in spec.CLASSES:
        made = report(facts={"conformance_class": name}, **{SHARED: "fail"})
        assert (made["class"], made["verdict"], end(made)) == (
            name,
            BAD,
            "CONFORMANT durable · shared: 1 violated",
        )


@pytest.mark.parametrize(
    ("outcomes", "codes"),
    [
        ({}, (0, 0, 0)),
        ({SHARED: "fail"}, (0, 0, 1)),
        ({DURABLE: "fail"}, (0, 1, 1)),
        ({DURABLE: "untestable"}, (0, 6, 6)),
        ({DURABLE: "untestable", SHARED: "fail"}, (0, 6, 1)),
        ({CORE: "fail"}, (1, 1, 1)),
        ({DURABLE: "not_run"}, (0, 6, 6)),
        # The kit failed: there is no verdict, whatever was asked for.
        ({SHARED: "kit_error"}, (3, 3, 3)),
    ],
)
def test_the_exit_code_is_that_of_the_class_that_was_asked_for(outcomes, codes):
    for name, code in zip(spec.CLASSES, codes, strict=True):
        found = built(judged(**outcomes), conformance_class=name)
        assert found["exit_code"] == code, name
        assert verifying.faults(json.loads(json.dumps(found))) == []


def test_a_should_that_does_not_hold_takes_its_class_in_a_strict_run_only():
    assert end(report(MP_ISO_009="warn")) == "CONFORMANT shared"
    strict = report(facts={"strict": True}, MP_ISO_009="warn")
    assert end(strict) == "CONFORMANT durable · shared: 1 violated"


def test_a_violation_of_an_extension_is_told_with_its_name():
    made = report(MP_TOOL_002="fail")
    extensions = {"tools": {"declared": True, "served": True, "verdict": BAD}}
    assert end({**made, "extensions": extensions}).endswith("core: 1 violated (1 in tools)")


def test_a_host_has_no_classes_and_is_asked_for_all():
    document = built(judged(side="host", MP_HOST_REG_001="fail"), conformance_class="core")
    (found,) = document["reports"]
    assert not {"class", "classes"} & found.keys()
    assert (classes.of(found), classes.held(found), classes.missing(found)) == ({}, None, [])
    assert document["exit_code"] == 1
    assert end(found) == BAD


def test_a_report_of_a_kit_without_classes_is_read_by_its_rows():
    document = former(built(judged(**{SHARED: "fail"})))
    assert end(document["reports"][0]) == "CONFORMANT durable · shared: 1 violated"
    assert verifying.faults(document) == []


def test_a_report_whose_rows_do_not_make_its_verdict_names_no_class():
    document = former(built(judged(**{SHARED: "fail"})), verdict=GOOD)
    assert end(document["reports"][0]) == GOOD


def test_both_keys_agree_with_the_schema_and_are_read_back(tmp_path):
    document = built(judged(**{DURABLE: "fail"}), conformance_class="core")
    assert reading.read(saved(tmp_path / "r.json", document)) == document


def test_a_verdict_of_a_class_that_the_results_do_not_make_is_told():
    document = built(judged(**{DURABLE: "fail"}))
    found = document["reports"][0]["classes"] | {"durable": GOOD}
    [said] = verifying.faults(changed(document, classes=found))
    assert said.endswith(f"the verdict of durable is {GOOD}, and its results make it {BAD}")


def test_merged_shards_have_the_classes_of_all_rows_and_the_class_asked_for():
    areas = sorted({item.id.rpartition("-")[0] for item in spec.select([], "provider")})
    halves = [tuple(areas[::2]), tuple(areas[1::2])]
    shards = [
        built(judged(only=half, **{SHARED: "fail"}), narrowed=True, conformance_class="durable")
        for half in halves
    ]
    merged = merging.merge((str(place), shard) for place, shard in enumerate(shards)).document
    (found,) = merged["reports"]
    assert found["classes"] == dict(zip(spec.CLASSES, (GOOD, GOOD, BAD), strict=True))
    assert (found["class"], merged["exit_code"]) == ("durable", 0)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([{}], "CONFORMANT shared"),
        ([{SHARED: "fail"}], "CONFORMANT durable"),
        ([{}, {DURABLE: "untestable"}], "CONFORMANT core"),
        ([{CORE: "untestable"}, {}], OPEN),
        ([{CORE: "fail"}, {CORE: "untestable"}], BAD),
    ],
)
def test_the_badge_names_the_highest_class_of_the_worst_target(outcomes, said):
    targets = [judged(f"t{place}", **each) for place, each in enumerate(outcomes)]
    document = built(*targets)
    assert badge.verdict(document)[1] == said
    assert json.loads(badge.endpoint(document))["message"] == said


def test_the_summary_of_a_job_names_the_class():
    table = markdown.summary(built(judged(**{SHARED: "fail"})))
    assert "| target | verdict | class |" in table
    assert "❌ NON-CONFORMANT | durable |" in table


def test_the_board_shows_the_class_of_each_provider_and_of_each_rule(tmp_path):
    files = [
        saved(tmp_path / "a.json", built(judged("a", **{SHARED: "fail"}))),
        saved(tmp_path / "b.json", built(judged("b", **{CORE: "fail"}))),
        saved(tmp_path / "h.json", built(judged("h", side="host"))),
    ]
    site = tmp_path / "site"
    entries = board.write(files, site)
    assert [entry.highest for entry in entries] == ["durable", "none", ""]
    shown = (site / "index.html").read_text("utf-8")
    assert shown.count('<th scope="col">class</th>') == 1
    assert "<td>durable</td>" in shown
    assert "MUST · durable · draft" in (site / "rules.html").read_text("utf-8")
    assert "holds class durable" in (site / "targets" / "a.html").read_text("utf-8")


def test_a_waived_requirement_keeps_its_class_open():
    made = report(**{SHARED: Result("MP-TENANT-001", Outcome.WAIVED)})
    assert end(made) == "CONFORMANT durable · shared: 1 waived"
