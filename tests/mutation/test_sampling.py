"""Samples are drawn by a seed, shards are a partition, and a pull request has its changed lines."""

import subprocess

import pytest

from tests.mutation.changes import changes
from tests.mutation.sampling import changed_lines, of_changed_lines, sample
from tests.mutation.shards import shard
from tests.mutation.subjects import SUBJECTS, Subject

COMPLETE = SUBJECTS["complete"]
TEXT = "".join(f"def f{number}(a):\n    return a + {number}\n" for number in range(8))


@pytest.fixture
def drawn(tmp_path):
    """A function that draws from a file of some lines."""
    (tmp_path / "box.py").write_text(TEXT, "utf-8")
    subject = Subject("complete", "box:f0", ("*.py",), {"box.py": "box.py"})

    def draw(most, seed):
        return sample(subject, most, seed, only=changes(subject, tmp_path))

    return draw


def keys(found):
    return [change.key for change in found]


def test_the_same_seed_draws_the_same_changes(drawn):
    assert keys(drawn(10, 7)) == keys(drawn(10, 7))
    assert keys(drawn(10, 7)) != keys(drawn(10, 8))


def test_a_larger_sample_begins_with_the_smaller_one(drawn):
    assert keys(drawn(15, 7))[:10] == keys(drawn(10, 7))


def test_all_changes_are_drawn_for_none_and_so_many_otherwise(drawn):
    assert len(drawn(0, 7)) > 20
    assert len(drawn(5, 7)) == 5


def test_a_subject_is_sampled_from_the_checkout():
    assert {change.source.as_posix() for change in sample(COMPLETE, 2, 7)} == {
        "examples/complete.py"
    }


@pytest.mark.parametrize("count", [1, 3, 8])
def test_shards_are_a_partition_of_the_sample(drawn, count):
    whole = drawn(20, 7)
    parts = [shard(whole, number, count) for number in range(1, count + 1)]
    together = [key for part in parts for key in keys(part)]
    assert len(together) == len(set(together)) == len(whole)
    assert set(together) == set(keys(whole))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.fixture
def checkout(tmp_path):
    """A repository with one committed file."""

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "box.py").write_text(
        "def f():\n    return 1\n\n\ndef g():\n    return 2\n", "utf-8"
    )
    git("init", "-q")
    git("add", "box.py")
    git("commit", "-q", "-m", "A box")
    return tmp_path


def test_only_changes_of_changed_lines_are_kept(checkout):
    text = "def f():\n    return 1\n\n\ndef g():\n    return 3\n"
    (checkout / "box.py").write_text(text, "utf-8")
    subject = Subject("complete", "box:f", ("*.py",), {"box.py": "box.py"})
    (source,) = subject.sources(checkout)
    assert changed_lines(source, "HEAD", checkout) == {6}
    found = of_changed_lines(changes(subject, checkout), "HEAD", checkout)
    assert {change.definition for change in found} == {"g"}
    assert len(found) < len(list(changes(subject, checkout)))


def test_nothing_is_kept_where_no_line_has_changed(checkout):
    subject = Subject("complete", "box:f", ("*.py",), {"box.py": "box.py"})
    assert of_changed_lines(changes(subject, checkout), "HEAD", checkout) == []
