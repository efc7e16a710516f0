"""The data of the census: each entry is whole, and what repeats it agrees with it."""

import tomllib

import pytest

from census import entries, outcomes, readings
from census.entries import Unusable
from memproto import spec
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

ENTRIES = entries.read_all()
OUTCOMES = outcomes.read()
READINGS = readings.read()


def test_there_are_as_many_targets_as_the_census_promises():
    real = [one for one in ENTRIES.values() if one.version != "checkout"]
    assert len(real) >= 60


def test_the_pinned_package_is_among_what_is_installed():
    wrong = {
        name: one.installs
        for name, one in ENTRIES.items()
        # npm installs the pin itself.
        if not (one.version == "checkout" or one.is_of_npm)
        and not any(one.pin in words.split() for words in one.installs)
    }
    assert wrong == {}


def test_what_stands_in_for_a_credential_is_told():
    """A variable that is a credential by its name stands among the credentials."""
    untold = {}
    for name, one in ENTRIES.items():
        settings = tomllib.loads(one.files.get("memproto.toml", ""))
        secret = {
            key
            for key in settings.get("env", {})
            if key.endswith(("_API_KEY", "_TOKEN", "_KEY", "_PASSWORD"))
        }
        if secret - set(one.credentials):
            untold[name] = secret - set(one.credentials)
    assert untold == {}


def test_a_stand_in_that_an_entry_starts_is_told():
    untold = [
        name
        for name, one in ENTRIES.items()
        if one.backend == "absent"
        and "service" in tomllib.loads(one.files.get("memproto.toml", ""))
        and "stand-in" not in one.notes
    ]
    assert untold == []


def test_no_two_entries_are_the_same_target():
    # One package may hold several memories, each built by a file of the entry.
    seen = [
        (one.pin, one.target, tuple(one.installs), tuple(one.files.items()))
        for one in ENTRIES.values()
    ]
    assert len(seen) == len(set(seen))


def test_each_pin_of_the_wild_tests_is_an_entry():
    pins = tomllib.loads((ROOT / "tests/wild/pins.toml").read_text("utf-8"))["provider"]
    pins += tomllib.loads((ROOT / "tests/wild/openclaw.toml").read_text("utf-8"))["plugin"]
    assert {pin["entry"] for pin in pins if "entry" in pin} <= set(ENTRIES)


def test_every_outcome_has_an_entry_and_names_known_requirements():
    assert set(OUTCOMES) <= set(ENTRIES)
    for one in OUTCOMES.values():
        for row in one.red:
            assert spec.requirement(row.id).level == row.level


def test_a_red_must_of_a_target_that_is_marked_as_read_has_a_reading():
    assert list(readings.missing(ENTRIES, OUTCOMES, READINGS)) == []


def test_a_reading_is_of_a_target_and_of_the_version_that_is_judged():
    assert {key for key in READINGS if key[0] not in ENTRIES} == set()
    old = {key for key, row in READINGS.items() if row.version != ENTRIES[key[0]].version}
    assert old == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("package = 'a'", "'version' is a required property"),
        ("package = 'a'\nversion = '1'\nbinding = 'x'\ntarget = 'a'", "'x' is not one of"),
        ("package = 'A B'\nversion = '1'\nbinding = 'native'\ntarget = 'a'", "does not match"),
        ("no toml", "a.toml: "),
    ],
)
def test_an_entry_that_is_wrong_is_refused_by_its_file(tmp_path, text, said):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(Unusable, match=r"a\.toml") as caught:
        entries.read(path)
    assert said in str(caught.value)


def test_the_digest_depends_on_what_is_judged_and_on_nothing_else(tmp_path):
    text = "package = 'a'\nversion = '1'\nbinding = 'native'\ntarget = 'a'\n"
    digests = []
    for more in ("", "notes = 'told'", "target2", "[files]\n'a.py' = 'x'"):
        path = tmp_path / "a.toml"
        path.write_text(text.replace("'a'\n", "'b'\n", 2) if more == "target2" else text + more)
        digests.append(entries.read(path).digest("kit"))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    assert entries.read(path).digest("other kit") != digests[3]


def test_an_unknown_name_is_refused():
    with pytest.raises(Unusable, match="no entry is named nobody"):
        entries.chosen(ENTRIES, ["nobody"])


READING = """
[[reading]]
target = "a"
version = "1"
id = "MP-TURN-002"
reading = "true"
where = "a.py:1"
text = "It raises."
"""


def test_a_red_must_without_a_reading_is_found(tmp_path):
    path = tmp_path / "readings.toml"
    path.write_text(READING)
    found = readings.read(path)
    red = tuple(outcomes.Red(key, level, "", "") for key, level in (
        ("MP-TURN-002", "MUST"), ("MP-TURN-003", "MUST"), ("MP-PROMPT-006", "SHOULD"),
    ))  # fmt: skip
    one = outcomes.Found("a", "1", "judged", "", "2026-01-01", 1.0, "", "", "", red=red)
    entry = entries.Entry("a", "a", "1", "native", "a", is_read=True)
    assert list(readings.missing({"a": entry}, {"a": one}, found)) == [("a", "MP-TURN-003")]
    unread = entries.Entry("a", "a", "1", "native", "a")
    assert list(readings.missing({"a": unread}, {"a": one}, found)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"true"', '"perhaps"', "is none of true, debatable, refuted"),
        ('where = "a.py:1"\n', "", "has not exactly"),
        ("", READING, "stands there twice"),
    ],
)
def test_a_reading_that_is_wrong_is_refused(tmp_path, old, new, said):
    path = tmp_path / "readings.toml"
    path.write_text(READING.replace(old, new) if old else READING + new)
    with pytest.raises(Unusable, match=said):
        readings.read(path)
