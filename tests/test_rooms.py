"""A thing is found where its name says: stems of an area agree, and no folder is a heap."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memproto import spec
from memproto.testing import clauses
from tests.broken.marks import load_all
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

#: More modules than that are no longer seen at a glance.
MOST_MODULES = 25

#: The chapter of most requirements on hosts, which has a check file for each of its parts.
HOSTS = "hosts"

CHECKS = {side: clauses.checks(side) for side in ("provider", "host")}
STEMS = {
    name: check.function.__module__.rpartition(".")[2]
    for checks in CHECKS.values()
    for name, check in checks.items()
}


def stem_of_chapter(requirement: spec.Requirement) -> str:
    """`50-turns.md` holds the requirements whose checks are in `turns.py`."""
    chapter = requirement.anchor.partition(".md")[0]
    return re.sub(r"^\d+-", "", chapter).replace("-", "_")


def folders() -> Iterator[Path]:
    for root in ("memproto", "conformance", "tests", "reference_providers", "scripts", "census"):
        yield from {path.parent for path in (ROOT / root).rglob("*.py")}


def test_a_check_has_the_stem_of_its_chapter():
    chapters = {name: stem_of_chapter(spec.requirement(name)) for name in STEMS}
    named = {name: stem for name, stem in chapters.items() if stem != HOSTS}
    assert {name: STEMS[name] for name in named} == named
    assert {spec.requirement(name).side for name in STEMS if name not in named} == {"host"}


def test_a_broken_provider_has_the_stem_of_the_check_that_catches_it():
    wrong = {}
    for mutant in load_all().values():
        module = mutant.target.partition(":")[0].rpartition(".")[2]
        # A plugin that is broken by its manifest is a directory of its own.
        stem = "loading" if module.startswith("manifest_") else module
        # One that another check meets has what it needs beside that check's own, and the folder
        # `faults` starts the backend without which some do no damage.
        stems = {STEMS[name] for name in (mutant.kills, mutant.found_by) if name}
        if stem not in {*stems, "faults"}:
            wrong[mutant.target] = stems
    assert wrong == {}


def test_tests_of_checks_have_the_stem_of_the_checks():
    names = [path.stem for path in (ROOT / "tests" / "conformance").glob("test_*.py")]
    stems = set(STEMS.values())
    strays = [
        name
        for name in names
        if not any(re.fullmatch(rf"test_{stem}(_\w+)?", name) for stem in stems)
    ]
    assert strays == []


def test_no_folder_holds_more_modules_than_can_be_seen_at_a_glance():
    counts = {
        folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py"))) for folder in folders()
    }
    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}


#: Folders that are installed, each by the name of its package.
INSTALLED = {
    "memproto": "memproto",
    "conformance": "memproto.conformance",
    "reference_providers": "memproto.reference_providers",
}


def test_every_package_is_listed_as_one_that_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    found = {
        ".".join([name, *path.parent.relative_to(ROOT / folder).parts])
        for folder, name in INSTALLED.items()
        for path in (ROOT / folder).rglob("__init__.py")
        if "templates" not in path.parts
    }
    assert found - set(listed["packages"]) == set()
