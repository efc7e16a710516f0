"""Reading and keeping of settings, as the reference providers share it."""

import threading

import pytest

from memproto.errors import Misconfigured
from memproto.reference_providers import reading


@pytest.mark.parametrize("value", [0, -1, True, None, 1.5, "", "many", "\u0663", "9" * 5000, 51])
def test_what_is_no_number_within_its_bounds_is_named(value):
    with pytest.raises(Misconfigured, match=r"count is .*, and not a number from 1 to 50"):
        reading.number("count", value, most=50)


def test_a_number_without_a_bound_is_one_that_can_be_counted():
    assert reading.number("count", "12") == 12
    with pytest.raises(Misconfigured, match="not a number from 1 on"):
        reading.number("count", 2**63)


def test_answers_are_whole_and_nobody_else_may_read_them(tmp_path):
    path = tmp_path / "home" / "answers.json"
    assert reading.answers(path) == {}
    reading.save({"key": "caf\u00e9"}, path)
    assert reading.answers(path) == {"key": "caf\u00e9"}
    assert path.stat().st_mode & 0o077 == 0
    assert list(path.parent.iterdir()) == [path]


def test_answers_that_are_saved_together_stay_whole(tmp_path):
    path, together = tmp_path / "answers.json", threading.Barrier(4)
    faults = []

    def keep(number):
        together.wait(10)
        try:
            for _ in range(20):
                reading.save({"key": f"{number}" * 5_000}, path)
        except OSError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not faults
    assert len(set(reading.answers(path)["key"])) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", ["[1]", "{", "", "\ufeff{}"])
def test_a_file_that_holds_no_answers_is_named(tmp_path, content):
    path = tmp_path / "answers.json"
    path.write_text(content, "utf-8")
    with pytest.raises(Misconfigured, match=r"answers\.json"):
        reading.answers(path)


def test_of_names_that_are_drawn_together_one_is_kept(tmp_path):
    together, names = threading.Barrier(4), []

    def draw(number):
        together.wait(10)
        names.append(reading.drawn(tmp_path / "name", f"name-{number}"))

    threads = [threading.Thread(target=draw, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(names) == 4
    assert len(set(names)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["name"]
