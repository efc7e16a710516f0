"""Changes of a source: made by the operators, named by keys that outlive small edits."""

import dataclasses

import pytest
from cosmic_ray.mutating import mutate_code

from tests.mutation import operators
from tests.mutation.changes import changes, distinct
from tests.mutation.subjects import SUBJECTS, Subject

SOURCE = '''"""A docstring."""

LIMIT: "int" = 3


class Box:
    def put(self, text: str) -> "None":
        """Another one."""
        if len(text) < LIMIT and text not in self.texts:
            self.texts.append(text)
        elif not text:
            raise ValueError("is empty")

    def all(self):
        return sorted(self.texts, reverse=True)
'''


@pytest.fixture
def subject(tmp_path):
    (tmp_path / "box.py").write_text(SOURCE, "utf-8")
    return Subject("complete", "box:Box", ("*.py",), {"box.py": "box.py"})


def made(subject, root):
    return list(distinct(changes(subject, root)))


@pytest.mark.parametrize("operator", operators.OWN, ids=lambda operator: operator.__name__)
def test_an_own_operator_makes_what_its_examples_say(operator):
    for example in operator.examples():
        found = mutate_code(example.pre_mutation_code, operator(), example.occurrence)
        assert found == example.post_mutation_code


def test_every_chosen_operator_of_cosmic_ray_exists():
    assert {name.partition("/")[0] for name in operators.chosen()} == {"core", "own"}
    assert len(operators.chosen()) > 30


def test_a_source_is_changed_at_each_place(subject, tmp_path):
    told = {(change.key.was, change.key.now) for change in made(subject, tmp_path)}
    line = "if len(text) < LIMIT and text not in self.texts:"
    for now in (
        "if len(text) <= LIMIT and text not in self.texts:",
        "if len(text) >= LIMIT and text not in self.texts:",
        "if len(text) < LIMIT or text not in self.texts:",
        "if len(text) < LIMIT and text in self.texts:",
    ):
        assert (line, now) in told
    assert ("self.texts.append(text)", "pass") in told
    assert ('raise ValueError("is empty")', "pass") in told
    assert ("return sorted(self.texts, reverse=True)", "return sorted(self.texts)") in told
    assert ("return sorted(self.texts, reverse=True)", "return None") in told


def test_texts_that_no_requirement_fixes_are_left_alone(subject, tmp_path):
    lines = "\n".join(change.key.now for change in made(subject, tmp_path))
    assert "XX" not in lines, "docstrings, annotations and messages of exceptions"


def test_every_change_is_a_program_and_another_one(subject, tmp_path):
    for change in made(subject, tmp_path):
        assert change.after != SOURCE
        compile(change.after, "box.py", "exec")


def test_no_two_changes_make_the_same_text(subject, tmp_path):
    texts = [change.after for change in made(subject, tmp_path)]
    assert len(texts) == len(set(texts))


def test_an_edit_elsewhere_leaves_the_keys(subject, tmp_path):
    before = {change.key for change in made(subject, tmp_path)}
    (tmp_path / "box.py").write_text(
        SOURCE.replace("class Box", "import os\n\n\nclass Box"), "utf-8"
    )
    assert before <= {change.key for change in made(subject, tmp_path)}


def test_equal_lines_of_a_definition_have_keys_of_their_own(tmp_path):
    (tmp_path / "box.py").write_text("def f():\n    g()\n    g()\n", "utf-8")
    subject = Subject("complete", "box:f", ("*.py",), {"box.py": "box.py"})
    keys = [change.key for change in made(subject, tmp_path)]
    assert [(key.now, key.nth) for key in keys] == [("pass", 1), ("pass", 2)]
    assert len({key.digest for key in keys}) == 2


def test_a_key_has_one_digest():
    change = next(distinct(changes(SUBJECTS["complete"])))
    assert dataclasses.replace(change.key).digest == change.key.digest == change.item.job_id


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_subject_has_sources_with_a_place_in_a_copy(name):
    subject = SUBJECTS[name]
    assert subject.sources()
    assert all(subject.place(source) for source in subject.sources())
