"""`is_hermes` and `is_async`: the dialect of a provider, told by its shape alone."""

import gc

import pytest

from memproto.adapters.aio import is_async
from memproto.adapters.hermes import is_hermes


class Bare:
    name = "bare"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        """Nothing to set up."""

    def prefetch(self, query, *, session_id=""):
        return ""


class Inherits(Bare):
    def get_tool_schemas(self):
        return []


class RunsNothing(Bare):
    @property
    def name(self):
        raise AssertionError

    @property
    def capabilities(self):
        raise AssertionError


class Native:
    name = "native"
    is_available = initialize = capabilities = enrich_turn = Bare.is_available


class NativeToolsOnly:
    name = "native"
    is_available = initialize = capabilities = get_tool_schemas = Bare.is_available


class Recalls(Bare):
    enrich_turn = Bare.prefetch


class Records(Bare):
    on_turn_complete = Bare.prefetch


class NamedInstances:
    is_available = initialize = sync_turn = Bare.is_available


@pytest.mark.parametrize("obj", [Bare, Bare(), Inherits, Inherits(), RunsNothing, RunsNothing()])
def test_a_hermes_provider_is_known_by_its_shape_as_class_and_as_instance(obj):
    assert is_hermes(obj)


@pytest.mark.parametrize(
    "obj",
    [Native, Native(), NativeToolsOnly, Recalls, Records(), NamedInstances(), object, None, "", gc],
)
def test_what_lacks_the_shape_is_no_hermes_provider(obj):
    assert not is_hermes(obj)


def test_a_class_may_leave_its_name_to_its_instances():
    assert is_hermes(NamedInstances)


class Coroutines:
    async def initialize(self, session_key, config):
        """Nothing to set up."""


class Mixed:
    def initialize(self, session_key, config):
        """Nothing to set up."""

    async def enrich_turn(self, user_message, messages):
        return None


@pytest.mark.parametrize("provider", [Coroutines, Coroutines(), Mixed, Mixed()])
def test_a_provider_with_coroutine_hooks_is_async_as_class_and_as_instance(provider):
    assert is_async(provider)


def test_one_coroutine_extension_hook_is_enough_to_be_async():
    class OnlyTools:
        @staticmethod
        async def handle_tool_call(tool_name, args, **kwargs):
            return "{}"

    assert is_async(OnlyTools)


def test_a_plain_provider_is_not_async_and_its_properties_are_not_run():
    class Plain:
        @property
        def shutdown(self):
            raise AssertionError

        def enrich_turn(self, user_message, messages):
            return None

    assert not is_async(Plain)
    assert not is_async(Plain())
