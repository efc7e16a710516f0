"""Set-up: which questions are asked, what the answers mean, and where they go."""

import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto import setup
from memproto.setup.questions import NotAnAnswer, Question, questions_of, shown, walk

MODE = {"key": "mode", "description": "Mode", "default": "near", "choices": ["near", "far"]}
KEY = {"key": "key", "description": "Key", "secret": True, "env_var": "X_KEY"}
PORT = {"key": "port", "description": "Port", "default": 80, "when": {"mode": "far"}}


class Asked:
    """Answers questions by key, and keeps the prompts."""

    def __init__(self, **texts):
        self.texts = {
            key: iter([text] if isinstance(text, str) else text) for key, text in texts.items()
        }
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return next(self.texts.get(prompt.question.key, iter([""])))

    @property
    def keys(self):
        return [prompt.question.key for prompt in self.prompts]


class Provider:
    def __init__(self, *fields):
        self.fields, self.saved = list(fields), []

    def get_config_schema(self):
        return self.fields

    def save_config(self, values, home):
        self.saved.append(values)


def collected(*fields, given=(), variables=(), ask=None):
    questions = questions_of(list(fields))
    return setup.collect(questions, given=dict(given), variables=dict(variables), ask=ask)


# -- questions -------------------------------------------------------------------------------------


def test_a_question_is_asked_only_where_its_condition_holds():
    near, far = Asked(), Asked(mode="far")
    assert collected(MODE, PORT, ask=near).values == {"mode": "near"}
    assert collected(MODE, PORT, ask=far).values == {"mode": "far", "port": 80}
    assert (near.keys, far.keys) == (["mode"], ["mode", "port"])


def test_a_default_follows_from_an_earlier_answer():
    model = {
        "key": "model",
        "description": "Model",
        "default": "small",
        "default_from": {"field": "mode", "map": {"far": "large"}},
    }
    assert collected(MODE, model).values["model"] == "small"
    assert collected(MODE, model, given={"mode": "far"}).values["model"] == "large"


def test_two_fields_of_one_key_are_one_answer():
    urls = [
        {"key": "url", "description": "URL", "default": kind, "when": {"mode": kind}}
        for kind in ("near", "far")
    ]
    assert collected(MODE, *urls, given={"mode": "far"}).values["url"] == "far"


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        (True, "no", False),
        (False, "True", True),
        (80, "8080", 8080),
        (80, "0.5", 0.5),
        ("80", "8080", "8080"),
        ([], "a, b,", ["a", "b"]),
        ({}, '{"a": 1}', {"a": 1}),
        (None, " as typed ", " as typed "),
    ],
)
def test_a_text_becomes_a_value_of_the_default_s_type(default, text, value):
    answer = Question("k", "d", default=default).parse(text)
    assert (answer, type(answer)) == (value, type(value))


@pytest.mark.parametrize("default", [True, 80, {}])
def test_a_text_of_another_type_is_no_answer(default):
    with pytest.raises(NotAnAnswer):
        Question("k", "d", default=default).parse("harbour")


@given(st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_a_default_that_is_shown_and_typed_is_the_same(value):
    assert Question("k", "d", default=value).parse(shown(value)) == value


def test_a_choice_is_given_back_as_the_schema_has_it():
    assert Question("k", "d", choices=(True, 3, "three")).parse("true") is True


def test_a_schema_that_is_no_list_of_fields_is_refused():
    for schema in ({"mode": MODE}, [{"name": "mode"}], ["mode"]):
        with pytest.raises(setup.UnusableSchema):
            questions_of(schema)


def test_a_provider_without_a_schema_cannot_be_set_up():
    for provider in (object(), Provider()):
        with pytest.raises(setup.NoSchema):
            setup.schema_of(provider)


# -- answers ---------------------------------------------------------------------------------------


def test_a_secret_goes_to_the_environment_only():
    answers = collected(MODE, KEY, ask=Asked(key="atk-1"))
    assert answers.values == {"mode": "near"}
    assert answers.variables == {"X_KEY": "atk-1"}
    assert "atk-1" not in repr(answers)


def test_a_variable_that_is_set_is_kept_by_an_empty_answer():
    ask = Asked()
    answers = collected({**KEY, "required": True}, variables={"X_KEY": "atk-0"}, ask=ask)
    assert (answers.variables, ask.prompts[0].is_set) == ({}, True)


def test_a_value_that_is_no_choice_is_asked_for_again():
    ask = Asked(mode=["west", "far"])
    assert collected(MODE, ask=ask).values == {"mode": "far"}
    assert "near, far" in ask.prompts[1].fault


def test_a_required_question_is_asked_until_it_is_answered():
    ask = Asked(key=["", "atk-1"])
    assert collected({**KEY, "required": True}, ask=ask).variables == {"X_KEY": "atk-1"}


@pytest.mark.parametrize(
    ("fields", "answers", "says"),
    [
        ([MODE], {"mode": "west"}, "none of near, far"),
        ([MODE], {"speed": "1"}, "asked by no field"),
        ([MODE, PORT], {"port": "1"}, "not asked with these answers"),
        ([{**KEY, "required": True}], {}, "needs an answer"),
        ([{**KEY, "required": True}], {"key": ""}, "needs an answer"),
        ([{**KEY, "env_var": ""}], {"key": "atk-1"}, "names no variable"),
        ([KEY], {"key": "a\0b"}, "no answer to it"),
    ],
)
def test_a_given_answer_that_does_not_fit_ends_set_up(fields, answers, says):
    with pytest.raises(setup.SetupError, match=says):
        collected(*fields, given=answers)


ODD = {"key": "mark", "description": "Mark", "default": "a\0b", "env_var": "X_MARK"}


def test_a_default_that_no_variable_can_hold_is_one_sentence_without_a_terminal():
    says = "'mark': its default in the schema is of no use: the value holds a NUL, which the"
    with pytest.raises(setup.SetupError, match=f"^{says} variable X_MARK cannot hold$"):
        collected(ODD)


def test_a_default_that_no_variable_can_hold_is_not_offered_and_the_prompt_says_why():
    asked = Asked(mark="plain")
    assert collected(ODD, ask=asked).variables == {"X_MARK": "plain"}
    assert (asked.prompts[0].default, "NUL" in asked.prompts[0].fault) == ("", True)


def test_the_walk_gives_each_question_with_its_answer():
    pairs = walk(questions_of([MODE, PORT]), lambda question, default: default)
    assert [(question.key, value) for question, value in pairs] == [("mode", "near")]


# -- saving ----------------------------------------------------------------------------------------


def saved(provider, tmp_path, *, file=".env", ask=None, **answers):
    told = []
    found = setup.collect(setup.schema_of(provider), given=answers, variables={}, ask=ask)
    setup.save(provider, found, home=tmp_path, env_file=tmp_path / file, tell=told.append)
    return told


def test_the_variables_are_saved_for_the_owner_only_and_the_rest_by_the_provider(tmp_path):
    provider = Provider(MODE, KEY)
    saved(provider, tmp_path, key="atk 1")
    assert provider.saved == [{"mode": "near"}]
    assert (tmp_path / ".env").read_text("utf-8") == "X_KEY='atk 1'\n"
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


def test_answers_that_nobody_keeps_are_said_to_be_lost(tmp_path):
    base = type("MemoryProvider", (), {"save_config": lambda self, values, home: None})
    own = type("Own", (base,), {"get_config_schema": lambda self: [MODE]})
    assert "mode not saved" in saved(own(), tmp_path)[0]


def test_a_provider_that_raises_is_one_sentence(tmp_path):
    provider = Provider(MODE)
    provider.save_config = lambda values, home: sys.exit("no disk")
    with pytest.raises(
        setup.ProviderFailed, match="save_config of the provider raised SystemExit: no"
    ):
        saved(provider, tmp_path)


# -- status ----------------------------------------------------------------------------------------


def test_the_status_names_what_is_not_set_the_required_first():
    provider = Provider(KEY, {**KEY, "key": "other", "env_var": "X_OTHER", "required": True})
    found = setup.examine(provider, {})
    assert [question.env_var for question in found.missing] == ["X_OTHER", "X_KEY"]
    assert setup.examine(provider, {"X_KEY": "1", "X_OTHER": "2"}).missing == ()


def test_the_status_tells_what_hooks_raise():
    provider = Provider(MODE)
    provider.is_available = lambda: 1 / 0
    found = setup.examine(provider, {})
    assert not found.is_available
    assert "is_available of the provider raised ZeroDivisionError: division by zero" in found.faults
