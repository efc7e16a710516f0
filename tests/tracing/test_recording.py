"""A recorded provider is the provider, whatever happens to the trace."""

import asyncio
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from memproto import AsyncMemoryProviderRegistry, MemoryProvider, MemoryProviderRegistry, spec
from memproto.adapters.aio import from_async
from memproto.adapters.hermes import HermesAdapter, from_hermes
from memproto.errors import Misconfigured
from memproto.extensions import EXTENSIONS
from memproto.fence import inject_memory_context
from memproto.operations import CORE_HOOKS, EXTENSION_HOOKS
from memproto.recording import Recording, record
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.tracing import judge, read
from tests.good.journal import Journal
from tests.tracing.recorded import SECRET, file, home, lived, trace_in

__all__ = ["file", "home"]  # fixtures


# -- the provider is the same ----------------------------------------------------------------------


@pytest.mark.parametrize("make", [BuiltinMemoryProvider, Journal])
def test_a_recorded_provider_has_the_members_of_the_provider(
    make: Callable[[], Any], file: Path
) -> None:
    plain, recorded = make(), record(make(), file)
    assert isinstance(recorded, MemoryProvider)
    assert isinstance(recorded, make)
    for hook in {*CORE_HOOKS, *(name for hooks in EXTENSION_HOOKS.values() for name in hooks)}:
        assert hasattr(recorded, hook) == hasattr(plain, hook), hook
        if callable(getattr(plain, hook, None)):
            assert inspect.signature(getattr(recorded, hook)) == inspect.signature(
                getattr(plain, hook)
            )
    for protocol in EXTENSIONS.values():
        assert isinstance(recorded, protocol) == isinstance(plain, protocol)


def test_a_recorded_provider_answers_and_stores_as_it_does_alone(file: Path, home: Path) -> None:
    lived(record(BuiltinMemoryProvider(), file), home)
    registry = MemoryProviderRegistry()
    registry.register(BuiltinMemoryProvider())
    registry.initialize_all("later", {"home": str(home)})
    ((_, told),) = registry.enrich_turn("berth", [])
    registry.shutdown_all()
    assert SECRET in told


class Sets(Journal):
    attribute = 1


def test_attributes_are_those_of_the_provider(file: Path) -> None:
    provider = Sets()
    recorded = record(provider, file)
    recorded.attribute = 2
    assert provider.attribute == 2
    recorded.other = 3
    assert provider.other == 3  # type: ignore[attr-defined]
    del recorded.other
    assert not hasattr(recorded, "other")


class Raises(Journal):
    def enrich_turn(self, user_message: str, messages: list) -> str | None:
        raise LookupError(user_message)


def test_what_a_hook_raises_goes_through_and_its_text_is_not_written(file: Path) -> None:
    recorded = record(Raises(), file)
    with pytest.raises(LookupError, match=SECRET):
        recorded.enrich_turn(SECRET, [])
    assert '"error":"LookupError"' in file.read_text()
    assert "Vossamir" not in file.read_text()


class NoKey(Misconfigured):
    pass


class Keyless(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        raise NoKey


def test_an_error_that_is_derived_from_one_of_the_specification_goes_by_its_name(
    file: Path, home: Path
) -> None:
    with Recording(file) as recording:
        registry = MemoryProviderRegistry()
        registry.register(recording.around(Keyless()))
        registry.initialize_all("s", {"home": str(home)})
        registry.shutdown_all()
    assert '"error":"Misconfigured"' in file.read_text()
    assert judge(trace_in(file)) == []


class Later:
    """A provider of coroutines."""

    name = "later"

    def is_available(self) -> bool:
        return True

    def capabilities(self) -> dict[str, Any]:
        return {"spec_version": "1.0"}

    async def initialize(self, session_key: str, config: dict[str, Any]) -> None: ...
    async def shutdown(self) -> None: ...

    async def enrich_turn(self, user_message: str, messages: list) -> str | None:
        await asyncio.sleep(0)
        return user_message

    async def on_memory_write(self, *args: Any) -> None: ...
    async def on_turn_complete(self, *args: Any) -> None: ...
    async def on_compress(self, *args: Any) -> None: ...


def test_coroutine_hooks_are_recorded_until_they_are_done(file: Path, home: Path) -> None:
    recorded = record(Later(), file)
    assert inspect.iscoroutinefunction(recorded.enrich_turn)
    assert asyncio.run(recorded.enrich_turn("a", [])) == "a"
    lived(from_async(recorded), home)
    calls = read(file)[0][0].calls
    assert [call.result["type"] for call in calls if call.operation == "recall"] == ["str"] * 4


def test_the_registry_of_coroutines_takes_a_recorded_provider(file: Path, home: Path) -> None:
    async def session(recording: Recording) -> list[tuple[str, str]]:
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(recording.around(Later()))
            await registry.initialize_all("s", {"home": str(home)})
            answers = await registry.enrich_turn("a", [])
            await registry.on_turn_complete("a", "b")
            return answers

    with Recording(file) as recording:
        assert asyncio.run(session(recording)) == [("later", "a")]
    trace = trace_in(file)
    assert {"recall", "record", "close"} <= {call.operation for call in trace.calls}
    assert judge(trace) == []


class OldHermes:
    """A Hermes provider whose hooks take little."""

    name = "old-hermes"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def is_available(self) -> bool:
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None: ...
    def shutdown(self) -> None: ...
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return []

    def prefetch(self, query: str) -> str:
        return ""

    def sync_turn(self, user_content: str, assistant_content: str) -> None:
        self.told.append((user_content, assistant_content))

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None: ...


def test_a_hermes_provider_is_called_with_what_its_hooks_take(file: Path, home: Path) -> None:
    provider = OldHermes()
    lived(from_hermes(record(provider, file)), home, turns=1)
    assert provider.told == [(f"{SECRET} 0", SECRET)]
    trace = read(file)[0][0]
    assert trace.providers[1].binding == "hermes"
    hooks = {call.hook: call for call in trace.calls}
    assert hooks["sync_turn"].args.keys() == {"user_message", "assistant_response"}
    assert {"initialize", "prefetch", "sync_turn", "shutdown"} <= hooks.keys()


def test_a_recorded_adapter_is_still_the_adapter(file: Path, home: Path) -> None:
    recorded = record(from_hermes(OldHermes()), file)
    assert isinstance(recorded, HermesAdapter)
    registry = MemoryProviderRegistry()
    registry.register(recorded)
    registry.initialize_all("one", {"home": str(home)})
    registry.on_session_switch("two", reset=True)
    registry.shutdown_all()
    del registry, recorded
    trace = trace_in(file)
    assert len([call for call in trace.calls if call.operation == "switch"]) == 1
    assert judge(trace) == []


# -- the lines -------------------------------------------------------------------------------------


def test_the_reference_registry_writes_a_trace_in_order(file: Path, tmp_path: Path) -> None:
    with Recording(file) as recording:
        registry = MemoryProviderRegistry()
        for number, provider in enumerate((BuiltinMemoryProvider(), Journal())):
            registry.register(recording.around(provider))
            (tmp_path / str(number)).mkdir()
        registry.initialize_all("s", {"home": str(tmp_path / "0")})
        registry.on_turn_start(1, SECRET)
        registry.enrich_turn(SECRET, [])
        registry.on_turn_complete(SECRET, SECRET)
        registry.on_session_switch("s-2", reset=True)
        registry.system_prompt_block()
        registry.shutdown_all()
    trace = trace_in(file)
    assert judge(trace) == []
    assert {"open", "declare", "recall", "record", "prompt", "close"} <= {
        call.operation for call in trace.calls
    }
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    jsonschema.validate(rows, {"type": "array", "items": spec.schema("trace-event")})


def test_no_text_of_a_user_is_in_a_trace(file: Path, home: Path) -> None:
    with Recording(file) as recording:
        lived(recording.around(BuiltinMemoryProvider()), home, turns=1)
    for word in ("Vossamir", "Tellendrake", "moors", str(home)):
        assert word not in file.read_text(), word
    assert trace_in(file).calls


def test_equal_texts_are_equal_in_a_trace_and_different_in_another(tmp_path: Path) -> None:
    digests = []
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        with Recording(path) as recording:
            recorded = recording.around(Raises())
            for words in ("a", "a", "b"):
                with pytest.raises(LookupError):
                    recorded.enrich_turn(words, [])
        digests.append([call.args["user_message"]["digest"] for call in trace_in(path).calls])
    for mine in digests:
        assert mine[0] == mine[1] != mine[2]
    assert set(digests[0]).isdisjoint(digests[1])


class Mixed(dict):
    def __len__(self) -> int:
        raise RuntimeError


class Takes(Journal):
    def on_memory_write(self, *args: Any) -> None: ...


def digests_of(file: Path, *values: object) -> list[str]:
    with Recording(file) as recording:
        recorded: Any = recording.around(Takes())
        for value in values:
            recorded.on_memory_write("add", "memory", value)
    return [call.args["content"].get("digest", "") for call in trace_in(file).calls]


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError


def test_values_of_other_types_and_shapes_have_other_digests(file: Path) -> None:
    values = ["1", 1, b"1", ["1"], [["1"]], {"1": 1}, ["a", "b"], ["ab"], "\ud800", "x" * 3_000_000]
    digests = digests_of(file, *values)
    assert len(set(digests)) == len(values)


def test_what_is_equal_has_one_digest_whatever_its_order(file: Path) -> None:
    one, other = {"a": 1, "b": [True, None]}, {"b": [True, None], "a": 1}
    assert len(set(digests_of(file, one, other))) == 1


def test_values_that_nothing_can_be_said_of_are_passed_on(file: Path) -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    values = [Odd(), deep, endless, {Odd(): 1}, Mixed(), float("nan"), {1, "a"}]
    assert len(digests_of(file, *values)) == len(values)


@pytest.mark.parametrize("nonce", [None, "a-nonce-of-one-turn"])
def test_a_block_in_a_recorded_message_is_told_and_a_tag_alone_is_none(
    file: Path, home: Path, nonce: str | None
) -> None:
    provider = record(Journal(), file)
    provider.initialize("one", {"home": str(home)})
    said = inject_memory_context("hello", [("a", "berth 7")], nonce=nonce)
    for message in (said, "hello <memory-context>\nberth 7"):
        provider.on_turn_complete(message, "hi")
    provider.shutdown()
    found = [call.facts["block"] for call in trace_in(file).calls if "block" in call.facts]
    assert found == [True, False]
