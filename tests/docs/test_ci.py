"""Nothing is left out of CI by accident."""

import configparser
import re

import pytest
import yaml

from tests import places
from tests.kit_runs import ROOT

#: Environments that CI does not run.
BY_HAND = (
    "nightly",
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


def test_every_test_is_of_one_part(request):
    for item in request.session.items:
        assert [places.is_of(part, item) for part in places.PARTS].count(True) == 1
        assert places.is_of("", item)


class Item:
    """A test, as pytest collects one; `long` if it has the marker."""

    def __init__(self, number, is_long):
        self.number, self.is_long = number, is_long

    def get_closest_marker(self, name):
        return self.is_long if name == "long" and self.is_long else None


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 12])
def test_each_worker_begins_with_its_share_of_the_long_tests(workers):
    items = [Item(number, number % 5 == 3) for number in range(23)]
    found = places.spread(items, workers)
    assert sorted(item.number for item in found) == list(range(23))
    long, left = [], found
    for worker in range(workers):
        # The split that pytest-xdist makes for `worksteal`.
        size = len(left) // (workers - worker)
        share, left = left[:size], left[size:]
        kinds = [item.is_long for item in share]
        assert kinds == sorted(kinds, reverse=True)
        long.append(sum(kinds))
    assert max(long) - min(long) <= 1


def test_tests_keep_their_order_beside_the_long_ones():
    items = [Item(number, number == 4) for number in range(9)]
    assert [item.number for item in places.spread(items, 2)] == [4, 0, 1, 2, 3, 5, 6, 7, 8]


@pytest.mark.parametrize("count", range(1, 6))
def test_no_long_test_is_lost_where_there_are_more_workers_than_tests(count):
    items = [Item(number, True) for number in range(count)]
    found = [item.number for item in places.spread(items, 4)]
    assert sorted(found) == list(range(count))


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


def test_a_workflow_runs_each_night_what_ci_leaves_out():
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text("utf-8"))
    environments = nightly["jobs"]["tox"]["strategy"]["matrix"]["environment"]
    # The mutation score is taken by a workflow of its own, in parts.
    assert sorted([*environments, "mutation"]) == sorted(BY_HAND)
