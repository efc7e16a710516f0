"""A hook that hangs with a long text is told with the least text with which it hangs."""

import pytest

from memproto import spec
from memproto.testing.evidence import Froze, Late
from memproto.testing.judging.judge import judge
from memproto.testing.outcomes import Outcome
from memproto.testing.settings import settings
from memproto.testing.settings.order import Order
from tests.kit_runs import write

pytestmark = pytest.mark.once

PROVIDER = """
import re
import time

from memproto.reference_providers.builtin import BuiltinMemoryProvider


class Backtracks(BuiltinMemoryProvider):
    def enrich_turn(self, user_message, messages):
        re.match(r"(\\w+\\s?)+$", user_message)
        return super().enrich_turn(user_message, messages)


class Sleeps(BuiltinMemoryProvider):
    def enrich_turn(self, user_message, messages):
        if len(user_message) > 3_000:
            time.sleep(60)
        return super().enrich_turn(user_message, messages)


class SleepsAlways(BuiltinMemoryProvider):
    def enrich_turn(self, user_message, messages):
        time.sleep(60)
"""


def judged(tmp_path, name, rule):
    write(tmp_path, **{"slow.py": PROVIDER})
    given = settings.read("slow", tmp_path)
    order = Order(f"slow:{name}", settings=given, directory=tmp_path, scale=0.2)
    found = judge(order, [spec.requirement(rule)])
    return [item for item in found if item.outcome is Outcome.FAIL]


def test_a_pattern_that_backtracks_is_told_with_the_few_characters_that_it_takes(tmp_path):
    (found,) = judged(tmp_path, "Backtracks", "MP-THR-002")
    seen = found.evidence
    assert isinstance(seen, Froze)
    assert seen.given_chars >= 19_990
    assert 16 <= seen.least_chars <= 70
    assert f"; {seen.least_chars} characters are enough" in found.observed


def test_a_hook_that_sleeps_over_a_long_text_is_told_with_the_length_that_it_takes(tmp_path):
    (found,) = judged(tmp_path, "Sleeps", "MP-RECALL-006")
    seen = found.evidence
    assert isinstance(seen, Late)
    assert seen.given_chars == 20_000
    assert 3_000 < seen.least_chars <= 6_250
    assert ", with a text of 20000 characters" in found.observed


def test_a_hook_that_hangs_with_a_short_text_is_judged_once(tmp_path):
    (found, *_) = judged(tmp_path, "SleepsAlways", "MP-RECALL-006")
    assert isinstance(found.evidence, Late)
    assert (found.evidence.least_chars, found.evidence.given_chars < 100) == (0, True)
