"""Nothing is left out of CI by accident."""

import configparser
import re

import pytest

from tests import places
from tests.kit_runs import ROOT

#: Environments that CI does not run.
BY_HAND = (
    "mutants",
    "matrix",
    "mutation",
    "hosts",
    "hostile",
    "reference",
    "providers",
    "servers",
    "honcho22",
    "wild",
)

TESTS = ROOT / "tests"


@pytest.fixture(scope="module")
def tox():
    found = configparser.ConfigParser(interpolation=None)
    found.read(ROOT / "tox.ini", "utf-8")
    return found


def test_every_test_runs_on_each_python_or_once(request):
    for item in request.session.items:
        assert places.is_of("each", item) != places.is_of("once", item)
        assert places.is_of("", item)


def test_every_folder_that_needs_more_than_the_kit_has_an_environment(tox):
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("**/test_*.py")}
    run = "".join(tox[section].get("commands", "") for section in tox.sections())
    assert set(places.APART) <= folders & set(re.findall(r"tests/(\w+)", run))


def test_what_an_environment_runs_exists(tox):
    for section in tox.sections():
        for path in re.findall(r"(?<=[ =])tests/[\w/.]+", tox[section].get("commands", "")):
            assert (ROOT / path).exists(), (section, path)


def test_every_environment_is_run_by_ci_or_named_to_who_closes_an_issue(tox):
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    defined = {name.partition(":")[2] for name in tox.sections() if name.startswith("testenv:")}
    by_ci = set(tox["tox"]["env_list"].split(", "))
    assert defined - by_ci == set(BY_HAND)
    assert [name for name in BY_HAND if f"`tox run -e {name}`" not in text] == []
