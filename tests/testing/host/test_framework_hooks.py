"""Calls of a provider on a thread of its own, beside the loop of a framework."""

import asyncio

import pytest

from memproto.testing.host.framework_hooks import apart

#: Longer than any call here takes; one that waits for ever fails the test then.
_LONG_S = 30


@pytest.mark.parametrize(("error", "raised"), [(OSError, OSError), (StopIteration, RuntimeError)])
def test_a_call_that_raises_ends_for_the_loop_as_well(error, raised):
    def fail():
        raise error(error.__name__)

    async def work():
        with pytest.raises(raised, match=error.__name__):
            await asyncio.wait_for(apart(fail), _LONG_S)

    asyncio.run(work())
