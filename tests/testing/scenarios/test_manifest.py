"""The lack that the kit names if a provider says that it is not available."""

import pytest

from memproto.bindings import NATIVE
from memproto.testing.scenarios import manifest


class Asking:
    """Stands for a subject: only what is read off the set-up form."""

    binding = NATIVE

    def __init__(self, *fields):
        self.fields, self.provider = list(fields), self

    def has(self, name):
        return name == "config_schema"

    def config_schema(self):
        return self.fields


def test_a_missing_variable_is_named_as_the_setting_that_gives_it(monkeypatch):
    monkeypatch.delenv("HARBOUR_KEY", raising=False)
    subject = Asking({"key": "key", "env_var": "HARBOUR_KEY", "secret": True})
    assert manifest.settings(subject) == (
        'the setting `env = {HARBOUR_KEY = {from_env = "HARBOUR_KEY"}}`'
    )


@pytest.mark.parametrize("form", [(), ({"key": "", "env_var": None},)])
def test_config_is_not_named_since_it_comes_after_the_question(form):
    assert "config" not in manifest.settings(Asking(*form))
    assert "`factory`" in manifest.settings(Asking(*form))


def test_what_is_saved_and_has_no_variable_is_named_by_its_key():
    said = manifest.settings(Asking({"key": "vault_path", "required": True}))
    assert "`factory`" in said
    assert said.endswith("vault_path")


def test_beside_an_optional_secret_what_is_required_and_has_no_variable_is_named(monkeypatch):
    monkeypatch.delenv("HARBOUR_KEY", raising=False)
    secret = {"key": "key", "env_var": "HARBOUR_KEY", "secret": True, "required": False}
    said = manifest.settings(Asking({"key": "endpoint", "required": True}, secret))
    assert "HARBOUR_KEY" in said
    assert said.endswith("asked for at set-up: endpoint")


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ('["HARBOUR_KEY", {"name": "HARBOUR_URL"}, 3]', ["HARBOUR_KEY", "HARBOUR_URL"]),
        ('"HARBOUR_KEY"', []),
        ("3", []),
    ],
)
def test_variables_are_read_off_the_manifest_where_it_lists_them(
    tmp_path, monkeypatch, written, named
):
    path = tmp_path / "plugin.yaml"
    path.write_text(f'{{"requires_env": {written}}}')
    monkeypatch.setattr(manifest, "beside", lambda provider: path)
    said = manifest.settings(Asking())
    assert [name for name in ("HARBOUR_KEY", "HARBOUR_URL") if f'"{name}"' in said] == named
    assert named or said == manifest._ANY
