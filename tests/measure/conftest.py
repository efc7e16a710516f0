"""Measurements of one target, as the command makes them, without its output."""

import pytest

from memproto.measure import plan as measuring
from memproto.measure.plan import Plan
from memproto.testing.processes import roots
from memproto.testing.settings.order import Order
from memproto.testing.settings.settings import Settings
from tests.kit_runs import ROOT


@pytest.fixture
def measured():
    """A function that measures a target; gives its row, and its answers to the first corpus."""
    root = roots.new_root()

    def measure(target, corpora=(), service="", **asked):
        plan = Plan(corpora, **{"sizes": (), "recalls": bool(corpora), "budget_s": 120.0, **asked})
        order = Order(target, settings=Settings(service=service), directory=ROOT)
        return measuring.of_target(plan, order, root, lambda _: None)

    yield measure
    roots.remove(root)
