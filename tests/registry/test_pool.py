"""A pool of registries: one for each key, and no more open than it may be."""

import asyncio

import pytest

from memproto.registry.pool import RegistryPool


class Registry:
    def __init__(self, key, ended):
        self.key, self.ended = key, ended

    async def shutdown_all(self):
        self.ended.append(self.key)


def pool(most, ended, opened):
    async def made(key):
        if key == "broken":
            raise LookupError(key)
        opened.append(key)
        await asyncio.sleep(0)
        return Registry(key, ended)

    return RegistryPool(made, most)


def run(work):
    ended, opened = [], []

    async def main():
        registries = pool(2, ended, opened)
        await work(registries)
        await registries.close()

    asyncio.run(main())
    return ended, opened


def test_the_longest_unused_one_is_ended_and_opened_again():
    async def work(registries):
        for key in ("a", "b", "a", "c", "b"):
            async with registries.lent(key) as registry:
                assert registry.key == key
            assert len(registries) <= 2

    ended, opened = run(work)
    assert opened == ["a", "b", "c", "b"]
    assert ended[:2] == ["b", "a"]
    assert sorted(ended) == sorted(opened), "each one is ended once"


def test_one_that_is_in_use_is_not_ended():
    async def work(registries):
        async with registries.lent("a"):
            for key in ("b", "c", "d"):
                async with registries.lent(key):
                    pass
            async with registries.lent("a") as again:
                assert again.ended == ["b", "c"]

    ended, opened = run(work)
    assert opened.count("a") == 1
    assert "a" in ended


def test_one_that_is_used_again_while_another_ends_is_not_ended():
    ended = []
    leaves, opening, may_open, ending, is_used = (asyncio.Event() for _ in range(5))

    class Ending(Registry):
        async def shutdown_all(self):
            ending.set()
            await is_used.wait()
            await super().shutdown_all()

    async def made(key):
        if key == "c":
            opening.set()
            await may_open.wait()
        return Ending(key, ended)

    async def use(registries, key):
        async with registries.lent(key):
            await leaves.wait()

    async def main():
        registries = RegistryPool(made, 0)
        users = [asyncio.create_task(use(registries, key)) for key in ("a", "b", "c")]
        await opening.wait()
        leaves.set()
        await asyncio.sleep(0)  # a and b are unused now, and wait for the start of c
        may_open.set()
        await ending.wait()
        async with registries.lent("b"):
            is_used.set()
            await asyncio.gather(*users)
            assert ended == ["a", "c"]
        assert ended == ["a", "c", "b"]

    asyncio.run(asyncio.wait_for(main(), 30))


def test_users_of_one_key_at_the_same_time_share_one():
    async def work(registries):
        async def use():
            async with registries.lent("a") as registry:
                await asyncio.sleep(0)
                return id(registry)

        assert len(set(await asyncio.gather(*(use() for _ in range(5))))) == 1

    assert run(work) == (["a"], ["a"])


def test_one_that_cannot_be_opened_raises_each_time_and_holds_nobody_up():
    async def work(registries):
        for _ in range(2):
            with pytest.raises(LookupError):
                async with registries.lent("broken"):
                    pass
        async with registries.lent("a"):
            assert len(registries) == 1

    run(work)
