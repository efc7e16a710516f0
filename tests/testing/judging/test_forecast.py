"""The costs of checks, by which a run is planned."""

import json

import pytest

from memproto import spec
from memproto.testing.judging import forecast
from memproto.testing.settings.order import Pace
from scripts import make_check_costs


def test_no_cost_is_below_zero():
    for name, cost in forecast.costs().items():
        assert min(cost.own_s, cost.further, *cost.calls.values(), 0.0) == 0.0, name


@pytest.fixture
def report(tmp_path):
    """A function that writes the report of one check, and gives its file."""

    def write(duration_s):
        hooks = {"mirror": [4, 0.1, 0.2]}
        row = {"id": "MP-X-001", "outcome": "pass", "duration_s": duration_s, "hooks": hooks}
        file = tmp_path / f"{duration_s}.json"
        file.write_text(json.dumps({"reports": [{"results": [row]}]}), "utf-8")
        return str(file)

    return write


def test_a_slow_provider_that_took_less_than_the_fast_one_waited_for_nothing(report):
    found = make_check_costs.costs(0.1, report(2.0), report(1.0))
    assert found == {"MP-X-001": {"own_s": 1.8, "calls": {"mirror": 0.0}, "further": 0.0}}


def test_calls_that_a_process_of_the_check_does_not_know_are_told_by_the_wait(report):
    found = make_check_costs.costs(0.1, report(1.0), report(2.0))
    assert found["MP-X-001"]["calls"] == {"mirror": 4.0}
    assert found["MP-X-001"]["further"] == pytest.approx(6.0)


PACE = Pace(hooks={"open": [3, 0.3, 0.9], "recall": [3, 0.3, 0.9], "call_tool": [3, 0.3, 0.9]})
MIXED = forecast.Cost(
    own_s=0.0, calls={"recall": 2.0, "call_tool": 5.0, "export": 4.0}, further=1.0
)


@pytest.mark.parametrize(
    ("extensions", "takes_s", "calls"),
    [
        (None, 3.6, 12),  # an operation that was not called at first contact takes as long
        ([], 0.9, 3),
        (["tools"], 2.4, 8),
        (["tools", "privacy"], 3.6, 12),
    ],
)
def test_an_operation_that_is_not_served_is_not_called(extensions, takes_s, calls, monkeypatch):
    monkeypatch.setattr(forecast, "costs", lambda: {"MP-RECALL-001": MIXED})
    made = forecast.Forecast(PACE, extensions)
    requirement = spec.requirement("MP-RECALL-001")
    assert made.check_s(requirement) == pytest.approx(takes_s)
    assert made.calls([requirement]) == calls
    assert made.wait_s == pytest.approx(0.3)
