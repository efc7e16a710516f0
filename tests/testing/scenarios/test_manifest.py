"""The lack that the kit names if a provider says that it is not available."""

import pytest

from memproto.bindings import NATIVE
from memproto.testing import needs
from memproto.testing.needs import Setting
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
    value = '{HARBOUR_KEY = {from_env = "HARBOUR_KEY"}}'
    assert manifest.settings(subject) == (Setting("env", value=value),)


@pytest.mark.parametrize("form", [(), ({"key": "", "env_var": None},)])
def test_config_is_not_named_since_it_comes_after_the_question(form):
    assert needs.settings(manifest.settings(Asking(*form))) == ["env", "factory"]


def test_what_is_saved_and_has_no_variable_is_named_by_its_key():
    (need,) = manifest.settings(Asking({"key": "vault_path", "required": True}))
    assert need.name == "factory"
    assert need.that.endswith("vault_path")


def test_beside_an_optional_secret_what_is_required_and_has_no_variable_is_named(monkeypatch):
    monkeypatch.delenv("HARBOUR_KEY", raising=False)
    secret = {"key": "key", "env_var": "HARBOUR_KEY", "secret": True, "required": False}
    first, other = manifest.settings(Asking({"key": "endpoint", "required": True}, secret))
    assert "HARBOUR_KEY" in first.value
    assert (other.name, other.that.rpartition(": ")[2]) == ("factory", "endpoint")


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
    found = manifest.settings(Asking())
    said = found[0].value
    assert [name for name in ("HARBOUR_KEY", "HARBOUR_URL") if f'"{name}"' in said] == named
    assert named or found == manifest._ANY


def test_a_program_of_the_manifest_that_is_not_installed_is_named_first(tmp_path, monkeypatch):
    path = tmp_path / "plugin.yaml"
    path.write_text('{"external_dependencies": [{"name": "harbour-cli"}, {"name": "quay"}]}')
    quay = tmp_path / "quay"
    quay.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(manifest, "beside", lambda provider: path)
    monkeypatch.delenv("HARBOUR_KEY", raising=False)
    secret = {"key": "key", "env_var": "HARBOUR_KEY", "secret": True}
    (need,) = manifest.settings(Asking(secret))
    assert need.name == "env"
    assert "the program harbour-cli" in need.that
    first, other = manifest.settings(Asking({**secret, "required": True}))
    assert first == need
    assert "HARBOUR_KEY" in other.value
    (tmp_path / "harbour-cli").touch(mode=0o755)
    (other,) = manifest.settings(Asking(secret))
    assert "HARBOUR_KEY" in other.value


class Telling(Asking):
    """Says what is missing, before any session."""

    def __init__(self, reason, *fields):
        super().__init__(*fields)
        self.reason = reason

    def has(self, name):
        return name in ("config_schema", "unavailable_reason")

    def unavailable_reason(self):
        return self.reason


def test_a_variable_that_the_reason_names_is_a_setting_beside_what_is_asked(monkeypatch):
    monkeypatch.delenv("HARBOUR_CMD", raising=False)
    reason = "No harbour command: set harbour.command in config.yaml, or HARBOUR_CMD."
    first, other = manifest.settings(Telling(reason, {"key": "command"}))
    assert first == Setting("env", value='{HARBOUR_CMD = {from_env = "HARBOUR_CMD"}}')
    assert (other.name, other.that.rpartition(": ")[2]) == ("factory", "command")


def test_a_reason_adds_nothing_to_variables_that_are_known(monkeypatch):
    monkeypatch.delenv("HARBOUR_KEY", raising=False)
    field = {"key": "key", "env_var": "HARBOUR_KEY", "secret": True}
    found = manifest.settings(Telling("Set HARBOUR_KEY, or HARBOUR_TOKEN_FILE.", field))
    assert found == manifest.settings(Asking(field))


@pytest.mark.parametrize("reason", ["Start the HTTP server of the harbour.", None])
def test_a_reason_without_a_variable_leaves_what_is_asked(reason):
    assert manifest.settings(Telling(reason)) == manifest.settings(Asking())
