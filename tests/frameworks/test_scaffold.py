"""`memproto new` as a new user meets it: from an empty folder, with pip, to CONFORMANT."""

import os
import shutil
import subprocess

import pytest

from tests.wild import environments

#: Two sessions of the host's own manager, which finds the plugin in its home.
HOST = """
import os, plugins.memory
from agent.memory_manager import MemoryManager
for turn in ("The ferry is called Ondine.", ""):
    manager = MemoryManager()
    manager.add_provider(plugins.memory.load_memory_provider("ebb-log"))
    manager.initialize_all(session_id="s", platform="cli", hermes_home=os.environ["HERMES_HOME"])
    if turn:
        manager.sync_all(turn, "Noted.")
    else:
        print(manager.prefetch_all("What is the ferry called?"))
    manager.shutdown_all()
"""


#: Packages that a user installs. The host brings a hundred more, of which its loader and manager
#: import one; `pip install -e .[dev]` of the plugin takes minutes for the others.
INSTALLS = {
    "tide-log": ("-e .[dev]",),
    "ebb-log": ("--no-deps hermes-agent==0.19.0", "PyYAML", "--no-deps -e ."),
}


@pytest.fixture(scope="module")
def python(tmp_path_factory, kit_wheel):
    """An environment with nothing but the kit."""
    return environments.environment(tmp_path_factory.mktemp("user") / "venv", kit_wheel)


def ran(folder, *words, **variables):
    """Output of a command; its exit code is checked."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env={**kept, **variables},
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
    for package in INSTALLS[name]:
        ran(folder, binaries / "pip", "install", "--quiet", *package.split())
    assert "2 passed" in ran(folder, binaries / "pytest")
    said = ran(folder, binaries / "pytest", f"--memproto={name}")
    assert f"{name} · {'hermes' if '--hermes' in words else 'native'}" in said
    assert " · CONFORMANT" in said
    if "--hermes" in words:
        home = tmp_path / "home"
        shutil.copytree(folder / "src" / "ebb_log", home / "plugins" / name)
        found = ran(tmp_path, python, "-P", "-c", HOST, HERMES_HOME=str(home), HOME=str(home))
        assert "Ondine" in found
