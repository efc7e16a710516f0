"""The registry and the kit take the same providers, however they are made."""

import pytest

from memproto import MemoryProviderRegistry, loading
from memproto.adapters.coroutines import is_async
from memproto.bindings import NATIVE
from memproto.conformance.provider import turns
from memproto.errors import InvalidLabel, NoProvider, NotAProvider
from memproto.testing.provider import losses
from tests.testing.faults import proxied

SANE = (
    *("Claiming", "wrapping_mock", "specified_mock", "magic_mock", "non_callable_mock"),
    *("OfTheClass", "Partials", "Callables", "PartialMethods", "Properties", "Data"),
    *("DataFields", "Slotted", "ByBoth", "namespace", "Empty"),
)


@pytest.mark.parametrize("name", SANE)
def test_a_provider_of_any_make_is_taken_by_both(name, journal_run):
    MemoryProviderRegistry().register(getattr(proxied, name)())
    loaded = loading.load(f"tests.testing.faults.proxied:{name}")
    assert loaded.binding is NATIVE
    run = journal_run(loaded.build, "turns", "writes")
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, "turns")
    assert losses.lost(run, [fact]) == []
    turns.a_replaced_text_is_gone(run)


def test_one_whose_class_alone_answers_is_taken_by_neither():
    lacking = "is_available, initialize"
    with pytest.raises(NotAProvider, match=lacking):
        MemoryProviderRegistry().register(proxied.ByItsClass())
    with pytest.raises(NoProvider, match=lacking):
        loading.load("tests.testing.faults.proxied:ByItsClass")


@pytest.mark.parametrize("name", ["nameless_mock", "autospec"])
def test_a_stand_in_whose_name_is_none_is_refused_for_its_name(name):
    """The kit takes it and says the same by MP-NAME-001; coroutines have no part in it."""
    built = getattr(proxied, name)()
    with pytest.raises(InvalidLabel, match="cannot label"):
        MemoryProviderRegistry().register(built)
    assert not is_async(built)
    assert loading.load(f"tests.testing.faults.proxied:{name}").binding is NATIVE


def test_a_stand_in_for_a_coroutine_is_one():
    from unittest import mock

    class Hooks:
        async def enrich_turn(self, user_message, messages):
            return None

    for made in (Hooks(), mock.create_autospec(Hooks, instance=True)):
        assert is_async(made)
    one = proxied.wrapping_mock()
    one.enrich_turn = mock.AsyncMock(return_value=None)
    with pytest.raises(NotAProvider, match="coroutine hooks"):
        MemoryProviderRegistry().register(one)
