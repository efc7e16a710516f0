"""Two measurements beside each other: chance and the machine are told from a change."""

import copy
import json

import pytest

from memproto.errors import KitUsageError, UnreadableReport
from memproto.measure import document
from memproto.report.formats import markdown
from memproto.report.measured import comparing, reading

OF = 120


def share(*answers):
    hits, of = (
        sum(map(len, answers)) for answers in ([a.replace("0", "") for a in answers], answers)
    )
    parts = [round(a.count("1") / len(a), 4) for a in answers]
    return {
        "hits": hits,
        "of": of,
        "share": round(hits / of, 4),
        "low": 0.0,
        "high": 1.0,
        "repeats": parts,
        "answers": list(answers),
    }


def times(p50_s, low, high):
    return {
        "calls": 100,
        "p50_s": p50_s,
        "p95_s": 2 * p50_s,
        "p99_s": 3 * p50_s,
        "p50_low_s": low,
        "p50_high_s": high,
    }


def measurement(found=None, stale=None, recall=None, target="mine"):
    """A small one; `found` is the share within each budget."""
    found = found or share("1" * 60 + "0" * 60, "1" * 60 + "0" * 60)
    figures = {"found": {"4000": found, "all": found}, "kinds": {}, "items": {}, "chars_p50": 9}
    figures |= {"stale": stale, "absent": None, "other": None}
    size = {"turns": 100, "operations": {"recall": recall or times(0.01, 0.009, 0.011)}}
    size |= {"disk_bytes": 9, "memory_bytes": 9, "calls_per_turn": None, "calls_per_recall": None}
    row = {"target": target, "is_baseline": False, "binding": "native", "route": "turns"}
    row |= {"lower_bound": None, "recall": figures, "told": {"turns": 9, "refused": 0}}
    row |= {"faults": 0, "left_out": {}, "notes": []}
    row |= {"speed": {"sizes": [size], "slopes": {}}}
    made = {
        "format": 1,
        "measure": {
            "kit": "0.1.0",
            "seed": 0,
            "repeats": 2,
            "level": 0.95,
            "budgets_chars": [4000],
            "environment": {"python": "3.13.0"},
        },
        "corpus": {
            "name": "invented",
            "sha256": "0" * 64,
            "people": 2,
            "turns": 9,
            "questions": {"single": 240},
        },
        "rows": [row],
    }
    return {**made, "fingerprint": document.fingerprint(made)}


def changes(old, new):
    found = comparing.compare(old, new)
    return {line.figure: line.change for line in found.lines if line.change != "same"}


def flipped(text, places):
    return "".join("10"[int(one)] if at in places else one for at, one in enumerate(text))


def test_questions_that_are_lost_in_each_repeat_are_worse():
    old = measurement()
    half = "1" * 60 + "0" * 60
    lost = share(*(flipped(half, range(6)) for _ in range(2)))
    found = comparing.compare(old, measurement(found=lost))
    assert found.is_worse
    assert changes(old, measurement(found=lost)) == {
        "evidence within 4,000": "worse",
        "evidence in all": "worse",
    }
    assert "0 questions more and 12 fewer of 240" in comparing.as_text(found)


def test_as_many_won_as_lost_is_no_change():
    half = "1" * 60 + "0" * 60
    moved = share(*(flipped(half, [*range(6), *range(70, 76)]) for _ in range(2)))
    assert changes(measurement(), measurement(found=moved)) == {}


def test_a_change_that_one_repeat_shows_the_other_way_round_is_no_change():
    half = "1" * 60 + "0" * 60
    moved = share(flipped(half, range(20)), flipped(half, range(70, 72)))
    assert changes(measurement(), measurement(found=moved)) == {}


def test_more_superseded_values_are_worse_and_fewer_are_better():
    few, many = share("0" * 40, "0" * 40), share("1" * 8 + "0" * 32, "1" * 8 + "0" * 32)
    name = "superseded shown as current"
    assert changes(measurement(stale=few), measurement(stale=many)) == {name: "worse"}
    assert changes(measurement(stale=many), measurement(stale=few)) == {name: "better"}


@pytest.mark.parametrize(
    ("recall", "change"),
    [
        (times(0.05, 0.04, 0.06), "worse"),
        (times(0.001, 0.0009, 0.002), "better"),
        (times(0.05, 0.010, 0.06), "same"),
        (times(0.015, 0.012, 0.02), "same"),
    ],
)
def test_a_median_changed_if_its_intervals_are_apart_and_it_moved_far(recall, change):
    wanted = {} if change == "same" else {"recall at 100 turns, p50": change}
    assert changes(measurement(), measurement(recall=recall)) == wanted


def test_times_of_another_machine_are_not_compared():
    old = measurement()
    new = measurement(recall=times(9.0, 8.0, 10.0))
    new["measure"]["environment"] = {"python": "3.12.0"}
    found = comparing.compare(old, new)
    assert not found.is_worse
    assert found.notes == ["times are of other machines, and are not compared"]


@pytest.mark.parametrize(
    ("key", "old", "new", "change"),
    [
        ("disk_bytes", 1_000_000, 2_100_000, "worse"),
        ("disk_bytes", 2_100_000, 1_000_000, "better"),
        ("disk_bytes", 1_000_000, 1_900_000, "same"),
        ("disk_bytes", 1_000, 90_000, "same"),
        ("calls_per_turn", 0, 1.0, "worse"),
        ("calls_per_turn", 0.1, 0.3, "same"),
        ("calls_per_recall", 3.0, 1.0, "better"),
        ("calls_per_recall", None, 1.0, "same"),
    ],
)
def test_a_load_changed_if_it_more_than_doubled_or_halved(key, old, new, change):
    documents = [measurement(), measurement()]
    for document_, value in zip(documents, (old, new), strict=True):
        document_["rows"][0]["speed"]["sizes"][0][key] = value
    # The loads are those of any machine.
    documents[1]["measure"]["environment"] = {"python": "3.12.0"}
    found = list(changes(*documents).values())
    assert found == ([] if change == "same" else [change])


def test_other_questions_are_refused():
    other = measurement()
    other["corpus"]["sha256"] = "1" * 64
    with pytest.raises(KitUsageError, match="other values of corpus"):
        comparing.compare(measurement(), other)


def test_a_target_and_a_part_that_are_gone_are_named():
    gone = measurement()
    gone["rows"][0]["recall"] = None
    assert comparing.compare(measurement(), gone).notes == [
        "mine: recall was measured before, and is not now"
    ]
    assert comparing.compare(measurement(), measurement(target="yours")).notes == [
        "yours is not in the first one",
        "mine is not in the second one",
    ]


def test_markdown_holds_hostile_names_as_text():
    half = "1" * 60 + "0" * 60
    lost = share(*(flipped(half, range(6)) for _ in range(2)))
    name = "<b>|[x](http://y)"
    found = comparing.compare(measurement(target=name), measurement(found=lost, target=name))
    text = comparing.as_markdown(found, markdown.text)
    assert "<b>" not in text
    assert "](http" not in text
    assert text.startswith("## Measured\n")


# -- reading ---------------------------------------------------------------------------------------


def test_a_measurement_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "m.json"
    file.write_text(json.dumps(measurement()))
    assert reading.is_one(file)
    assert reading.read(file) == measurement()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"format": 2}, "has format 2"),
        ({"rows": 5}, "is not of type 'array'"),
        ({"corpus": None}, "is not of type 'object'"),
        ({"rows": []}, "does not agree with its fingerprint"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path, change, fault):
    file = tmp_path / "m.json"
    file.write_text(json.dumps({**measurement(), **change}))
    with pytest.raises(UnreadableReport, match=fault):
        reading.read(file)


def test_a_report_of_a_run_is_no_measurement(tmp_path):
    file = tmp_path / "r.json"
    file.write_text('{"format": 1, "reports": []}')
    assert not reading.is_one(file)
    with pytest.raises(UnreadableReport, match="no measurement of memproto"):
        reading.read(file)


def test_nothing_of_a_measurement_is_changed_by_comparing_it():
    old, new = measurement(), measurement()
    kept = copy.deepcopy(old)
    comparing.compare(old, new)
    assert old == new == kept
