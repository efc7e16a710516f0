"""Registries whose tools, prompt or compression are broken."""

import copy
import dataclasses
import json
import types

from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from memproto.registry.parts.tool_schemas import fault_of
from memproto.registry.parts.tools import read_tools
from memproto.testing.agent import Agent
from tests.broken.host.parts import (
    LateLane,
    OtherLane,
    Through,
    Wrapping,
    by_the_wall_clock,
    sliding,
)
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-TOOL-001", says="no tool with", report="G2")
class OffersWhateverThereIs(MemoryProviderRegistry):
    def get_tool_schemas(self):
        given = [lane.attempt("get_tool_schemas")[0] for lane in self._core.serving("tools")]
        unfit = [item for schemas in given for item in schemas if fault_of(item)]
        return super().get_tool_schemas() + [item for item in unfit if isinstance(item, dict)]


@mutant(kills="MP-HOST-TOOL-002", says="of the second", report="hermes#10529")
class CallsTheLastOfAName(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        self._tools.table = read_tools(
            self._core.lanes[::-1], self._core.policy, self._core.gather(5.0)
        )


@mutant(kills="MP-HOST-TOOL-003", says="no tool of a provider by the name", report="hermes#40902")
class LetsAProviderTakeItsTool(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None, policy=None):
        if policy is not None:
            policy = dataclasses.replace(policy, reserved_tools=frozenset())
        super().__init__(deadlines=deadlines, on_event=on_event, policy=policy)


@mutant(kills="MP-HOST-TOOL-004", says="JSON document", report="G3")
class AnswersWithTheTextOfAnError(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        result = super().handle_tool_call(tool_name, args, **kwargs)
        return json.loads(result).get("error", result)


@mutant(kills="MP-HOST-TOOL-005", says="its provider was called", report="hermes#46171")
class ForbidsAtTheOfferOnly(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        tool = self._tools.table.get(tool_name)
        if tool is None or not isinstance(args, dict):
            return super().handle_tool_call(tool_name, args, **kwargs)
        return self._tools._routed(tool.lane, tool_name, args, kwargs)


@mutant(kills="MP-HOST-TOOL-006", says="had not returned", report="B1")
class WaitsForATool(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=None):
        patient = dataclasses.replace(deadlines or Deadlines(), tool_s=3600)
        super().__init__(deadlines=patient, on_event=on_event)


@mutant(kills="MP-HOST-TOOL-001", says="`not` at the top", report="G2")
class KnowsTheChoicesOfOneApi(MemoryProviderRegistry):
    def get_tool_schemas(self):
        given = [lane.attempt("get_tool_schemas")[0] for lane in self._core.serving("tools")]
        listed = [item for schemas in given for item in schemas or () if isinstance(item, dict)]
        taken = [item for item in listed if "not" in (item.get("parameters") or ())]
        return super().get_tool_schemas() + taken


@mutant(kills="MP-HOST-TOOL-001", says="in one of two choices", report="G2")
class LooksIntoNoChoice(MemoryProviderRegistry):
    def get_tool_schemas(self):
        given = [lane.attempt("get_tool_schemas")[0] for lane in self._core.serving("tools")]
        listed = [item for schemas in given for item in schemas or () if isinstance(item, dict)]
        taken = [item for item in listed if fault_of(item) and not self._is_seen(item)]
        return super().get_tool_schemas() + taken

    @staticmethod
    def _is_seen(item):
        parameters = item.get("parameters") or ()
        said = parameters.get("properties", {}) if isinstance(parameters, dict) else {}
        chosen = {name: part for name, part in said.items() if "anyOf" not in part}
        return (
            "name" not in item
            or chosen == said
            or bool(fault_of({**item, "parameters": {**parameters, "properties": chosen}}))
        )


@mutant(kills="MP-HOST-TOOL-007", says="whose first call has not returned", report="B1")
class AsksAgainWhatHangs(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        for lane in self._core.lanes:
            lane.late["handle_tool_call"].clear()
        return super().handle_tool_call(tool_name, args, **kwargs)


@mutant(kills="MP-HOST-TOOL-007", says="is not called any more", report="B3")
class GivesUpAToolForGood(MemoryProviderRegistry):
    hung = frozenset()

    def handle_tool_call(self, tool_name, args, **kwargs):
        if tool_name in self.hung:
            return json.dumps({"success": False, "error": "the tool has hung"})
        result = super().handle_tool_call(tool_name, args, **kwargs)
        if "has not answered" in result:
            self.hung |= {tool_name}
        return result


@mutant(kills="MP-HOST-PROMPT-006", says="a prompt that holds", report="F8")
class AddsTheFirstBlockOnly(MemoryProviderRegistry):
    def system_prompt_block(self):
        first, _, _ = super().system_prompt_block().partition("\n\n")
        return first


@mutant(kills="MP-HOST-PROMPT-001", says="boats.", report="hermes#754")
class AsksForTheBlockEachTime(MemoryProviderRegistry):
    def system_prompt_block(self):
        self._contributions._prompt = None, ""
        return super().system_prompt_block()


@mutant(kills="MP-HOST-PROMPT-002", says="a prompt that differs", report="hermes#81014")
class PromisesForbiddenTools(MemoryProviderRegistry):
    def system_prompt_block(self):
        self._contributions._is_toolless = lambda lane: False
        return super().system_prompt_block()


@mutant(kills="MP-HOST-PROMPT-003", says="characters", report="hermes#101825")
class TakesEveryBlockWhole(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        self._core.limits = dataclasses.replace(self._core.limits, prompt_chars=10**9)
        super().initialize_all(session_key, config)


@mutant(kills="MP-HOST-TOOL-002", says="at the provider that brought it", report="G4")
class KeepsResultsByTheirArguments(MemoryProviderRegistry):
    kept = types.MappingProxyType({})

    def handle_tool_call(self, tool_name, args, **kwargs):
        key = str(args)
        result = self.kept.get(key) or super().handle_tool_call(tool_name, args, **kwargs)
        self.kept = {**self.kept, key: result} if '"success": true' in result else self.kept
        return result


@mutant(kills="MP-HOST-TOOL-004", says="60,000 characters", report="D6")
class CutsLongResults(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        return super().handle_tool_call(tool_name, args, **kwargs)[:50_000]


@mutant(kills="MP-HOST-PROMPT-001", says="boats.", report="F7")
class AddsTheBlockOnceMoreAfterCompression(MemoryProviderRegistry):
    times = 1

    def on_compress(self, messages, compression_count):
        self.times += 1
        return super().on_compress(messages, compression_count)

    def system_prompt_block(self):
        return "\n".join([super().system_prompt_block()] * self.times)


@mutant(kills="MP-HOST-TOOL-005", says="where the model asked for", report="G6")
class ReadsANameLeniently(Agent):
    def call_tool(self, name, args):
        for lane in self.registry._core.lanes:
            for known in lane.capabilities.get("tool_names", ()):
                if name != known and name.strip().lower() == known.lower():
                    return self.registry._tools._routed(lane, known, dict(args), {})
        return super().call_tool(name, args)


class _Passing(Through):
    def system_prompt_block(self):
        return self.inner.system_prompt_block().replace("memory-context", "memoryQcontext")


@mutant(kills="MP-HOST-PROMPT-004", says="a prompt without", report="F3")
class AddsABlockAsItIs(Wrapping):
    through = _Passing

    def system_prompt_block(self):
        return super().system_prompt_block().replace("memoryQcontext", "memory-context")


@mutant(kills="MP-HOST-PROMPT-005", says="it had not returned", report="B2")
class AsksForThePromptWithoutADeadline(MemoryProviderRegistry):
    def system_prompt_block(self):
        for lane in self._core.serving("prompt"):
            lane.attempt("system_prompt_block")
        return super().system_prompt_block()


class _Believing(Through):
    answer = None

    def handle_tool_call(self, tool_name, args, **kwargs):
        self.answer = self.inner.handle_tool_call(tool_name, args, **kwargs)
        return self.answer


@mutant(kills="MP-HOST-TOOL-004", says="two documents", report="G3")
class TakesABraceForJson(Wrapping):
    through = _Believing

    def handle_tool_call(self, tool_name, args, **kwargs):
        result = super().handle_tool_call(tool_name, args, **kwargs)
        found = [lane.provider.answer for lane in self._core.lanes]
        return next((text for text in found if str(text).startswith('{"')), result)


@mutant(kills="MP-HOST-TOOL-004", says="TypeError", report="J1")
class SpreadsTheArguments(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        return super().handle_tool_call(tool_name, {**args}, **kwargs)


@mutant(kills="MP-HOST-TOOL-008", says="are a str", report="J1")
class HandsOnWhateverTheModelWrote(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        tool = self._tools.table.get(tool_name)
        if tool is None or isinstance(args, dict):
            return super().handle_tool_call(tool_name, args, **kwargs)
        return self._tools._routed(tool.lane, tool_name, args, kwargs)


@mutant(kills="MP-HOST-TOOL-008", says="are null", report="J1")
class HandsOnNullAsArguments(HandsOnWhateverTheModelWrote):
    def handle_tool_call(self, tool_name, args, **kwargs):
        is_null = args is None
        given = args if is_null or isinstance(args, dict) else {}
        return super().handle_tool_call(tool_name, given, **kwargs)


@mutant(kills="MP-HOST-TOOL-009", says="an agent changed", report="J5")
class GivesItsOwnSchemasAway(MemoryProviderRegistry):
    def get_tool_schemas(self):
        return [tool.schema for tool in self._tools.offered()]


@mutant(kills="MP-HOST-TOOL-009", says="its provider changed", report="J5")
class KeepsTheProvidersSchemas(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        kept = dict(self._tools.table)
        for name, tool in kept.items():
            given = tool.lane.attempt("get_tool_schemas")[0]
            own = [item for item in given if isinstance(item, dict) and item.get("name") == name]
            kept[name] = tool._replace(schema=own[0])
        self._tools.table = kept


class _First(Through):
    given = None

    def get_tool_schemas(self):
        self.given = self.given or self.inner.get_tool_schemas()
        return copy.deepcopy(self.inner.get_tool_schemas())


@mutant(kills="MP-HOST-TOOL-010", says="as their provider gave them", report="G1")
class CompletesTheProvidersSchemas(Wrapping):
    through = _First

    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        for lane in self._core.serving("tools"):
            for schema in lane.provider.given or ():
                if isinstance(schema, dict):
                    schema.setdefault("strict", False)


@mutant(kills="MP-HOST-PROMPT-001", says="boats.", report="B3")
class AsksAgainWhereABlockIsMissing(MemoryProviderRegistry):
    def system_prompt_block(self):
        block = super().system_prompt_block()
        if block.count("### ") < len(self._core.serving("prompt")):
            self._contributions._prompt = None, ""
        return block


@mutant(kills="MP-HOST-PROMPT-001", says="boats.", report="F7")
class SaysThePromptOnceMoreInEachRequest(Agent):
    said = ""

    def start(self, session):
        super().start(session)

        def said(messages):
            self.said += self.prompt()
            return session.model([{"role": "system", "content": self.said}, *messages])

        self._model = said


@mutant(kills="MP-HOST-TOOL-004", says="no text that holds it", report="G3")
class EncodesAResultTwice(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        return json.dumps(super().handle_tool_call(tool_name, args, **kwargs))


@mutant(kills="MP-HOST-PROMPT-006", says="of the new conversation", report="D3")
class KeepsThePromptOfTheStart(MemoryProviderRegistry):
    kept = None

    def system_prompt_block(self):
        if self.kept is None:
            self.kept = super().system_prompt_block()
        return self.kept


@mutant(kills="MP-HOST-TOOL-005", says="which is forbidden", report="hermes#46171")
class ForgetsTheRulesAtASwitch(Agent):
    def switch(self, kind, new_session_id):
        super().switch(kind, new_session_id)
        self._rules.denied = frozenset()


@mutant(kills="MP-HOST-TOOL-005", says="which is forbidden", report="G6")
class KeepsTheRulesOfTheLastSession(Agent):
    last = types.SimpleNamespace()

    def start(self, session):
        super().start(session)
        self.last.denied = session.denied_tools

    def tools(self):
        self._rules.denied = self.last.denied
        return super().tools()


@mutant(kills="MP-HOST-PROMPT-001", says="2", report="F7")
class AsksForThePromptAtEachFifthTurn(Agent):
    def _answered(self, user_message):
        if len(self._history) % 10 == 8:
            self.registry._contributions._prompt = None, ""
        return super()._answered(user_message)

    def recall(self, user_message, messages):
        found = super().recall(user_message, messages)
        self.shown = self.prompt()
        return found

    def start(self, session):
        super().start(session)
        said = session.model
        self._model = lambda sent: said([{"role": "system", "content": self.shown}, *sent])


@mutant(kills="MP-HOST-PROMPT-002", says="a prompt that differs", report="F8")
class PromisesToolsBesideThoseOfOthers(MemoryProviderRegistry):
    def system_prompt_block(self):
        if self.get_tool_schemas():
            self._contributions._is_toolless = lambda lane: False
        return super().system_prompt_block()


@mutant(kills="MP-HOST-PROMPT-003", says="fewer than", report="D6")
class CountsTheLinesOfABlock(MemoryProviderRegistry):
    def system_prompt_block(self):
        self._core.limits = dataclasses.replace(self._core.limits, prompt_chars=10**9)
        return "\n".join(super().system_prompt_block().split("\n")[:200])


@mutant(kills="MP-HOST-PROMPT-005", says="had not returned", report="B2")
class CountsThePromptFromTheLastBlock(MemoryProviderRegistry):
    system_prompt_block = sliding("system_prompt_block")


@mutant(kills="MP-HOST-TOOL-006", says="while the wall clock stands still", report="J4")
class WaitsForAToolByTheWallClock(MemoryProviderRegistry):
    handle_tool_call = by_the_wall_clock("handle_tool_call")


@mutant(kills="MP-HOST-PROMPT-006", says="as it is", report="I1")
class PutsThePromptOnOneLine(MemoryProviderRegistry):
    def system_prompt_block(self):
        return " ".join(super().system_prompt_block().split())


@mutant(kills="MP-HOST-PROMPT-005", says="while the wall clock stands still", report="J4")
class AsksForThePromptByTheWallClock(MemoryProviderRegistry):
    system_prompt_block = by_the_wall_clock("system_prompt_block")


@mutant(kills="MP-HOST-PROMPT-006", says="in the order", report="F7")
class PutsTheShortestBlockFirst(MemoryProviderRegistry):
    def system_prompt_block(self):
        head, *others = super().system_prompt_block().split("\n\n### ")
        sections = [head, *(f"### {other}" for other in others)]
        return "\n\n".join(sorted(sections, key=len))


@mutant(kills="MP-HOST-TOOL-007", says="late ones has returned", report="L2")
class CallsNobodyWhoWasLateThreeTimes(OtherLane):
    lane = LateLane

    def handle_tool_call(self, tool_name, args, **kwargs):
        tool = self._tools.table.get(tool_name)
        if tool is not None and tool.lane.was_late > 2:
            return json.dumps({"success": False, "error": "the memory is away"})
        return super().handle_tool_call(tool_name, args, **kwargs)


class _Heard(Through):
    def handle_tool_call(self, tool_name, args, **kwargs):
        self.registry.answer = self.inner.handle_tool_call(tool_name, args, **kwargs)
        return self.registry.answer


@mutant(kills="MP-HOST-TOOL-004", says="JSON but for a NaN", report="G3")
class ReadsWhatPythonWrites(Wrapping):
    through = _Heard
    answer = None

    def handle_tool_call(self, tool_name, args, **kwargs):
        self.answer = None
        result = super().handle_tool_call(tool_name, args, **kwargs)
        return self.answer if "NaN" in str(self.answer) else result
