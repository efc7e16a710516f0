"""docs/governance.md, the catalogue and the specification say the same of a requirement's life."""

import dataclasses
import json
import re

from memproto import spec
from memproto.testing.judging.attribution import failing
from memproto.testing.outcomes import Outcome
from tests.kit_runs import ROOT

PAGE = (ROOT / "docs" / "governance.md").read_text("utf-8")
OVERVIEW = (ROOT / "spec" / "v1" / "00-overview.md").read_text("utf-8")


def statuses_of_the_schema():
    text = json.dumps(spec.schema("requirements"))
    (found,) = re.findall(r'"status": \{"enum": (\[[^]]*\])', text)
    return set(json.loads(found))


def one(**changes):
    item = next(item for item in spec.requirements().values() if item.level == "MUST")
    return dataclasses.replace(item, **changes)


def test_the_page_explains_each_status_of_the_schema():
    assert set(re.findall(r"^\| (\w+) \| It ", PAGE, re.MULTILINE)) == statuses_of_the_schema()


def test_the_overview_names_exactly_the_stable_requirements():
    stable = [item.id for item in spec.requirements().values() if item.status == "stable"]
    section = OVERVIEW.partition("\n## Status of this release\n")[2]
    assert sorted(re.findall(r"MP-[A-Z-]+-\d{3}", section)) == sorted(stable)
    drafts = len(spec.requirements()) - len(stable)
    assert f"| {len(stable)} | {drafts} | all |" in section
    assert {item.since for item in spec.requirements().values()} == {"1.0"}


def test_a_must_fails_only_while_it_is_undisputed_and_not_deprecated():
    assert failing(one()) is failing(one(status="stable")) is Outcome.FAIL
    assert failing(one(disputed="https://example.org/issues/1")) is Outcome.WARN
    assert failing(one(status="deprecated")) is Outcome.WARN


def test_what_is_disputed_names_its_issue_on_the_page():
    disputed = [item for item in spec.requirements().values() if item.disputed]
    assert [item.id for item in disputed if item.disputed not in PAGE] == []


def test_each_erratum_is_dated_and_names_a_requirement():
    section = PAGE.partition("## Errata")[2].partition("\n## ")[0]
    entries = re.findall(r"^- (\d{4}-\d\d-\d\d), (MP-[A-Z-]+-\d{3})", section, re.MULTILINE)
    assert len(entries) == len(re.findall(r"^- ", section, re.MULTILINE))
    assert bool(entries) != ("There are none yet." in section)
    assert {name for _, name in entries} <= set(spec.requirements())
