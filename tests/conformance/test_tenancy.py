"""The kit's own parts for the chapter on tenancy: keys left out, patience, boundaries."""

import contextlib
from types import SimpleNamespace

import pytest

from memproto.bindings import NATIVE, WIRE
from memproto.conformance.provider import tenancy
from memproto.testing.clauses import Inconclusive, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.needs import depends_on
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.scenarios import tenants
from tests.good.journal import Journal
from tests.good.tenants import Tenants


class NoWire:
    def hook(self, operation, budget_s, *_):
        return contextlib.nullcontext(0.0)


@pytest.fixture
def run_of(tmp_path):
    def build(factory, binding=NATIVE, **context):
        return Run(factory, binding, tmp_path / "memory", Watch(NoWire()), Context(**context))

    return build


class Prepared(Journal):
    """Recalls only what it was asked to prepare."""

    def __init__(self):
        super().__init__()
        self._prepared = {}

    def queue_prefetch(self, query, *, session_id=""):
        self._prepared[query] = super().enrich_turn(query, [])

    def enrich_turn(self, user_message, messages):
        return self._prepared.get(user_message)


def test_a_key_of_none_is_left_out_of_the_configuration(run_of):
    config = run_of(Journal).config(user_id=None, agent_identity="north")
    assert "user_id" not in config
    assert config["agent_identity"] == "north"


def test_a_key_that_the_operator_set_is_never_left_out(run_of):
    run = run_of(Journal, config={"user_id": "ida"})
    assert run.config(user_id=None)["user_id"] == "ida"


def test_two_tenants_differ_in_the_id_of_their_boundary_alone(run_of):
    run = run_of(Tenants, capabilities={"isolates": ["profile", "user", "session"]})
    ida, otto = tenants.pair(run, "user")
    assert ida.session == otto.session
    assert ida.config != otto.config
    ida, otto = tenants.pair(run, "session")
    assert ida.session != otto.session
    assert ida.config == otto.config


@pytest.mark.parametrize(("factory", "apart"), [(Journal, False), (Tenants, True)])
def test_users_are_seen_to_be_kept_apart_or_not(run_of, factory, apart):
    run = run_of(factory, capabilities={"isolates": ["session"]})
    assert tenants.are_apart(run, tenants.pair(run, "user"), "turns") is apart


def test_a_boundary_that_is_declared_and_not_kept_is_left_to_its_own_rule(run_of):
    run = run_of(Journal, capabilities={"isolates": ["user"]})
    with pytest.raises(Untestable) as found:
        tenants.keeps(run, "user", tenants.pair(run, "user"), "turns")
    assert found.value.needs == depends_on("MP-TENANT-001")


def test_what_a_native_provider_does_not_declare_is_not_asked_of_it(run_of):
    run = run_of(Tenants, capabilities={"isolates": ["profile"]})
    assert not tenants.keeps(run, "user", tenants.pair(run, "user"), "turns")


def test_who_shows_a_fact_to_its_owner_after_a_while_is_given_that_while_by_others(run_of):
    run = run_of(Prepared)
    reader, fact = tenants.Reader(run), run.facts.new()
    ida, otto = tenants.pair(run, "user")
    tenants.store(run, ida, [fact], "turns")
    with otto.opened(run) as subject:
        assert not reader.finds(subject, fact)
    assert reader.lacks(ida, [fact]) == []
    with otto.opened(run) as subject:
        assert reader.finds(subject, fact)


class LosesOneTurn(Journal):
    """As one whose thread nobody waits for: the fourth turn comes too late."""

    recorded = 0

    def on_turn_complete(self, user_message, assistant_response):
        LosesOneTurn.recorded += 1
        if LosesOneTurn.recorded != 4:
            super().on_turn_complete(user_message, assistant_response)


class RefusesDots(Journal):
    def initialize(self, session_key, config):
        if ".." in config["user_id"]:
            raise ValueError("no dots")
        super().initialize(session_key, config)


def test_an_id_that_failed_once_and_not_again_is_not_to_blame(run_of):
    with pytest.raises(Inconclusive, match="1 of 16 ids failed once and not again"):
        tenancy.any_id_is_accepted(run_of(LosesOneTurn))
    with pytest.raises(Violation, match=r"any text as user_id is accepted.*no dots"):
        tenancy.any_id_is_accepted(run_of(RefusesDots))


def test_ids_that_arrive_as_one_over_the_wire_are_one_id():
    ids = ["ida-\ud83d", "ida-?", "ida-\ufffd"]
    assert tenancy._arriving(SimpleNamespace(binding=WIRE), ids) == ["ida-\ufffd", "ida-?"]
    assert tenancy._arriving(SimpleNamespace(binding=NATIVE), ids) == ids
