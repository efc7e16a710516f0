"""Every check fails the provider that it was written for, for the reason that it was written."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from memproto import spec
from memproto.testing.evidence import Differs
from memproto.testing.outcomes import Outcome, Result
from tests import matrix
from tests.broken.marks import Mutant, load_all

pytestmark = pytest.mark.once

MUTANTS = load_all()

#: In CI one of each area is judged, on one Python: all of them take as long as a third of CI, and
#: have the environment `mutants`. A mutant does its damage whatever Python runs it.
MOST = 1 if os.environ.get("MEMPROTO_PART") else 0
BROKEN = matrix.sample(MUTANTS, MOST) if MOST else list(MUTANTS)

#: CI judges one that serves many extensions; `conformance` and `languages` judge others wholly.
GOOD = ("tests.good.private:Private",) if MOST else matrix.GOOD[1:]

#: The full matrix shows that nothing else turns red, and that good providers pass every rule;
#: it is a tox environment of its own: it takes as long as everything else together, and does not
#: depend on the Python that runs it.
REACH: matrix.Reach = "named"


class Rows:
    """Judges targets ahead of the tests that ask for them, as many at a time as the matrix."""

    def __init__(self, pool: ThreadPoolExecutor, ahead: list[str]) -> None:
        self._pool = pool
        self._rows: dict[str, Future[matrix.Row]] = {}
        for target in ahead:
            self._start(target)

    def _start(self, target: str) -> Future[matrix.Row]:
        if target not in self._rows:
            self._rows[target] = self._pool.submit(matrix.row, target, REACH)
        return self._rows[target]

    def __getitem__(self, target: str) -> matrix.Row:
        return self._start(target).result()


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> Iterator[Rows]:
    # A worker of xdist knows all tests and runs some: it judges nothing ahead.
    ahead = [] if os.environ.get("PYTEST_XDIST_WORKER") else _asked_for(request.session.items)
    pool = ThreadPoolExecutor(matrix.WORKERS)
    yield Rows(pool, ahead)
    pool.shutdown(cancel_futures=True)


def _asked_for(items: list[pytest.Item]) -> list[str]:
    chosen = [
        getattr(i, "callspec", None) for i in items if "rows" in getattr(i, "fixturenames", ())
    ]
    return [call.params["target"] for call in chosen if call is not None]


@pytest.mark.parametrize("target", BROKEN)
def test_a_mutant_fails_each_requirement_that_it_names(target: str, rows: Rows) -> None:
    assert rows[target].faults == ()


@pytest.mark.long
@pytest.mark.parametrize("target", GOOD)
def test_a_good_provider_passes_all_that_concerns_it(target: str, rows: Rows) -> None:
    assert rows[target].faults == ()


def test_every_requirement_has_a_mutant_and_every_mutant_is_short() -> None:
    assert matrix.shelf_faults(MUTANTS) == []


def test_a_sample_of_one_has_a_mutant_of_each_area() -> None:
    found = [spec.requirement(MUTANTS[target].kills).area for target in matrix.sample(MUTANTS, 1)]
    assert len(found) == len(set(found))
    assert set(found) == {item.area for item in spec.requirements().values() if not item.unchecked}


def test_a_good_provider_is_judged_by_what_its_mutants_break() -> None:
    broken = matrix.broken_of("tests.good.private:Private")
    assert "MP-PRIV-001" in broken
    assert "MP-COMP-001" not in broken


# -- the matrix itself can be red ------------------------------------------------------------------

AN_ID, ANOTHER_ID, A_GATE = "MP-SHUT-001", "MP-SHUT-002", "MP-NAME-001"


def results_of(**outcomes: Outcome) -> dict[str, Result]:
    ids = {key.replace("_", "-"): outcome for key, outcome in outcomes.items()}
    return {item: Result(item, outcome, Differs(seen="seen")) for item, outcome in ids.items()}


A_TARGET = "tests.broken.provider.shutdown:SecondShutdownRaises"


def a_mutant(kills: str = AN_ID, says: str = "seen", target: str = A_TARGET, **also: str) -> Mutant:
    named = {key.replace("_", "-"): reason for key, reason in also.items()}
    return Mutant(target, kills, says, "A8", named)


def test_an_exact_row_has_no_fault() -> None:
    results = results_of(MP_SHUT_001=Outcome.FAIL, MP_SHUT_002=Outcome.UNTESTABLE)
    assert matrix.unexact(a_mutant(), results) == []


@pytest.mark.parametrize(
    ("results", "fault"),
    [
        (results_of(MP_SHUT_001=Outcome.PASS), "MP-SHUT-001 is not red"),
        (results_of(), "it did not run"),
        (results_of(MP_SHUT_001=Outcome.FAIL, MP_SHUT_002=Outcome.WARN), "is red as well"),
        (results_of(MP_SHUT_001=Outcome.FAIL, MP_SHUT_002=Outcome.KIT_ERROR), "kit_error"),
    ],
)
def test_a_row_that_is_not_exact_says_why(results: dict[str, Result], fault: str) -> None:
    (told,) = matrix.unexact(a_mutant(), results)
    assert fault in told


def test_a_row_whose_check_saw_something_else_is_not_exact() -> None:
    (told,) = matrix.unexact(a_mutant(says="a barrier"), results_of(MP_SHUT_001=Outcome.FAIL))
    assert told.startswith("does not say 'a barrier'")


def test_a_named_consequence_that_stays_away_is_a_fault() -> None:
    mutant = a_mutant(MP_SHUT_002="the second call is one of two")
    (told,) = matrix.unexact(mutant, results_of(MP_SHUT_001=Outcome.FAIL))
    assert told.startswith("MP-SHUT-002 is not red")


def test_nothing_is_decided_behind_a_closed_gate() -> None:
    results = results_of(MP_NAME_001=Outcome.FAIL, MP_SHUT_001=Outcome.PASS)
    (told,) = matrix.unexact(a_mutant(A_GATE), results)
    assert told.startswith("MP-SHUT-001 was decided")


def test_a_requirement_without_a_mutant_is_a_fault_of_the_shelf() -> None:
    without = {t: m for t, m in MUTANTS.items() if m.kills != AN_ID}
    assert f"{AN_ID} has no mutant that fails it alone" in matrix.shelf_faults(without)


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        (a_mutant(target="tests.good.journal:Journal"), "lines"),
        (a_mutant(**dict.fromkeys(["A_1", "B_1", "C_1", "D_1"], "entailed")), "names too many"),
        (a_mutant(MP_SHUT_002=""), "gives no reason"),
    ],
)
def test_a_long_mutant_or_one_that_names_too_much_is_a_fault_of_the_shelf(
    mutant: Mutant, fault: str
) -> None:
    (told,) = matrix.shelf_faults({**MUTANTS, "another": mutant})
    assert fault in told


def a_row(target: str, *red: str) -> matrix.Row:
    return matrix.Row(target, red, (), 0.0)


def test_two_requirements_that_the_same_mutants_turn_red_are_told() -> None:
    rows = [a_row("one", AN_ID, ANOTHER_ID), a_row("two", A_GATE)]
    assert matrix.twins(matrix.kill_sets(rows)) == [
        f"{AN_ID} and {ANOTHER_ID} have the same kill set"
    ]


def test_a_mutant_that_only_one_of_two_requirements_sees_tells_them_apart() -> None:
    rows = [a_row("one", AN_ID, ANOTHER_ID), a_row("two", AN_ID)]
    assert matrix.twins(matrix.kill_sets(rows)) == []


def test_no_two_requirements_have_the_same_kill_set() -> None:
    # Each row is held to exactly these ids, by the test above and by the full matrix.
    rows = [a_row(m.target, m.kills, *m.also) for m in MUTANTS.values()]
    assert matrix.twins(matrix.kill_sets(rows)) == []
