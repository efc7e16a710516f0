"""Hosts that start a session wrongly, or write in contexts in which they must not."""

import dataclasses
import re
import threading
import time
import types
import unicodedata
from pathlib import Path

from memproto.registry import MemoryProviderRegistry
from memproto.testing.agent import Agent
from tests.broken.host.parts import Through, Wrapping
from tests.broken.marks import mutant


class _Hopeful(Through):
    def is_available(self):
        answer = self.inner.is_available()
        if answer is not True:
            self.registry._core.sink.emit("is_available", self.inner.name, "dropped")
        return True


@mutant(kills="MP-HOST-INIT-001", says="initialize was called", report="B8")
class KeepsTheUnavailable(Wrapping):
    through = _Hopeful


@mutant(kills="MP-HOST-INIT-001", says="neither event nor log", report="B9")
class DropsTheUnavailableInSilence(MemoryProviderRegistry):
    def __init__(self, *, deadlines=None, on_event=print):
        def hear(event):
            if event.hook != "is_available":
                on_event(event)

        super().__init__(deadlines=deadlines, on_event=hear)


class _HalfStarted(Through):
    def initialize(self, session_key, config):
        try:
            self.inner.initialize(session_key, config)
        except Exception:
            self.registry._core.sink.emit("initialize", self.inner.name, "raised")


@mutant(kills="MP-HOST-INIT-002", says="was called", report="B9")
class KeepsTheHalfStarted(Wrapping):
    through = _HalfStarted


@mutant(kills="MP-HOST-INIT-002", says="None", report="B9")
class ARecallOfNobodyIsNoList(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        return super().enrich_turn(user_message, messages) if self._core.lanes else None


@mutant(kills="MP-HOST-CAP-001", says="it was called", report="G5")
class AsksForCapabilitiesEachTurn(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        for lane in self._core.lanes:
            lane.attempt("capabilities")
        return super().enrich_turn(user_message, messages)


class _Unbounded(Through):
    def initialize(self, session_key, config):
        config.pop("deadlines")
        self.inner.initialize(session_key, config)


@mutant(kills="MP-HOST-INIT-003", says="`deadlines` in the config", report="B3")
class KeepsItsDeadlinesToItself(Wrapping):
    through = _Unbounded


class _AlwaysPrimary(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(session_key, config | {"agent_context": "primary"})


@mutant(kills="MP-HOST-INIT-004", says="'cron'", report="hermes#80646")
class SaysPrimaryInEveryContext(Wrapping):
    through = _AlwaysPrimary


class _OneUser(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(session_key, config | {"user_id": "default"})


@mutant(kills="MP-HOST-INIT-004", says="'Telegram:0042-Ines'", report="hermes#5895")
class GivesAllUsersOneId(Wrapping):
    through = _OneUser


@mutant(kills="MP-HOST-INIT-005", says="a call of `forget`", report="A3")
class NamesAHookThatItNeverCalls(MemoryProviderRegistry):
    def forget(self, scope):
        return []


@mutant(kills="MP-HOST-CTX-001", says="in the context 'cron'", report="hermes#80646")
class WritesInEveryContext(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        self._core.writes_are_called = True


@mutant(kills="MP-HOST-CTX-001", says="recall that goes on in the context 'cron'", report="F6")
class RecallsInConversationsOnly(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        return super().enrich_turn(user_message, messages) if self._core.writes_are_called else []


@mutant(kills="MP-HOST-BACKUP-001", says="before a session", report="K5")
class KnowsPathsInASessionOnly(MemoryProviderRegistry):
    def backup_paths(self):
        return super().backup_paths() if self._core.lanes else []


class _Promising(Through):
    def initialize(self, session_key, config):
        longer = dict.fromkeys(config["deadlines"], 60.0)
        self.inner.initialize(session_key, config | {"deadlines": longer})


@mutant(kills="MP-HOST-INIT-003", says="60.0", report="B3")
class PromisesMoreTimeThanItGives(Wrapping):
    through = _Promising


@mutant(kills="MP-HOST-INIT-004", says="than that of a session before", report="E2")
class BuildsEachConfigUponTheLast(MemoryProviderRegistry):
    last = types.MappingProxyType({})

    def initialize_all(self, session_key, config):
        type(self).last = {**self.last, **config}
        super().initialize_all(session_key, self.last)


class _OneConfig(Through):
    def initialize(self, session_key, config):
        self.registry.config = config = self.registry.config or config
        self.inner.initialize(session_key, config)


@mutant(
    kills="MP-HOST-INIT-004",
    says="'changed'",
    report="E1",
    also={"MP-HOST-INIT-003": "what one provider empties is empty for the next one"},
)
class HandsOneConfigToAll(Wrapping):
    through = _OneConfig
    config = None


class _Orphan(Through):
    def initialize(self, session_key, config):
        if config["agent_context"] == "subagent":
            config.pop("user_id")
        self.inner.initialize(session_key, config)


@mutant(kills="MP-HOST-INIT-004", says="'telegram:ines'", report="F6")
class StartsSubagentsWithoutTheUser(Wrapping):
    through = _Orphan


class _Lent(Through):
    def initialize(self, session_key, config):
        kept = vars(self.registry).setdefault("kept", {})
        handed = {key: kept.setdefault(key, value) for key, value in config.items()}
        handed |= {key: value for key, value in config.items() if type(value) is not dict}
        self.inner.initialize(session_key, handed)


@mutant(kills="MP-HOST-INIT-003", says="in `protocol`", report="J5")
class SharesWhatIsInTheConfig(Wrapping):
    through = _Lent


@mutant(kills="MP-HOST-INIT-004", says="`user_id`", report="E1")
class FoldsTheUsersId(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        user = config["user_id"].strip().lower()
        super().initialize_all(session_key, {**config, "user_id": user})


class _Live(Through):
    def capabilities(self):
        self.declared = self.inner.capabilities()
        return self.declared


@mutant(kills="MP-HOST-CAP-001", says="declared when the session began", report="G5")
class ReadsADeclarationAgain(Wrapping):
    through = _Live

    def get_tool_schemas(self):
        lanes = self._core.lanes
        names = {name for lane in lanes for name in lane.provider.declared.get("tool_names", ())}
        return [schema for schema in super().get_tool_schemas() if schema["name"] in names]


@mutant(kills="MP-HOST-BACKUP-001", says="among the paths", report="K5")
class MergesPathsOfOneName(MemoryProviderRegistry):
    def backup_paths(self):
        named, kept = set(), []
        for answer in super().backup_paths():
            paths = [path for path in answer.document or () if Path(path).name not in named]
            named.update(Path(path).name for path in paths)
            kept.append(dataclasses.replace(answer, document=tuple(paths)))
        return kept


class _Hasty(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        own = self._core.deadlines
        hurry = {key: getattr(own, key) / 3 for key in self.hurried}
        self._core.deadlines = dataclasses.replace(own, **hurry)


@mutant(kills="MP-HOST-INIT-003", says="less than it named", report="B3")
class WaitsLessForRecallThanItSays(_Hasty):
    hurried = ("enrich_s",)


@mutant(kills="MP-HOST-INIT-003", says="a compression that waits", report="B3")
class WaitsLessForCompressionThanItSays(_Hasty):
    hurried = ("compress_s",)


@mutant(kills="MP-HOST-INIT-003", says="a write at the exit", report="B10")
class WaitsLessAtTheExitThanItSays(_Hasty):
    hurried = ("shutdown_s",)


class _Fitting(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(re.sub(r"\W", "_", session_key, flags=re.ASCII), config)


@mutant(kills="MP-HOST-INIT-006", says="two keys", report="E6")
class MakesTheKeyFitForAFile(Wrapping):
    through = _Fitting


class _Cutting(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(session_key[:64], config)


@mutant(kills="MP-HOST-INIT-006", says="aaa", report="E6")
class CutsTheKey(Wrapping):
    through = _Cutting


class _Handed(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(session_key, {**config, **self.registry.given})


@mutant(kills="MP-HOST-INIT-003", says="`options`", report="J5")
class HandsOnTheAgentsOwnValues(Wrapping):
    through = _Handed

    def initialize_all(self, session_key, config):
        self.given = config
        super().initialize_all(session_key, config)


class _CallsTheDropped(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        for lane in self._core.refused.values():
            names = [schema["name"] for schema in lane.provider.get_tool_schemas()]
            if tool_name in names and self.is_meant(lane.provider):
                return lane.provider.handle_tool_call(tool_name, args)
        return super().handle_tool_call(tool_name, args, **kwargs)


@mutant(kills="MP-HOST-INIT-001", says="handle_tool_call was called", report="B8")
class CallsToolsOfTheUnavailable(_CallsTheDropped):
    def is_meant(self, provider):
        return provider.is_available() is not True


@mutant(kills="MP-HOST-INIT-002", says="handle_tool_call was called", report="B9")
class CallsToolsOfTheHalfStarted(_CallsTheDropped):
    def is_meant(self, provider):
        return provider.is_available() is True


@mutant(kills="MP-HOST-CTX-001", says="on_turn_complete was called", report="F6")
class RecordsWholeTurnsInEveryContext(MemoryProviderRegistry):
    def record(self, turn):
        kept, self._core.writes_are_called = self._core.writes_are_called, True
        super().record(turn)
        self._core.writes_are_called = kept


@mutant(kills="MP-HOST-INIT-002", says="one initialize of", report="B9")
class OpensAgainWhatHasFailed(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        for lane in self._core.refused.values():
            if lane.attempt("is_available")[0] is True:
                lane.attempt("initialize", self.session_key, {})
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-HOST-CTX-001", says="no write hook in the context", report="F6")
class ForgetsTheContextAtASwitch(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, **keywords):
        super().on_session_switch(new_session_id, **keywords)
        self._core.writes_are_called = True


class _Hurried(Through):
    began_s = 0.0

    def on_turn_start(self, turn_number, message, **keywords):
        self.began_s = time.monotonic()
        self.inner.on_turn_start(turn_number, message, **keywords)

    def enrich_turn(self, user_message, messages):
        answer = self.inner.enrich_turn(user_message, messages)
        until_s = self.began_s + self.registry._core.deadlines.enrich_s
        return answer if not self.began_s or time.monotonic() < until_s else None


@mutant(kills="MP-HOST-INIT-003", says="behind a slow beginning", report="B3")
class CountsRecallFromTheBeginningOfTheTurn(Agent):
    def register(self, provider):
        super().register(provider)
        self.registry._core.registered[provider.name].provider = _Hurried(provider, self.registry)


@mutant(kills="MP-HOST-CAP-001", says="whatever else is asked", report="G5")
class AsksForCapabilitiesToForget(MemoryProviderRegistry):
    def forget(self, scope):
        for lane in self._core.lanes:
            lane.attempt("capabilities")
        return super().forget(scope)


@mutant(kills="MP-HOST-INIT-003", says="as the agent has it", report="A3")
class LeavesOutWhatCountsAsFalse(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, {key: item for key, item in config.items() if item})


class _Detached(Through):
    def shutdown(self):
        worker = threading.Thread(target=self.inner.shutdown, daemon=True)
        worker.start()
        worker.join(0.05)


@mutant(kills="MP-HOST-INIT-003", says="the shutdown of a provider", report="B10")
class LeavesWhileItsProvidersEnd(Wrapping):
    through = _Detached


@mutant(kills="MP-HOST-INIT-004", says="@ines", report="E6")
class TakesTheSignOffAName(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        user = config["user_id"].lstrip("@")
        super().initialize_all(session_key, {**config, "user_id": user})


@mutant(kills="MP-HOST-INIT-006", says="two keys", report="E6")
class ComposesTheLettersOfAKey(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(unicodedata.normalize("NFC", session_key), config)


@mutant(kills="MP-HOST-CTX-001", says="a call of a tool", report="F6")
class CallsNoToolInAJob(MemoryProviderRegistry):
    def handle_tool_call(self, tool_name, args, **kwargs):
        if not self._core.writes_are_called:
            return '{"success": false, "error": "no tools in a job"}'
        return super().handle_tool_call(tool_name, args, **kwargs)


@mutant(kills="MP-HOST-CTX-001", says="beside a job", report="C6")
class TakesTheLastContextForAll(MemoryProviderRegistry):
    last = types.SimpleNamespace()

    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        self.last.writes = self._core.writes_are_called

    def on_turn_complete(self, user_message, assistant_response):
        self._core.writes_are_called = self.last.writes
        super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-BACKUP-001", says="among the paths", report="K5")
class NamesOnePathOfEach(MemoryProviderRegistry):
    def backup_paths(self):
        cut = [(answer, list(answer.document or ())[:1]) for answer in super().backup_paths()]
        return [dataclasses.replace(answer, document=paths) for answer, paths in cut]


@mutant(kills="MP-HOST-INIT-003", says="waited for less than it named", report="B3")
class WaitsForSevenTenthsOfWhatItSays(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        own = self._core.deadlines
        self._core.deadlines = dataclasses.replace(own, enrich_s=0.7 * own.enrich_s)


class _Unopened(Through):
    has_failed = False

    def initialize(self, session_key, config):
        self.has_failed = True
        self.inner.initialize(session_key, config)
        self.has_failed = False

    def shutdown(self):
        if not self.has_failed or self.registry.names != [self.inner.name]:
            self.inner.shutdown()


@mutant(kills="MP-HOST-INIT-002", says="the only one", report="B9")
class LeavesOpenTheOnlyOneThatFailed(Wrapping):
    through = _Unopened

    def register(self, provider):
        super().register(provider)
        self.names = [*self._core.registered]


class _WithLimits(Through):
    def initialize(self, session_key, config):
        limits = self.registry.__dict__.setdefault("limits", config["limits"])
        self.inner.initialize(session_key, {**config, "limits": limits})


@mutant(kills="MP-HOST-INIT-003", says="adds to its own", report="J5")
class HandsAllProvidersTheSameLimits(Wrapping):
    through = _WithLimits


@mutant(kills="MP-HOST-CTX-001", says="was called", report="F6")
class RecordsAJobsTurnByItsOwnContext(MemoryProviderRegistry):
    def record(self, turn):
        core, kept = self._core, self._core.writes_are_called
        core.writes_are_called = kept or "context" in turn
        super().record(turn)
        core.writes_are_called = kept


class _WithTheProtocolOfItsName(Through):
    known = types.MappingProxyType({})

    def initialize(self, session_key, config):
        kept = self.known.get(self.inner.name, config["protocol"])
        type(self).known = {**self.known, self.inner.name: kept}
        self.inner.initialize(session_key, {**config, "protocol": kept})


@mutant(kills="MP-HOST-INIT-003", says="of a session before", report="J5")
class MakesTheProtocolOnceForAName(Wrapping):
    through = _WithTheProtocolOfItsName


@mutant(kills="MP-HOST-INIT-002", says="backup_paths", report="B9")
class AsksWhoeverFailedForPaths(MemoryProviderRegistry):
    def backup_paths(self):
        for lane in self._core.refused.values():
            lane.attempt("backup_paths")
        return super().backup_paths()
