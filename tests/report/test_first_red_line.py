"""The first red line of a broken provider is the rule that it names, and few others are red."""

import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from memproto.report import document, findings
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings import settings
from memproto.testing.settings.order import Contact, Order
from tests import matrix
from tests.broken.marks import Mutant, load_all

# The outcome of a requirement does not depend on the Python that judges it.
pytestmark = pytest.mark.once

#: Number of broken providers, of which CI judges the first ones, and the seed of the choice.
COUNT = 8 if os.environ.get("MEMPROTO_PART") == "once" else 30
SEED = 19

#: So many violations may be told beside the first without being marked as its consequences.
MOST_OTHERS = 2

PROVIDERS = [item for item in load_all().values() if not item.kills.startswith("MP-HOST-")]
CHOSEN = random.Random(SEED).sample(PROVIDERS, 30)[:COUNT]


def shown(mutant: Mutant, results: dict[str, Result]) -> list[dict[str, object]]:
    """The red rows in the order in which a run tells them."""
    given = settings.read(mutant.target, matrix.ROOT)
    order = Order(mutant.target, "provider", given, directory=matrix.ROOT)
    judged = document.Judged(order, Contact(), list(results.values()))
    (report,) = document.build([judged], document.RunFacts())["reports"]
    warned = results[mutant.kills].outcome is Outcome.WARN
    red = ("fail", "kit_error", "warn") if warned else ("fail", "kit_error")
    return [row for row in findings.in_order(report["results"]) if row["outcome"] in red]


def told(mutant: Mutant) -> tuple[Mutant, list[dict[str, object]]]:
    # All areas that the fault is about, and those in which faults show by accident.
    return mutant, shown(mutant, matrix._judged(mutant.target, mutant, "near"))


def line(mutant: Mutant, rows: list[dict[str, object]]) -> str:
    names = [f"{row['id']}{'<' + str(row['follows']) if row['follows'] else ''}" for row in rows]
    return f"{mutant.target.removeprefix('tests.broken.'):58} {mutant.kills:14} {' '.join(names)}"


@pytest.mark.long
def test_the_first_red_line_of_a_broken_provider_is_the_rule_that_it_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ThreadPoolExecutor(matrix.WORKERS) as pool:
        table = list(pool.map(told, CHOSEN))
    with capsys.disabled():
        print("\n" + "\n".join(line(*row) for row in table))  # noqa: T201 - the table is the point
    first = [m.target for m, rows in table if not rows or rows[0]["id"] != m.kills]
    assert first == []
    others = {m.target: [row for row in rows[1:] if row["follows"] != m.kills] for m, rows in table}
    assert [target for target, rows in others.items() if len(rows) > MOST_OTHERS] == []
    assert len(table) == COUNT
