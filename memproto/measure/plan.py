"""One measurement: the baselines, and each target with the same corpora, one after the other."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from memproto.measure import document, growth, recalling
from memproto.measure.baselines import BASELINES, NotInstalled
from memproto.measure.corpus import Corpus
from memproto.measure.growth import SIZES, Growth
from memproto.measure.player import Player, Unmeasurable
from memproto.measure.recalling import Recalled
from memproto.measure.scoring import Answer, Marked, marked
from memproto.testing.settings.order import Contact, Order

#: Seconds that each part of a target may take, unless others are asked for.
BUDGET_S = 600.0


@dataclasses.dataclass(frozen=True)
class Plan:
    """
    The questions of a measurement, and its size.

    Attributes:
        corpora: One for each repeat.
        sizes: Numbers of turns at which speed is measured; () for none.
        seed: Of what is drawn beside the corpora.
        budget_s: Seconds that recall, and then speed, of each target may take.
        recalls: True if recall of evidence is measured.

    """

    corpora: Sequence[Corpus]
    sizes: Sequence[int] = SIZES
    seed: int = 0
    budget_s: float = BUDGET_S
    recalls: bool = True


#: Told what begins now.
Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Found:
    """The row of one target or baseline, and its answers to the first corpus, for an export."""

    row: dict[str, Any]
    answers: dict[str, Answer]


def of_baselines(plan: Plan) -> Iterator[Found]:
    """Measure the baselines; one that needs a package that is not there says so, and no more."""
    for name, baseline in BASELINES.items() if plan.recalls else ():
        repeats: list[list[Marked]] = []
        first: dict[str, Answer] = {}
        left_out: dict[str, str] = {}
        try:
            for corpus in plan.corpora:
                recalls = [baseline(person) for person in corpus.people]
                answers = {
                    item.id: Answer(recalls[item.person](item.text)) for item in corpus.questions
                }
                first = first or answers
                repeats.append(marked(corpus, answers))
        except NotInstalled as fault:
            left_out["recall"] = str(fault)
        yield Found(document.row_of_baseline(name, repeats, left_out), first)


def of_target(plan: Plan, order: Order, root: Path, tell: Tell) -> Found:
    """
    Measure one target; blocks until it is done, or the budgets are over.

    Raises:
        KitUsageError: The target cannot be found, imported or built, or a setting does not work.

    """
    player = Player(order, root)
    recalled: Recalled | None = None
    grown: Growth | None = None
    left_out: dict[str, str] = {}
    contact = Contact()
    try:
        try:
            tell("first contact")
            contact = player.meet()
            # Both parts ask for it; a target without a route is left out as a whole.
            recalling.route(player)
        except Unmeasurable as fault:
            row = document.row_of_target(
                order.target, player.contact, None, None, {"all": str(fault)}
            )
            return Found(row, {})
        try:
            if plan.recalls:
                tell(f"recall, {len(plan.corpora)} times")
                recalled = recalling.measured(player, plan.corpora, plan.budget_s)
        except Unmeasurable as fault:
            left_out["recall"] = str(fault)
        if plan.sizes:
            tell(f"speed at {', '.join(f'{size:,}' for size in plan.sizes)} turns")
            grown = growth.measured(player, plan.sizes, plan.seed, plan.budget_s)
    finally:
        player.close()
    row = document.row_of_target(order.target, contact, recalled, grown, left_out)
    return Found(row, recalled.answers if recalled else {})
