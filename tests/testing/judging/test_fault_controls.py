"""A provider that breaks one rule in a store that is well has not broken those on failing ones."""

import contextlib
import json
from pathlib import Path

import pytest

from memproto import spec
from memproto.testing.judging.judge import Order, judge
from memproto.testing.outcomes import Outcome
from memproto.testing.settings import settings
from tests import places
from tests.broken.marks import load_all
from tests.good.journal import Journal

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[3]

RED = (Outcome.FAIL, Outcome.WARN)

#: Broken provider to rules that it was once falsely said to break.
ELSEWHERE = {
    "provider.compression:CompressionResetsTheJournal": ["MP-STORE-005"],
    "provider.processes:KeepsItsOwnViewOfTheFile": ["MP-STORE-002"],
    "provider.loading:StandInLacksAHook": ["MP-LIFE-001"],
    "extensions.privacy:AllSessionsAreForgotten": ["MP-PROC-007", "MP-STORE-005"],
    "extensions.privacy:MirroredWritesAreNotForgotten": ["MP-PROC-007"],
    "extensions.record:TheLastTurnWaitsForTheNext": ["MP-STORE-005", "MP-STORE-010"],
    "provider.stores:ForgetsInPlace": ["MP-STORE-006"],
    "extensions.sessions:AnEmptyTranscriptReplacesTheSession": ["MP-STORE-004", "MP-STORE-005"],
    "extensions.sessions:TheEndClearsTheBatch": ["MP-STORE-010"],
    "provider.turns:LastTurnStaysInTheBatch": ["MP-PROC-007"],
    "provider.turns:TheRestOfABatchIsNotWritten": ["MP-PROC-007"],
}


@pytest.mark.long
@pytest.mark.parametrize("name", places.half_nightly(ELSEWHERE))
def test_a_fault_is_not_booked_on_a_rule_that_holds(name):
    mutant = load_all()[f"tests.broken.{name}"]
    order = Order(
        mutant.target,
        settings=settings.read(mutant.target, ROOT),
        directory=ROOT,
        scale=mutant.scale,
    )
    results = judge(order, [spec.requirement(item) for item in ELSEWHERE[name]])
    assert {item.id: item.observed for item in results if item.outcome in RED} == {}
    # Each of the rules was looked at, so that the test is about something.
    assert set(ELSEWHERE[name]) <= {item.id for item in results}


class OneDocumentInPlace(Journal):
    """Keeps all entries in one document, and writes it into the file that holds the old one."""

    def _load(self):
        return json.loads(self._path.read_text("ascii")) if self._path.exists() else []

    def _save(self):
        self._path.write_text(json.dumps(self._entries), "ascii")


class OneDocumentWithoutALock(OneDocumentInPlace):
    """The same, and no lock is held meanwhile."""

    @contextlib.contextmanager
    def _changing(self):
        with self._lock:
            self._entries = self._load()
            yield


@pytest.mark.parametrize(
    ("provider", "rule", "told"),
    [
        places.nightly(
            OneDocumentInPlace,
            "MP-STORE-005",
            "the store opens after writes while no file took",
        ),
        (OneDocumentInPlace, "MP-PROC-006", "the store opens after a process was killed"),
        (OneDocumentWithoutALock, "MP-PROC-007", "process"),
    ],
)
def test_a_store_that_opens_no_more_is_booked_on_the_rule_of_the_deed(provider, rule, told):
    target = f"{__name__}:{provider.__name__}"
    order = Order(target, settings=settings.read(target, ROOT), directory=ROOT)
    results = judge(order, [spec.requirement(rule)])
    red = {item.id: item.expected for item in results if item.outcome in RED}
    assert list(red) == [rule]
    assert told in red[rule]
