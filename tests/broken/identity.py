"""Broken names and availability."""

import itertools
import time

from tests.broken.marks import mutant
from tests.good.journal import Journal


@mutant(kills="MP-NAME-002", says="'My Journal'", report="F3")
class NameWithASpace(Journal):
    name = "My Journal"


@mutant(kills="MP-AVAIL-002", says="[True, False", report="B8")
class AvailabilityFlaps(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._answers = itertools.cycle((True, False))

    def is_available(self) -> bool:
        return next(self._answers)


@mutant(kills="MP-AVAIL-001", says="KeyError", report="B8")
class AvailabilityRaises(Journal):
    def is_available(self) -> bool:
        raise KeyError("JOURNAL_KEY")


@mutant(kills="MP-LOAD-001", says="had not returned", report="K3", scale=0.05)
class BuildingHangs(Journal):
    def __init__(self) -> None:
        time.sleep(3600)
