"""`memproto new` as a new user meets it: from an empty folder, with pip, to CONFORMANT."""

import os
import subprocess

import pytest

from tests.wild import environments


@pytest.fixture(scope="module")
def python(tmp_path_factory, kit_wheel):
    """An environment with nothing but the kit."""
    return environments.environment(tmp_path_factory.mktemp("user") / "venv", kit_wheel)


def ran(folder, *words):
    """What a command printed; its own code is checked."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [["tide-log"], ["ebb-log", "--hermes"]], ids=["native", "hermes"])
def test_a_new_provider_is_installed_and_conforms_at_once(python, tmp_path, words):
    name, binaries = words[0], python.parent
    ran(tmp_path, binaries / "memproto", "new", *words)
    folder = tmp_path / name
    ran(folder, binaries / "pip", "install", "--quiet", "-e", ".[dev]")
    assert "2 passed" in ran(folder, binaries / "pytest")
    said = ran(folder, binaries / "pytest", f"--memproto={name}")
    assert f"{name} · {'hermes' if '--hermes' in words else 'native'}" in said
    assert "CONFORMANT" in said
