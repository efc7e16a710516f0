"""Settings files: layers, what each key takes, and messages that name the line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto import spec
from memproto.errors import InvalidSettings
from memproto.testing.settings import keys, settings
from memproto.testing.settings.files import line_of
from tests.kit_runs import ROOT


def read(directory, text, target="mine", name="memproto.toml"):
    (directory / name).write_text(text, encoding="utf-8")
    return settings.read(target, directory)


FULL = """
factory = "mine:make"
service = "mine:running"
warm = "mine:model"
read_back = "mine:count"
settle = "mine:wait"
cleanup = "mine:remove"
caches = ["HF_HOME", ".cache/torch", "models"]
max_hook_calls = 50
backend = {env = "MINE_URL"}

[config]
bank = "general"

[env]
KEY = "sesame"

[declares]
retention = "derived"
stores = ["turns"]
recall_basis = "previous"
isolates = ["user"]
freshness_s = 2.5

[target."other"]
max_hook_calls = 7

[target."mine:Provider"]
warm = "mine:other"
config = {size = 3}
backend = {config = "server.url"}
"""


def test_every_key_is_read(tmp_path):
    found = read(tmp_path, FULL)
    assert found.factory == "mine:make"
    assert found.caches == ("HF_HOME", ".cache/torch", "models")
    assert found.max_hook_calls == 50
    assert found.backend == ("env", "MINE_URL")
    assert found.functions() == {
        "warm": ["mine:model", "memproto.toml:4: warm"],
        "read_back": ["mine:count", "memproto.toml:5: read_back"],
        "settle": ["mine:wait", "memproto.toml:6: settle"],
        "cleanup": ["mine:remove", "memproto.toml:7: cleanup"],
    }


def test_a_table_of_the_target_overrides_key_by_key_and_is_the_one_that_is_named(tmp_path):
    found = read(tmp_path, FULL, "mine:Provider")
    assert found.config == {"bank": "general", "size": 3}
    assert found.backend == ("config", "server.url")
    assert found.max_hook_calls == 50
    assert found.functions()["warm"] == [
        "mine:other",
        'memproto.toml:29: target."mine:Provider".warm',
    ]


def test_a_providers_own_file_is_read_first(tmp_path):
    (tmp_path / "mine").mkdir()
    own = tmp_path / "mine" / "memproto.toml"
    own.write_text('warm = "mine:own"\nmax_hook_calls = 9\n', "utf-8")
    found = read(tmp_path, 'warm = "mine:users"')
    assert (found.warm, found.max_hook_calls) == ("mine:users", 9)


def test_no_value_of_env_is_in_the_report(tmp_path):
    shown = read(tmp_path, FULL).for_report()
    assert "sesame" not in str(shown)
    assert shown["env"] == ["KEY"]
    assert set(shown) == set(keys.KEYS)


def test_what_is_declared_is_in_the_words_of_a_declaration(tmp_path):
    assert keys.as_capabilities(read(tmp_path, FULL).declares) == {
        "retention": "derived",
        "stores": ["turns"],
        "recall_basis": "previous",
        "isolates": ["user"],
        "consistency": {"eventual": {"freshness_s": 2.5}},
    }


BAD = {
    "an unknown key": ("warn = 'm:f'", "warn: is no key", "'warm'"),
    "a backend as text": ("backend = 'http://a'", "backend: must name one place", "X_URL"),
    "two backends": ("backend = {env = 'A', config = 'b'}", "must name one place", "path.to.key"),
    "a strange place": ("backend = {file = 'a'}", "backend: must name one place", "X_URL"),
    "no variable": ("backend = {env = 'X-URL'}", "backend.env: must be a variable", "X_URL"),
    "an empty path": ("[backend]\nconfig = 'a..b'", "backend.config: must be a path", "X_URL"),
    "waivers as a list": ("waivers = ['MP-TURN-002']", "waivers: must be the name of", "tables"),
    "no file of waivers": ("waivers = 'no.toml'", "waivers: names 'no.toml'", "memproto waive"),
    "a function as a number": ("warm = 3", "warm: must be text, not 3", "module:function"),
    "no colon": ("settle = 'mine.wait'", "settle: names no function", "module:function"),
    "a path for a module": ("settle = './mine.py:wait'", "names no function", "module:function"),
    "a cache as text": ("caches = 'HF_HOME'", "caches: must be a list", "HF_HOME"),
    "a cache of numbers": ("caches = [3]", "caches: must be a list", "HF_HOME"),
    "an absolute cache": ("caches = ['/models']", "'/models' is neither", "without"),
    "a cache above": ("caches = ['a/../../b']", "'a/../../b' is neither", "without"),
    "a cache of a user": ("caches = ['~/models']", "'~/models' is neither", "without"),
    "an empty cache": ("caches = ['']", "'' is neither", "without"),
    "a free run": ("max_hook_calls = 0", "max_hook_calls: must be a whole number", "500"),
    "a limit of true": ("max_hook_calls = true", "not True", "500"),
    "a limit as text": ("max_hook_calls = '9'", "not '9'", "500"),
    "a strange retention": (
        "declares = {retention = 'all'}",
        "declares.retention: 'all' is not one of",
        "capabilities.schema.json",
    ),
    "a strange route": ("[declares]\nstores = ['dreams']", "declares.stores: [0] 'dreams'", "see"),
    "no freshness": ("declares = {freshness_s = 0}", "freshness_s: 0 is less", "see"),
    "a writer": (
        "[declares]\nsingle_writer = true",
        "declares.single_writer: cannot be declared",
        "stores",
    ),
    "declares as a list": ("declares = ['stores']", "declares: must be a table", "docs/"),
    "a variable as a number": ("env = {KEY = 3}", "env.KEY: must be text or", "quote"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("prefix", ["", '[target."mine"]\n'])
def test_a_bad_value_is_named_with_its_line_and_a_fix(tmp_path, monkeypatch, case, prefix):
    monkeypatch.chdir(tmp_path)
    text, fault, fix = BAD[case]
    if prefix:
        text = text.replace("[declares]", '[target."mine".declares]')
    with pytest.raises(InvalidSettings) as caught:
        read(tmp_path, f"{prefix}\n{text}\n")
    last = len(f"{prefix}\n{text}".splitlines())
    assert caught.value.what.startswith(f"memproto.toml:{last}: ")
    assert fault in f"{caught.value.what}: {caught.value.fault}"
    assert fix in caught.value.fix


def test_the_schema_of_settings_knows_every_key_in_both_tables():
    schema = spec.schema("settings")
    assert set(schema["properties"]) - {"target"} == set(keys.KEYS)
    assert set(schema["$defs"]["target"]["properties"]) == set(keys.KEYS)


def test_the_documented_keys_are_those_of_the_code():
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert all(f"| `{key}` |" in text for key in keys.KEYS)


def test_a_key_is_found_under_its_own_table():
    text = 'warm = "a"\n[tool.memproto.target."x.y"]\nwarm = "b"\nenv.KEY = 3\n'
    assert line_of(text, ("warm",)) == 1
    assert line_of(text, ("target", "x.y", "warm")) == 3
    assert line_of(text, ("target", "x.y", "env", "KEY")) == 4
    assert line_of(text, ("target", "x.y", "settle")) == 2
    assert line_of(text, ("settle",)) is None


@given(st.text(), st.lists(st.text(), min_size=1, max_size=3))
def test_looking_for_a_line_never_raises(text, wanted):
    found = line_of(text, tuple(wanted))
    assert found is None or 1 <= found <= len(text.splitlines())


def test_a_path_of_a_cache_is_never_outside_of_home(tmp_path):
    @given(st.text())
    def stays(entry):
        try:
            (kept,) = keys.checked("caches", [entry])
        except keys.Wrong:
            return
        home = Path("/home/user")
        assert keys.is_variable(kept) or home in (home / kept).parents

    stays()
