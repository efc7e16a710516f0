"""The stand-in of a Honcho server answers as the real one did, by the table of facts."""

import contextlib
import json
import tomllib
from pathlib import Path

import pytest

from memproto.reference_providers.honcho.standin import serving
from memproto.reference_providers.honcho.standin.table import ROUTES, find
from tests.reference_providers.honcho.honcho_shapes import faults
from tests.reference_providers.honcho.honcho_steps import SERVERS, STEPS, send

FACTS = tomllib.loads(Path(__file__).with_name("honcho_facts.toml").read_text("utf-8"))["fact"]

#: Routes of the table that no client of a memory needs.
NOT_SERVED = ("/scopes", "/clone", "/schedule_dream")


def key(fact):
    return fact["method"], fact["route"], fact["status"], fact["kind"]


BY_KEY = {key(fact): fact for fact in FACTS}


@pytest.fixture(scope="module")
def answered():
    """Step to the key of its fact and the value that it was answered with."""
    with contextlib.ExitStack() as running:
        servers = {name: running.enter_context(serving(**how)) for name, how in SERVERS.items()}
        ids, answers = {}, {}
        for place, step in enumerate(STEPS):
            status, kind, text = send(servers[step.on].url, step, ids)
            route = find(step.method, servers[step.on].requests[-1].path)[0]
            shown = "events" if kind.startswith("text/event-stream") else "json"
            is_json = shown == "json" and text
            value = json.loads(text) if is_json else None
            answers[place] = (step.method, route.path, status, shown), value
        return answers


@pytest.mark.parametrize(
    ("place", "step"), list(enumerate(STEPS)), ids=[step.name for step in STEPS]
)
def test_each_step_has_the_status_keys_and_types_of_the_real_server(answered, place, step):
    fact, value = answered[place]
    assert fact[2] == step.status, value
    assert fact in BY_KEY
    if fact[3] == "json":
        assert faults(value, BY_KEY[fact]["response"]) == []


@pytest.mark.parametrize("fact", FACTS, ids=["-".join(map(str, key(fact))) for fact in FACTS])
def test_each_fact_is_met_by_a_step(answered, fact):
    served = not any(part in fact["route"] for part in NOT_SERVED)
    assert served == (key(fact) in {met for met, _ in answered.values()})


def test_each_route_of_the_stand_in_is_one_of_the_real_server():
    assert {(each.method, each.path) for each in ROUTES} <= {key(fact)[:2] for fact in FACTS}


def test_a_value_of_another_shape_is_told_from_the_recorded_one():
    shape = BY_KEY["POST", "/v3/workspaces/{workspace_id}/peers", 201, "json"]["response"]
    assert faults({"id": "a", "metadata": {}, "configuration": [], "new": 1}, shape) == [
        "'' lacks 'created_at'",
        "'' lacks 'workspace_id'",
        "'configuration' is list, of ['object']",
        "'new' is unknown",
    ]
