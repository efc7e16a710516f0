"""
Sane providers of unusual build, written from the specification alone, have no red line.

Each was written as a product of another author, before it met a check; so they share no code. One
that turns red is a false alarm until the sentence of the specification says otherwise.
"""

import os

import pytest

from tests import matrix

pytestmark = pytest.mark.once

HERE = "tests.good.unusual"

#: Providers that CI judges: of each binding one, and the one whose recall finds least.
FEW = (
    f"{HERE}.proxying:Proxying",
    f"{HERE}.plain_only:register",
    f"{HERE}.vectors:TopOne",
)

#: The others, which `tox run -e mutants` judges as well.
OTHERS = (
    f"{HERE}.awaited:Awaited",
    f"{HERE}.objects.closures:notebook",
    f"{HERE}.committed:Committed",
    f"{HERE}.connected:Connected",
    f"{HERE}.shared.deduping:Deduping",
    f"{HERE}.diary:Diary",
    f"{HERE}.objects.dictlike:Dictlike",
    f"{HERE}.extracting:Extracting",
    f"{HERE}.flushed:Flushed",
    f"{HERE}.foresight:Foresight",
    f"{HERE}.keyworded:Keyworded",
    f"{HERE}.bounded.lately:Lately",
    f"{HERE}.limited:Limited",
    f"{HERE}.looping:Looping",
    f"{HERE}.mailed:Mailed",
    f"{HERE}.personal:register",
    f"{HERE}.onefile:Onefile",
    f"{HERE}.piped:Piped",
    f"{HERE}.shared.pooled:Pooled",
    f"{HERE}.profiling:Profiling",
    f"{HERE}.queued:Queued",
    f"{HERE}.quoting:Quoting",
    f"{HERE}.refreshed:Refreshed",
    f"{HERE}.bounded.ring:Ring",
    f"{HERE}.sealed:Sealed",
    f"{HERE}.serving:Serving",
    f"{HERE}.snippets:Snippets",
    f"{HERE}.summing:Summing",
    f"{HERE}.shared.tailing:Tailing",
    f"{HERE}.shared.teamed:Teamed",
    f"{HERE}.objects.typed:Typed",
    f"{HERE}.vectors:TopThree",
    f"{HERE}.vectors:register",
)


@pytest.mark.parametrize("target", FEW if os.environ.get("MEMPROTO_PART") else FEW + OTHERS)
def test_a_sane_provider_of_unusual_build_has_no_red_and_no_open_line(target: str) -> None:
    assert matrix.row(target, "all").faults == ()
