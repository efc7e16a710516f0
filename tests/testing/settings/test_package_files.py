"""The settings beside a provider's module are found wherever it is installed, importing nothing."""

import sys

import pytest

from memproto.testing.settings import files, settings


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of the path with `pkg`, which no import survives, and settings beside it."""
    site = tmp_path / "site"
    (site / "pkg").mkdir(parents=True)
    (site / "pkg" / "__init__.py").write_text("raise SystemExit('imported')")
    (site / "pkg" / "inner.py").write_text("raise SystemExit('imported')")
    (site / "pkg" / "memproto.toml").write_text('service = "pkg.inner:serve"')
    monkeypatch.syspath_prepend(str(site))
    return site / "pkg" / "memproto.toml"


def with_entry_point(installed, name, value):
    info = installed.parents[1] / "pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[memproto.providers]\n{name} = {value}\n")


@pytest.mark.parametrize("target", ["pkg", "pkg:Provider", "pkg.inner", "pkg.inner:Provider"])
def test_settings_beside_an_installed_module_are_found(installed, tmp_path, target):
    assert files.beside(target, tmp_path) == installed
    assert "pkg" not in sys.modules


def test_an_entry_point_leads_to_the_settings_beside_its_module(installed, tmp_path):
    with_entry_point(installed, "mine", "pkg.inner:Provider")
    assert settings.read("mine", tmp_path).service == "pkg.inner:serve"
    assert "pkg" not in sys.modules


def test_a_module_of_the_working_directory_comes_before_an_installed_one(installed, tmp_path):
    own = tmp_path / "pkg" / "memproto.toml"
    own.parent.mkdir()
    own.write_text("")
    assert files.beside("pkg", tmp_path) == own


@pytest.mark.parametrize(
    "target", ["pkg.missing", "nothing_of_this_name", "hermes:x", "a b", "json"]
)
def test_where_nothing_stands_beside_there_are_no_settings(installed, tmp_path, target):
    assert files.beside(target, tmp_path) is None


@pytest.mark.parametrize("is_whole", [False, True])
def test_settings_below_folders_that_are_no_packages_are_found(tmp_path, monkeypatch, is_whole):
    inner = tmp_path / "site" / "vendor" / "agents" / "memory"
    inner.mkdir(parents=True)
    (inner / "store.py").write_text("raise SystemExit('imported')")
    (inner / "memproto.toml").write_text("")
    if is_whole:
        (inner.parents[1] / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    target = "vendor.agents.memory.store:Store"
    assert files.beside(target, tmp_path) == inner / "memproto.toml"
    assert files.beside("vendor.agents.missing", tmp_path) is None
    assert "vendor" not in sys.modules
