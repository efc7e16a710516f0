"""Context providers are known without their framework, which their hooks need to be called."""

import importlib.util

import pytest

from memproto import bindings
from memproto.bindings import AGENT_FRAMEWORK, PerUser
from memproto.errors import MissingPackage
from tests.good.journal import Journal


class Shaped:
    """A provider that inherits from nothing."""

    source_id = "shaped"

    async def before_run(self, *, agent, session, context, state):
        pass

    async def after_run(self, *, agent, session, context, state):
        pass


class Blocking(Shaped):
    """Its hooks are no coroutines, so that an agent could not await them."""

    def before_run(self, *, agent, session, context, state):
        pass


def of_framework(name, *bases):
    return type(name, bases, {"__module__": "agent_framework._sessions"})


def test_a_provider_is_recognised_by_its_shape_and_one_for_each_user_as_well():
    assert bindings.recognised(Shaped()) is AGENT_FRAMEWORK
    assert bindings.recognised(PerUser(lambda user: Shaped())) is AGENT_FRAMEWORK
    assert bindings.defined(Shaped)


def test_it_is_recognised_by_its_base_class_which_is_no_provider_itself():
    base = of_framework("ContextProvider")
    history = of_framework("HistoryProvider", base)
    assert not AGENT_FRAMEWORK.recognises(base)
    assert not AGENT_FRAMEWORK.recognises(history)
    assert AGENT_FRAMEWORK.recognises(type("Mine", (history,), {}))


class JournalWithThoseHooks(Journal):
    """A native provider whose author serves an agent of the framework as well."""

    before_run, after_run, source_id = Shaped.before_run, Shaped.after_run, Shaped.source_id


@pytest.mark.parametrize(
    "found", [Blocking(), Journal, Journal(), JournalWithThoseHooks(), object(), None]
)
def test_nothing_else_is_a_provider(found):
    assert not AGENT_FRAMEWORK.recognises(found)


def test_the_report_notes_a_provider_that_is_no_subclass():
    assert AGENT_FRAMEWORK.notes(Shaped()) == (
        "judged by its shape: no subclass of ContextProvider",
    )


def test_without_the_framework_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="pip install agent-framework-core"):
        AGENT_FRAMEWORK.meet("mine:Shaped", Shaped)
