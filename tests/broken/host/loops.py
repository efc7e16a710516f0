"""Registries that do not get on with event loops."""

import asyncio

from memproto.registry import MemoryProviderRegistry
from memproto.registry.aio import AsyncMemoryProviderRegistry
from tests.broken.marks import mutant


@mutant(kills="MP-HOST-LOOP-001", says="asyncio.run() cannot be called", report="hindsight#677")
class StartsALoopForEachCall(MemoryProviderRegistry):
    def enrich_turn(self, user_message, messages):
        async def recall():
            return super(StartsALoopForEachCall, self).enrich_turn(user_message, messages)

        return asyncio.run(recall())


@mutant(kills="MP-HOST-LOOP-002", says="while enrich_turn works", report="adk-python#4386")
class RecallsOnTheLoop(AsyncMemoryProviderRegistry):
    async def enrich_turn(self, user_message, messages):
        return self._registry.enrich_turn(user_message, messages)


@mutant(kills="MP-HOST-LOOP-002", says="it stood still", report="C3")
class AsksForThePromptOnTheLoop(AsyncMemoryProviderRegistry):
    async def system_prompt_block(self):
        return self._registry.system_prompt_block()


@mutant(kills="MP-HOST-LOOP-002", says="while on_turn_start works", report="C3")
class BeginsTurnsOnTheLoop(AsyncMemoryProviderRegistry):
    async def on_turn_start(self, turn_number, message, **kwargs):
        self._registry.on_turn_start(turn_number, message, **kwargs)


@mutant(kills="MP-HOST-LOOP-002", says="while forget works", report="C3")
class ForgetsOnTheLoop(AsyncMemoryProviderRegistry):
    async def forget(self, scope):
        return self._registry.forget(scope)


@mutant(kills="MP-HOST-LOOP-001", says="asyncio.run()", report="C3")
class ForgetsOnALoopOfItsOwn(MemoryProviderRegistry):
    def forget(self, scope):
        async def forgotten():
            return MemoryProviderRegistry.forget(self, scope)

        return asyncio.run(forgotten())


@mutant(kills="MP-HOST-LOOP-002", says="while is_available works", report="C3")
class AsksForAProviderOnTheLoop(AsyncMemoryProviderRegistry):
    async def initialize_all(self, session_key, config):
        for lane in self._registry._core.registered.values():
            lane.provider.is_available()
        return await super().initialize_all(session_key, config)
