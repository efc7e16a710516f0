"""
Each real plugin of OpenClaw gets exactly the pinned outcomes of the pinned requirements.

It is installed by npm in a folder of its own, without OpenClaw and without scripts of packages. A
pin with `entry` has package, target and settings from the census.
A pin with `commit` was judged from its repository, because its package could not be had: the files
of such packages stand in the folder that MEMPROTO_OPENCLAW_PACKED names, and without it these pins
are no tests.
"""

import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from census import entries, environments
from tests.kit_runs import kit_process, read_report
from tests.wild.test_wild import red_in, rows

HERE = Path(__file__).parent

#: The folder of packages whose repositories were judged, or None.
PACKED = os.environ.get("MEMPROTO_OPENCLAW_PACKED")

PINS = [
    pin
    for pin in tomllib.loads((HERE / "openclaw.toml").read_text("utf-8"))["plugin"]
    if "commit" not in pin or PACKED
]

NAMES = [pin.get("entry") or pin["package"] for pin in PINS]

ENTRIES = entries.read_all()

#: Seconds that a verdict on some requirements may take on a slow machine.
_VERDICT_S = 1500


def sources(pin):
    """The things that npm installs, packages by their versions or the file of one, and unpacks."""
    if entry := ENTRIES.get(pin.get("entry")):
        return entry.npm_installs, entry.npm_unpacks
    if "commit" not in pin:
        return [pin["package"]], ()
    name, _, version = pin["package"].rpartition("@")
    packed = f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    return [str(Path(PACKED, packed).absolute())], ()


def target_in(folder, pin):
    """The target of a pin, with its settings in the folder."""
    if entry := ENTRIES.get(pin.get("entry")):
        for name, text in entry.files.items():
            (folder / name).write_text(text, "utf-8")
        return entry.target
    target = f"openclaw:{pin['directory']}"
    lines = [f'[target."{target}"]']
    if service := pin.get("service"):
        shutil.copytree(HERE / "openclaw", folder, dirs_exist_ok=True)
        lines.append(f'service = "{service}:service"')
    if key := pin.get("backend"):
        lines.append(f'backend = {{config = "plugin.{key}"}}')
    if settings := pin.get("plugin"):
        # A string of JSON is one of TOML.
        told = ", ".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
        lines.append(f"config = {{plugin = {{{told}}}}}")
    (folder / "memproto.toml").write_text("\n".join(lines), "utf-8")
    return target


@pytest.fixture(params=PINS, ids=NAMES, scope="module")
def judged(request, tmp_path_factory):
    pin = request.param
    folder = tmp_path_factory.mktemp("openclaw")
    made = environments.Environment(folder, Path(sys.executable))
    environments.npm_install(made, folder, *sources(pin))
    target = target_in(folder, pin)
    clauses = [f"--memproto-clause={clause}" for clause in pin["clauses"]]
    words = [f"--memproto={target}", f"--memproto-report={folder / 'report.json'}", *clauses]
    done = kit_process(folder, *words, timeout_s=_VERDICT_S)
    return pin, read_report(folder / "report.json", done)["reports"][0]


def test_exactly_the_pinned_requirements_are_red_with_the_pinned_text(judged):
    pin, report = judged
    found = red_in(report)
    assert set(found) == set(pin["red"])
    assert [name for name, text in pin["red"].items() if text not in found[name]["observed"]] == []


def test_the_pinned_requirements_are_green(judged):
    pin, report = judged
    assert set(pin["green"]) <= set(rows(report, "pass"))


def test_the_kit_makes_no_error_of_its_own(judged):
    _, report = judged
    assert not rows(report, "kit_error")
