"""The examples of requirements hold when they are played again, on the good and on the broken."""

import os

import pytest

from memproto import spec
from scripts import example_calls, example_files, wire_lines
from tests import places

pytestmark = pytest.mark.once

EXAMPLES = {name: example_files.read(name) for name in example_files.names()}
#: Those that calls alone show; the kill matrix judges the providers of the others.
PLAYED = [name for name, found in EXAMPLES.items() if "seen" in found]
HEARD = [name for name, found in EXAMPLES.items() if "host" in found["violates"]]

LINES = [name for name, found in EXAMPLES.items() if "lines" in found]

#: Checks of hosts that play with deadlines take tens of seconds; in CI one of each area is heard.
ONE_OF_EACH = bool(os.environ.get("MEMPROTO_PART"))


def sample(names):
    if not ONE_OF_EACH:
        return names
    return list({spec.requirement(name).area: name for name in reversed(names)}.values())


@pytest.mark.parametrize("name", sample(PLAYED))
def test_the_calls_show_the_violation_on_the_broken_provider_alone(name):
    example = EXAMPLES[name]
    broken = example_calls.play(example, example["violates"]["provider"])
    assert broken["seen"], broken["answers"]
    good = example_calls.play(example, example["conforms"]["provider"])
    assert not good["seen"], good["answers"]
    assert len(good["answers"]) == len(example["calls"])


@pytest.mark.parametrize(
    "name",
    # The kill matrix judges the broken one of the same name.
    [places.nightly(name) if name == "MP-HOST-WIRE-001" else name for name in sample(HEARD)],
)
def test_the_check_finds_the_broken_host_again_and_nothing_on_the_good_one(name):
    example = EXAMPLES[name]
    from tests.broken.marks import load_all

    scale = load_all()[example["violates"]["host"]].scale
    assert example_calls.hear(example["violates"]["host"], name, scale)["outcome"] == "violated"
    assert example_calls.hear(example["conforms"]["host"], name)["outcome"] == "held"


@pytest.mark.parametrize("name", LINES)
def test_the_broken_server_departs_from_the_lines_and_the_good_one_does_not(name):
    example = EXAMPLES[name]
    found = wire_lines.play(example["lines"], example["violates"]["provider"])
    assert found is not None
    assert found.line == example["violates"]["line"], found.observed
    assert wire_lines.play(example["lines"], example["conforms"]["provider"]) is None


def test_an_example_that_is_played_has_an_answer_for_each_call():
    for name in PLAYED:
        found = EXAMPLES[name]
        assert 0 <= found["seen"]["call"] < len(found["calls"]), name
        assert len(found["conforms"]["answers"]) == len(found["calls"]), name
        assert found["violates"]["answers"] != found["conforms"]["answers"], name


def test_a_violation_that_does_not_show_is_seen_to_be_missing():
    name = next(name for name in PLAYED if EXAMPLES[name]["seen"]["kind"] == "raises")
    example = {**EXAMPLES[name], "seen": {**EXAMPLES[name]["seen"], "value": "NoSuchError"}}
    assert not example_calls.play(example, example["violates"]["provider"])["seen"]
